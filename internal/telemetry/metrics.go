package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

// metrics are the numbers every process has. Names end in their unit; what only
// grows ends in _total.
type metrics struct {
	inFlight   prometheus.Gauge
	requests   *prometheus.HistogramVec
	limited    *prometheus.CounterVec
	auth       *prometheus.CounterVec
	points     *prometheus.CounterVec
	happenings *prometheus.CounterVec
	calls      *prometheus.HistogramVec
	rounds     *prometheus.HistogramVec
	deliveries *prometheus.HistogramVec
}

// seconds are the buckets of what a client waits for: a replay takes one
// millisecond, a charge ten, and no client waits longer than 25 seconds.
var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25}

func newMetrics() metrics {
	return metrics{
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ratchet_http_requests_in_flight", Help: "Requests of the API that are being answered."}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ratchet_http_request_duration_seconds",
			Help:    "How long requests of the API took, by the route's pattern and the class of the answer's status.",
			Buckets: seconds,
		}, []string{"method", "route", "status"}),
		limited: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ratchet_http_requests_limited_total",
			Help: "Requests that a limit refused before anything was done, by the limit.",
		}, []string{"limit"}),
		auth: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ratchet_auth_failures_total", Help: "Requests of the API without a valid key, by reason: " +
				string(AuthMissing) + ", " + string(AuthUnknown) + ", " + string(AuthExpired) + ", " +
				string(AuthLimited) + " (too many from one peer)."}, []string{"reason"}),
		points: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ratchet_recovery_points_total", Help: "Recovery points that requests have passed."},
			[]string{"flow", "point"}),
		happenings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ratchet_request_events_total", Help: "What happened to requests off the straight way: " +
				string(phase.TakenByClient) + ", " + string(phase.TakenByWorker) + ", " + string(phase.FencedOff) +
				", " +
				string(phase.Parked) + ", " + string(phase.Held) + ", " + string(phase.Retried) +
				" (a transaction that was run again)."}, []string{"flow", "event"}),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ratchet_foreign_call_duration_seconds",
			Help:    "How long other systems took to answer, by how they were asked and what that proved.",
			Buckets: seconds,
		}, []string{"port", "mode", "outcome"}),
		rounds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ratchet_worker_round_duration_seconds", Help: "How long a round of a part of the worker took.",
			Buckets: seconds}, []string{"part", "outcome"}),
		deliveries: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ratchet_webhook_delivery_duration_seconds",
			Help: "How long endpoints took for an event, by whether they acknowledged it, refused it, or gave no " +
				"answer.",
			Buckets: seconds,
		}, []string{"outcome"}),
	}
}

func (m metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.inFlight, m.requests, m.limited, m.auth, m.points, m.happenings, m.calls, m.rounds,
		m.deliveries}
}
