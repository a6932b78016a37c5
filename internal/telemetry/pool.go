package telemetry

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// Pool shows a pool of connections to the database.
func (t *Telemetry) Pool(pool *pgxpool.Pool) {
	t.Gauge("ratchet_database_connections", "Connections of the pool, in use and idle.", nil,
		func() float64 { return float64(pool.Stat().TotalConns()) })
	t.Gauge("ratchet_database_connections_in_use", "Connections of the pool that are in use.", nil,
		func() float64 { return float64(pool.Stat().AcquiredConns()) })
	t.Gauge("ratchet_database_connections_max", "How many connections the pool may have.", nil,
		func() float64 { return float64(pool.Stat().MaxConns()) })
	t.counter("ratchet_database_acquires_total", "How often a connection was taken from the pool.",
		func() float64 { return float64(pool.Stat().AcquireCount()) })
	t.counter("ratchet_database_acquire_waits_total", "How often a connection had to be waited for.",
		func() float64 { return float64(pool.Stat().EmptyAcquireCount()) })
	t.counter("ratchet_database_acquire_wait_seconds_total", "How long connections were waited for, all in all.",
		func() float64 { return pool.Stat().EmptyAcquireWaitTime().Seconds() })
}

// Gauge shows a number of another part, which is read on every scrape.
func (t *Telemetry) Gauge(name, help string, labels prometheus.Labels, value func() float64) {
	t.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value))
}

func (t *Telemetry) counter(name, help string, value func() float64) {
	t.Registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
}
