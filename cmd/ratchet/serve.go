package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/crashpoint"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/process"
	"github.com/ratchet-pay/ratchet/internal/verify"
)

func serveCommand() *cobra.Command {
	var f serveFlags
	var config process.Config
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API",
		Long: `Serve the API.

Any number of processes can share one database. On SIGTERM the server finishes
running requests. GET /healthz reports liveness, GET /readyz readiness.
docs/limits.md explains each limit; each is also a variable: --key-rate is
RATCHET_KEY_RATE. Traces are sent to OTEL_EXPORTER_OTLP_ENDPOINT, if it is set.

  RATCHET_DATABASE_URL         PostgreSQL, migrated with "ratchet migrate up"
  RATCHET_SECRET               32 characters or more, the same in every process
  RATCHET_SECRET_OLD           while the secret is rotated: the older ones, one per line
  RATCHET_ACQUIRER_SECRET      the credential for the acquirer
  RATCHET_ANSWER_RETENTION     how long responses are replayed (720h); a key never
                               becomes free again
  RATCHET_NOTIFICATION_SECRET  verifies the acquirer's notifications; without it
                               they are rejected

With --dashboard on, the same port serves the dashboard and the documentation
outside of /v1. Create the people who may use it with "ratchet users create". Until
there is a user, this password opens it. Without either, only this machine can reach
the dashboard:

  RATCHET_DASHBOARD_PASSWORD  12 characters or more`,
		Example: "  RATCHET_DATABASE_URL=postgres://… RATCHET_SECRET=… RATCHET_ACQUIRER_SECRET=… ratchet serve " +
			"--addr :8080 --public-url https://pay.example.com",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), config) },
	}
	acquirerFlag(cmd, &f.acquirerURL)
	f.webhooks.addLoopback(cmd)
	cmd.Flags().StringVar(&f.addr, "addr", env("RATCHET_ADDR", "127.0.0.1:8080"), "address to listen on (RATCHET_ADDR)")
	cmd.Flags().StringVar(&config.PublicURL, "public-url", env("RATCHET_PUBLIC_URL", ""),
		"URL that browsers use, such as https://pay.example.com; optional on a loopback address (RATCHET_PUBLIC_URL)")
	cmd.Flags().StringVar(&f.pages, "dashboard", env("RATCHET_DASHBOARD", "off"),
		"serve the dashboard: on or off (RATCHET_DASHBOARD)")
	cmd.Flags().StringVar(&f.totp, "dashboard-totp", env("RATCHET_DASHBOARD_TOTP", "optional"),
		"second factor of the dashboard's users: optional or required (RATCHET_DASHBOARD_TOTP)")
	cmd.Flags().StringVar(&f.proxies, "trusted-proxies", env("RATCHET_TRUSTED_PROXIES", ""),
		"addresses and networks of proxies, such as 10.0.0.0/8, whose X-Forwarded-For names the client "+
			"(RATCHET_TRUSTED_PROXIES)")
	metricsFlag(cmd, &f.metricsAddr)
	limitFlags(cmd, &config)
	clientLimitFlags(cmd, &config.Limits)
	return cmd
}

// serveFlags are the flags of ratchet serve that process.Config has in another form.
type serveFlags struct {
	acquirerURL, addr, metricsAddr, pages, totp, proxies string
	webhooks                                             webhookFlags
}

