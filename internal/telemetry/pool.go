package telemetry

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// Pools shows the pools of connections to the database, added up.
func (t *Telemetry) Pools(pools ...*pgxpool.Pool) {
	sum := func(of func(*pgxpool.Stat) float64) func() float64 {
		return func() (total float64) {
			for _, pool := range pools {
				total += of(pool.Stat())
			}
			return total
		}
	}
	t.Gauge("ratchet_database_connections", "Connections to the database, in use and idle.", nil,
		sum(func(s *pgxpool.Stat) float64 { return float64(s.TotalConns()) }))
	t.Gauge("ratchet_database_connections_in_use", "Connections to the database that are in use.", nil,
		sum(func(s *pgxpool.Stat) float64 { return float64(s.AcquiredConns()) }))
	t.Gauge("ratchet_database_connections_max", "The maximum number of connections to the database.", nil,
		sum(func(s *pgxpool.Stat) float64 { return float64(s.MaxConns()) }))
	t.counter("ratchet_database_acquires_total", "How often a connection was taken from a pool.",
		sum(func(s *pgxpool.Stat) float64 { return float64(s.AcquireCount()) }))
	t.counter("ratchet_database_acquire_waits_total", "How often a request waited for a connection.",
		sum(func(s *pgxpool.Stat) float64 { return float64(s.EmptyAcquireCount()) }))
	t.counter("ratchet_database_acquire_wait_seconds_total", "How long requests waited for connections.",
		sum(func(s *pgxpool.Stat) float64 { return s.EmptyAcquireWaitTime().Seconds() }))
}

// Gauge shows a number of another part, which is read on every scrape.
func (t *Telemetry) Gauge(name, help string, labels prometheus.Labels, value func() float64) {
	t.Registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value))
}

func (t *Telemetry) counter(name, help string, value func() float64) {
	t.Registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
}
