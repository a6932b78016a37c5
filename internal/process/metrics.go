package process

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/limit"
	"github.com/ratchet-pay/ratchet/internal/telemetry"
)

// show registers the numbers of the parts that do not count themselves.
func (p *parts) show(adapter acquirer.Adapter) {
	p.telemetry.Pools(p.pool, p.writes)
	const breakerHelp = "1 while the circuit breaker is open because the acquirer did not answer."
	p.telemetry.Gauge("ratchet_acquirer_breaker_open", breakerHelp, nil, func() float64 {
		if adapter.BreakerOpen() {
			return 1
		}
		return 0
	})
}

// reportLimiters registers how full the limiters are, of a process that has callers.
func (p *parts) reportLimiters() {
	for name, limiter := range map[string]*limit.Limiter{
		"write":  p.limiters.work.All,
		"lookup": p.limiters.lookups.All,
		"read":   p.limiters.reads.Reads.All,
		"search": p.limiters.reads.Searches.All,
	} {
		const takenHelp = "Requests that have a slot of the limiter."
		const waitingHelp = "Requests that wait for a slot of the limiter."
		labels := prometheus.Labels{"limiter": name}
		p.telemetry.Gauge("ratchet_limiter_slots_taken", takenHelp, labels, func() float64 {
			return float64(limiter.Inside())
		})
		p.telemetry.Gauge("ratchet_limiter_waiting", waitingHelp, labels, func() float64 {
			return float64(limiter.Waiting())
		})
	}
}

// metricsTimeout bounds everything on the metrics port but profiles, which take
// as long as they are asked to: who asks there is a machine that asks again.
const metricsTimeout = 10 * time.Second

// serveMetrics shows numbers, profiles and health on a separate port, which
// is not for the public. The returned func ends it.
func (p *parts) serveMetrics(l net.Listener, log *slog.Logger) func() {
	return serveInside(l, p.health.serve(inside(p.telemetry.Handler())), log)
}

// ServeRuntime shows the numbers and profiles of a process that is not made of
// this package's parts. The returned func ends it.
func ServeRuntime(l net.Listener, log *slog.Logger) func() {
	return serveInside(l, inside(telemetry.Runtime()), log)
}

// inside is what the metrics port shows of any process.
func inside(metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.Handle("GET "+telemetry.ProfilePath, telemetry.Profiles())
	return mux
}

func serveInside(l net.Listener, handler http.Handler, log *slog.Logger) func() {
	server := &http.Server{
		Handler: handler, ReadTimeout: metricsTimeout, WriteTimeout: metricsTimeout, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go func() { _ = server.Serve(l) }() // ends with Close, and has nothing else to say
	log.Info("serving metrics", "metrics_addr", l.Addr().String())
	return func() { _ = server.Close() }
}

// flushTimeout is how long the last spans get to be sent.
const flushTimeout = 3 * time.Second

func flush(ctx context.Context, stop func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	_ = stop(ctx) // a missing collector must not block the exit
}