// run serves the API until ctx ends. It listens first, because the dashboard and the public URL depend on the address.
func (f serveFlags) run(ctx context.Context, config process.Config) error {
	log := logger()
	err := join(&config, f.acquirerURL, log)
	if err != nil {
		return err
	}
	if config.Webhooks, err = f.webhooks.config(); err != nil {
		return err
	}
	if config.TrustedProxies, err = trustedProxies(f.proxies); err != nil {
		return err
	}
	l, err := net.Listen("tcp", f.addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer l.Close()
	if config.Dashboard, err = dashboard(ctx, f.pages, f.totp, config.DatabaseURL, l.Addr()); err != nil {
		return err
	}
	if config.PublicURL, err = publicURL(config.PublicURL, l.Addr()); err != nil {
		return err
	}
	if config.Metrics, err = metricsListener(f.metricsAddr); err != nil {
		return err
	}
	if config.Crash, err = crashPoints(l.Addr()); err != nil {
		return err
	}
	aimAtMemory(config.Limits.MemoryMiB)
	api, err := process.NewAPI(ctx, config)
	if err != nil {
		return err
	}
	defer api.Close()
	log.Info("serving", "addr", l.Addr().String())
	return api.Serve(ctx, l, log)
}

// crashPoints let requests end this process, for the tests and the lab. They are never
// offered to other machines, no matter what the environment says.
func crashPoints(at net.Addr) (*crashpoint.Points, error) {
	points := crashpoint.FromEnvironment()
	if points != nil && !onLoopback(at) {
		return nil,
			usagef("%s=1 lets requests crash the server, and other machines reach %s: unset it", crashpoint.Enable, at)
	}
	return points, nil
}

func workCommand() *cobra.Command {
	var acquirerURL, metricsAddr string
	var config process.Config
	var webhooks webhookFlags
	cmd := &cobra.Command{
		Use:   "work",
		Short: "Finish interrupted requests, deliver webhooks, seal the audit trail, verify the books",
		Long: `Finish interrupted requests, deliver webhooks, archive responses, seal the audit
trail. Verify every minute what has changed, and every night everything.
Create next month's partitions, and detach old ones if --keep-events or
--keep-archive says so.

Run at least one; any number can run. It uses the same variables as "ratchet serve".
On SIGTERM it finishes running deliveries.`,
		Example: "  RATCHET_DATABASE_URL=postgres://… RATCHET_SECRET=… RATCHET_ACQUIRER_SECRET=… ratchet work",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := logger()
			err := join(&config, acquirerURL, log)
			if err != nil {
				return err
			}
			if config.Metrics, err = metricsListener(metricsAddr); err != nil {
				return err
			}
			if config.Webhooks, err = webhooks.config(); err != nil {
				return err
			}
			config.Verify = verify.ForWorker
			log.Info("working")
			return process.Work(cmd.Context(), config)
		},
	}
	acquirerFlag(cmd, &acquirerURL)
	webhooks.addLoopback(cmd)
	webhooks.addDelivery(cmd)
	cmd.Flags().IntVar(&config.Keep.Events, "keep-events", 0,
		"months of events to keep before they are detached; 0: all")
	cmd.Flags().IntVar(&config.Keep.Archive, "keep-archive", 0,
		"months of archived responses to keep before they are detached; 0: all")
	metricsFlag(cmd, &metricsAddr)
	limitFlags(cmd, &config)
	return cmd
}

func metricsFlag(cmd *cobra.Command, addr *string) {
	cmd.Flags().StringVar(addr, "metrics-addr", env("RATCHET_METRICS_ADDR", ""),
		"address that serves /metrics and /debug/pprof/, and /healthz and /readyz of serve and work; keep it "+
			"private; \"\" disables it (RATCHET_METRICS_ADDR)")
}

// metricsListener is nil where no metrics are wanted.
func metricsListener(addr string) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for metrics: %w", err)
	}
	return l, nil
}

func acquirerFlag(cmd *cobra.Command, url *string) {
	cmd.Flags().StringVar(url, "acquirer-url", env("RATCHET_ACQUIRER_URL", "http://127.0.0.1:8090"),
		"URL of the acquirer (RATCHET_ACQUIRER_URL)")
}

// join fills in what all processes of an installation share.
func join(c *process.Config, acquirerURL string, log *slog.Logger) (err error) {
	if u, err := url.Parse(acquirerURL); err != nil || u.Host == "" {
		return usagef("--acquirer-url %s is not a URL such as http://127.0.0.1:8090", acquirerURL)
	}
	s := given()
	if c.DatabaseURL, err = s.databaseURL(); err != nil {
		return err
	}
	if err := requireEncryption(c.DatabaseURL, acquirerURL); err != nil {
		return err
	}
	if c.Secret, c.OldSecrets, err = s.roots(); err != nil {
		return err
	}
	if c.AcquirerSecret, err = s.require(acquirerSecretVariable); err != nil {
		return err
	}
	if c.Retain, err = retention(); err != nil {
		return err
	}
	if c.NotificationSecret, err = s.lookup(notificationSecretVariable); err != nil {
		return err
	}
	c.AcquirerURL, c.Demo, c.Log = acquirerURL, demonstrating(), log
	return nil
}

// retention is how long answers are replayed. It is a variable and no flag, so
// that all processes of an installation read the same.
func retention() (time.Duration, error) {
	text := os.Getenv("RATCHET_ANSWER_RETENTION")
	if text == "" {
		return idempotency.AnswerRetention, nil
	}
	long, err := time.ParseDuration(text)
	if err != nil || long < idempotency.LeastRetention {
		return 0, fmt.Errorf("RATCHET_ANSWER_RETENTION must be a duration such as 720h, at least %[2]s, not %[1]q",
			text, idempotency.LeastRetention)
	}
	return long, nil
}

// demonstrating says that a demo started us: its API keys are public, and
// a request may inject faults. It is not a flag, so that it is not set by habit.
func demonstrating() bool { return os.Getenv("RATCHET_DEMO") == "1" }
