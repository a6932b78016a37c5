package process

import "github.com/ratchet-pay/ratchet/internal/acquirer"

// OpenAcquirer connects the acquirer. A fork returns its own adapter here.
func OpenAcquirer(c Config) (acquirer.Adapter, error) {
	return acquirer.NewClient(acquirer.Config{
		URL:          c.AcquirerURL,
		Secret:       c.AcquirerSecret,
		DialContext:  c.Crash.DialAcquirer(),
		Timeout:      c.Limits.AcquirerTimeout,
		BreakerLimit: c.Limits.BreakerFailures,
		BreakerPause: c.Limits.BreakerPause,
	}), nil
}
