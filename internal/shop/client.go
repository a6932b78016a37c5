package shop

import (
	"context"
	"net/http"
	"time"

	"github.com/stripe/stripe-go/v85"
)

// retries let the library ask again, under the same key, while the API is being
// started anew: half a second apart at first, some fifteen seconds in all.
const retries = 5

// backend leads Stripe's own library to another address. That is all there is to do.
func backend(api string) stripe.Backend {
	return stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
		URL: stripe.String(api), MaxNetworkRetries: stripe.Int64(retries), EnableTelemetry: stripe.Bool(false),
		HTTPClient:    &http.Client{Timeout: 10 * time.Second, Transport: seenAs{}},
		LeveledLogger: quiet{},
	})
}

// seenAs asks the API under the name by which the customer's browser knows it, if
// there is one: the session's address then leads back to where he is.
type seenAs struct{}

type hostKey struct{}

func underName(ctx context.Context, host string) context.Context {
	return context.WithValue(ctx, hostKey{}, host)
}

func (seenAs) RoundTrip(r *http.Request) (*http.Response, error) {
	if host, _ := r.Context().Value(hostKey{}).(string); host != "" {
		r = r.Clone(r.Context())
		r.Host = host
	}
	return http.DefaultTransport.RoundTrip(r)
}

// quiet keeps the library from writing to the terminal; what matters is returned
// as an error, and we log it.
type quiet struct{}

func (quiet) Debugf(string, ...any) {}
func (quiet) Infof(string, ...any)  {}
func (quiet) Warnf(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
