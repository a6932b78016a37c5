// Package telemetry shows operators what a process does: metrics for Prometheus, spans for
// OpenTelemetry, and the engine's part of the log line.
//
// Metrics have few labels, and their values are known at compile time: route patterns, never an
// ID, an account or a key.
package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/ratchet-pay/ratchet/internal/logline"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// Telemetry is one process's. It is an observer of the engine.
type Telemetry struct {
	// Registry takes the numbers of other parts: a part registers its own.
	Registry *prometheus.Registry

	tracer  trace.Tracer
	metrics metrics
}

var _ phase.Observer = (*Telemetry)(nil)

// New counts from zero. tracer makes the spans; see Tracing.
func New(tracer trace.Tracer) *Telemetry {
	t := &Telemetry{Registry: prometheus.NewRegistry(), tracer: tracer, metrics: newMetrics()}
	registerRuntime(t.Registry)
	t.Registry.MustRegister(t.metrics.all()...)
	return t
}

func registerRuntime(registry *prometheus.Registry) {
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// Runtime shows the numbers that any Go process has, for one that counts nothing itself.
func Runtime() http.Handler {
	registry := prometheus.NewRegistry()
	registerRuntime(registry)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// Handler serves the metrics in Prometheus's format.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.Registry, promhttp.HandlerOpts{})
}

// Request begins a request of the API on a route's pattern, under the trace its
// client is in, unless its headers contain the digits of a card number: they are logged, and
// sent to the acquirer and the collector. end receives the status, and the limit that rejected it or "".
func (t *Telemetry) Request(r *http.Request, route string) (ctx context.Context, end func(status int, limit string)) {
	method, began := known(r.Method), time.Now()
	ctx = r.Context()
	if !testcard.Embeds(r.Header.Get("Traceparent")) && !testcard.Embeds(strings.Join(r.Header["Tracestate"], ",")) {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	}
	ctx, span := t.tracer.Start(ctx, method+" "+route, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route)))
	if of := span.SpanContext(); of.HasTraceID() {
		logline.From(ctx).Add(slog.String("trace", of.TraceID().String()))
	}
	t.metrics.inFlight.Inc()
	return ctx, func(status int, limit string) {
		t.metrics.inFlight.Dec()
		t.metrics.requests.WithLabelValues(method, route, class(status)).Observe(time.Since(began).Seconds())
		if limit != "" {
			t.metrics.limited.WithLabelValues(limit).Inc()
		}
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// AuthFailure is why a request of the API was not authenticated.
type AuthFailure string

// The reasons.
const (
	AuthMissing AuthFailure = "missing" // no key, or none that can be read
	AuthUnknown AuthFailure = "unknown"
	AuthExpired AuthFailure = "expired"
	AuthLimited AuthFailure = "limited" // not looked up: its peer has failed too often
)

// AuthFailed counts a request that was not authenticated.
func (t *Telemetry) AuthFailed(reason AuthFailure) {
	t.metrics.auth.WithLabelValues(string(reason)).Inc()
}

// known is a method as a label: callers can make up any number of others.
func known(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodHead, http.MethodPut, http.MethodPatch,
		http.MethodOptions:
		return method
	}
	return "other"
}

func class(status int) string { return string(rune('0'+status/100)) + "xx" }

// Round observes how long a part of the worker took for one round, and whether it failed.
func (t *Telemetry) Round(part string, took time.Duration, err error) {
	t.metrics.rounds.WithLabelValues(part, outcome(err)).Observe(took.Seconds())
}

// Delivery counts an attempt to tell an endpoint of an event.
func (t *Telemetry) Delivery(outcome string, took time.Duration) {
	t.metrics.deliveries.WithLabelValues(outcome).Observe(took.Seconds())
}

// Begin implements phase.Observer: a span for each transaction and each call.
func (t *Telemetry) Begin(ctx context.Context, s phase.Step) (context.Context, func(error)) {
	began, line := time.Now(), logline.From(ctx)
	kind := trace.SpanKindInternal
	if s.Port != "" {
		kind = trace.SpanKindClient
	}
	ctx, span := t.tracer.Start(ctx, s.Flow+" "+s.Point, trace.WithSpanKind(kind))
	if span.IsRecording() {
		span.SetAttributes(attribute.String("ratchet.flow", s.Flow), attribute.String("ratchet.request", s.RequestID),
			attribute.String("ratchet.point", s.Point))
	}
	if span.IsRecording() && s.Port != "" {
		span.SetAttributes(attribute.String("peer.service", s.Port), attribute.String("ratchet.mode", s.Mode.String()))
	}
	return ctx, func(err error) {
		if s.Port != "" {
			took := time.Since(began)
			line.Waited(s.Port, took)
			t.metrics.calls.WithLabelValues(s.Port, s.Mode.String(), phase.CallOutcome(err)).Observe(took.Seconds())
		}
		if err != nil {
			span.SetStatus(codes.Error, outcome(err)) // the error's own text may repeat what a caller sent
		}
		span.End()
	}
}

// Observe implements phase.Observer.
func (t *Telemetry) Observe(ctx context.Context, e phase.Event) {
	line := logline.From(ctx)
	switch e.Kind {
	case phase.Committed:
		line.Committed(e.Points)
		for _, point := range e.Points {
			t.metrics.points.WithLabelValues(e.Flow, point).Inc()
		}
		return
	case phase.Retried:
		line.Retried()
	}
	t.metrics.happenings.WithLabelValues(e.Flow, string(e.Kind)).Inc()
	trace.SpanFromContext(ctx).AddEvent(string(e.Kind))
}

func outcome(err error) string {
	if err != nil {
		return "failed"
	}
	return "done"
}
