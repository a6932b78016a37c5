package worker

import (
	"context"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/ratchet-pay/ratchet/internal/telemetry"
)

// NewVerifierForTest returns a verifier's round and where it shows its numbers.
func NewVerifierForTest(pool *pgxpool.Pool, verify Verify, log *slog.Logger) (
	round func(context.Context) (int, error), registry *prometheus.Registry,
) {
	t := telemetry.New(noop.NewTracerProvider().Tracer(""))
	return newVerifier(Config{Pool: pool, Verify: verify, Log: log, Telemetry: t}).round, t.Registry
}
