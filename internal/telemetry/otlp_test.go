package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	official "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// collectorOf is a collector that answers with one status after the other, the last of
// them forever, and keeps what it was sent.
type collectorOf struct {
	*httptest.Server
	mu       sync.Mutex
	statuses []int
	answer   []byte
	received []*official.ExportTraceServiceRequest
	headers  []http.Header
	paths    []string
}

func newCollector(t *testing.T, statuses ...int) *collectorOf {
	c := &collectorOf{statuses: statuses}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			unzip, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			body, _ = io.ReadAll(unzip)
		}
		sent := &official.ExportTraceServiceRequest{}
		if err := proto.Unmarshal(body, sent); err != nil {
			t.Error(err)
		}
		c.received, c.headers = append(c.received, sent), append(c.headers, r.Header)
		c.paths = append(c.paths, r.URL.Path)
		w.WriteHeader(c.statuses[0])
		if len(c.statuses) > 1 {
			c.statuses = c.statuses[1:]
		}
		_, _ = w.Write(c.answer)
	}))
	t.Cleanup(c.Close)
	return c
}

// everySpan has something in every field that a collector receives.
func everySpan() tracetest.SpanStubs {
	state, _ := trace.ParseTraceState("shop=7")
	ids := func(span byte, remote bool) trace.SpanContext {
		return trace.NewSpanContext(trace.SpanContextConfig{
			TraceID:    trace.TraceID{9, 15: 1},
			SpanID:     trace.SpanID{span},
			TraceFlags: trace.FlagsSampled,
			TraceState: state,
			Remote:     remote,
		})
	}
	start := time.Unix(1_700_000_000, 123)
	described := resource.NewWithAttributes("https://example.com/schema",
		attribute.String("service.name", "ratchet serve"))
	ours := instrumentation.Scope{Name: scope, Version: "1"}
	return tracetest.SpanStubs{
		{
			Name:        "POST /v1/charges",
			SpanContext: ids(1, false),
			Parent:      ids(2, true),
			SpanKind:    trace.SpanKindServer,
			StartTime:   start,
			EndTime:     start.Add(time.Second),
			Attributes: []attribute.KeyValue{attribute.String("route", "/v1/charges"),
				attribute.Int("status", 402), attribute.Bool("replayed", true), attribute.Float64("share", 0.5)},
			Events: []sdk.Event{{
				Name:                  "taken over",
				Time:                  start,
				Attributes:            []attribute.KeyValue{attribute.Int("epoch", 2)},
				DroppedAttributeCount: 1,
			}},
			Links: []sdk.Link{{
				SpanContext:           ids(3, true),
				Attributes:            []attribute.KeyValue{attribute.String("why", "repeated")},
				DroppedAttributeCount: 2,
			}},
			Status:               sdk.Status{Code: codes.Error, Description: "declined"},
			DroppedAttributes:    3,
			DroppedEvents:        4,
			DroppedLinks:         5,
			Resource:             described,
			InstrumentationScope: ours,
		},
		{
			Name:                 "alone",
			SpanContext:          ids(4, false),
			SpanKind:             trace.SpanKindClient,
			StartTime:            start,
			EndTime:              start,
			Status:               sdk.Status{Code: codes.Ok},
			Resource:             described,
			InstrumentationScope: ours,
		},
		{
			Name:                 "inside",
			SpanContext:          ids(5, false),
			Parent:               ids(4, false),
			SpanKind:             trace.SpanKindInternal,
			StartTime:            start,
			EndTime:              start,
			Resource:             described,
			InstrumentationScope: instrumentation.Scope{Name: "somebody else's"},
		},
	}
}

// TestSpansAreWrittenAsOpenTelemetryDoes sends the same spans with both exporters.
func TestSpansAreWrittenAsOpenTelemetryDoes(t *testing.T) {
	c := newCollector(t, http.StatusOK)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL+"/behind")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20secret, tenant=shop")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	theirs, err := otlptracehttp.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ours, err := newExporter()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []sdk.SpanExporter{theirs, ours} {
		if err := e.ExportSpans(t.Context(), everySpan().Snapshots()); err != nil {
			t.Fatal(err)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, sent := range c.received { // scopes come in no order
		scopes := sent.ResourceSpans[0].ScopeSpans
		if scopes[0].Scope.Name != scope {
			scopes[0], scopes[1] = scopes[1], scopes[0]
		}
	}
	if !proto.Equal(c.received[0], c.received[1]) {
		t.Errorf("received\n%s\nwant\n%s", prototext.Format(c.received[1]), prototext.Format(c.received[0]))
	}
	for _, name := range []string{"Api-Key", "Tenant", "Content-Type", "Content-Encoding"} {
		if want, got := c.headers[0].Get(name), c.headers[1].Get(name); got != want || got == "" {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if c.paths[0] != c.paths[1] {
		t.Errorf("sent to %s, want %s", c.paths[1], c.paths[0])
	}
}

func TestACollectorThatRefuses(t *testing.T) {
	partly, _ := proto.Marshal(&official.ExportTraceServiceResponse{
		PartialSuccess: &official.ExportTracePartialSuccess{RejectedSpans: 2, ErrorMessage: "too old"},
	})
	for _, c := range []struct {
		name     string
		statuses []int
		answer   []byte
		times    int
		want     string // part of the error
	}{
		{"for now", []int{http.StatusServiceUnavailable, http.StatusOK}, nil, 2, ""},
		{"for good", []int{http.StatusBadRequest}, nil, 1, "400 Bad Request"},
		{"some of them", []int{http.StatusOK}, partly, 1, "refused 2: too old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			collector := newCollector(t, c.statuses...)
			collector.answer = c.answer
			t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", collector.URL)
			e, err := newExporter()
			if err != nil {
				t.Fatal(err)
			}
			err = e.ExportSpans(t.Context(), everySpan().Snapshots())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
			if len(collector.received) != c.times {
				t.Errorf("sent %d times, want %d", len(collector.received), c.times)
			}
		})
	}
	t.Run("until nobody wants to wait", func(t *testing.T) {
		collector := newCollector(t, http.StatusServiceUnavailable)
		t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", collector.URL)
		e, err := newExporter()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(100*time.Millisecond, func() { cancel(errors.New("the process ends")) })
		if err := e.ExportSpans(ctx, everySpan().Snapshots()); err == nil {
			t.Error("spans that nobody took are said to be sent")
		}
	})
}

// What the environment says is obeyed or refused, and a secret is in no error.
func TestSettingsOfTraces(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "localhost:4318", "http://"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "http/protobuf"},
		{"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "zstd", "gzip"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "milliseconds"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "a-secret", "key=value"},
		{"OTEL_EXPORTER_OTLP_CLIENT_KEY", "key.pem", "SSL_CERT_FILE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
			t.Setenv(c.name, c.value)
			_, err := newExporter()
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "a-secret") {
				t.Errorf("the error is %v", err)
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
		t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
		if e, err := newExporter(); e != nil || err != nil {
			t.Errorf("%v, %v", e, err)
		}
	})
}
