package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	trace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/ratchet-pay/ratchet/internal/process"
)

// shown is a listener for a process's metrics, and how to read them.
func shown(t *testing.T) (net.Listener, func(path string) (int, string)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, func(path string) (int, string) { return read(t, "http://"+l.Addr().String()+path) }
}

func read(t *testing.T, url string) (int, string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// work runs a worker beside the environment's API until the test ends.
func (s *env) work(t *testing.T, metrics net.Listener) {
	t.Helper()
	config := s.config
	config.Metrics = metrics
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- process.Work(ctx, config) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	api, get := shown(t)
	s := newEnv(t, func(c *process.Config) { c.Metrics = api })
	s.make(t, "", "/v1/charges", mug)
	s.ask(t, sent{target: "/v1/charges", body: "amount=1000&currency=usd&source=tok_chargeDeclined"})
	for range 3 {
		s.ask(t, sent{method: "GET", target: "/v1/no/such/thing"})
	}
	s.sim.Fault(t, "drop_before_acting*2") // and again: it is parked
	s.ask(t, sent{target: "/v1/charges", body: mug})

	t.Run("requests, recovery points, calls, connections and the limiters are counted by the API", func(t *testing.T) {
		status, text := get("/metrics")
		for _, want := range []string{
			`ratchet_http_request_duration_seconds_count{method="POST",route="/v1/charges",status="2xx"} 1`,
			`ratchet_http_request_duration_seconds_count{method="POST",route="/v1/charges",status="4xx"} 1`,
			`ratchet_http_request_duration_seconds_count{method="POST",route="/v1/charges",status="5xx"} 1`,
			`ratchet_http_request_duration_seconds_count{method="GET",route="unknown",status="4xx"} 3`,
			`ratchet_recovery_points_total{flow="charge.create",point="charge_recorded"} 3`,
			`ratchet_recovery_points_total{flow="charge.create",point="charge_finalized"} 2`,
			`ratchet_request_events_total{event="parked",flow="charge.create"} 1`,
			`ratchet_foreign_call_duration_seconds_count{mode="send",outcome="answered",port="acquirer"} 2`,
			`ratchet_foreign_call_duration_seconds_count{mode="send",outcome="unknown",port="acquirer"} 2`,
			`ratchet_database_connections_max 8`, `ratchet_acquirer_breaker_open 0`,
			`ratchet_limiter_slots_taken{limiter="write"} 0`, `go_goroutines `,
		} {
			if status != http.StatusOK || !strings.Contains(text, want) {
				t.Errorf("%d: there is no %s", status, want)
			}
		}
	})

	t.Run("what stands in the tables is counted by the worker", func(t *testing.T) {
		l, get := shown(t)
		s.exec(t, `UPDATE runs SET due_at = now() + interval '5 minutes' WHERE state = 'parked'`)
		s.exec(t, `INSERT INTO settlement_differences (account_id, day, reference, wrong, found_at)
			VALUES ('', now(), 'auth_strange', 'the acquirer reports it twice', now()),
				('', now(), 'auth_old', 'it did once', now() - interval '8 days')`)
		s.work(t, l)
		for _, want := range []string{
			`ratchet_unfinished_requests{state="parked"} 1`, `ratchet_unfinished_requests{state="needs_review"} 0`,
			`ratchet_oldest_unfinished_request_age_seconds{state="parked"} `, `ratchet_ledger_differences 1`,
			`ratchet_worker_round_duration_seconds_count{outcome="done",part="complete"} `,
			`ratchet_webhook_deliveries_due 0`, `ratchet_webhook_queue_lag_seconds 0`,
			`ratchet_inbox_messages{state="waiting"} 0`, `ratchet_inbox_messages{state="set_aside"} 0`,
			`ratchet_settled_movements{state="waiting"} 0`, `ratchet_settled_movements{state="set_aside"} 0`,
		} {
			await(t, "the worker shows "+want, func() bool {
				_, text := get("/metrics")
				return strings.Contains(text, want)
			})
		}
		if status, text := get("/readyz"); status != http.StatusOK {
			t.Errorf("the worker is not ready: %d %s", status, text)
		}
	})

	t.Run("no label names anything that a caller chose", func(t *testing.T) {
		_, text := get("/metrics")
		for _, secret := range []string{"acct_", "req_", "ch_", "tok_", "no/such"} {
			if strings.Contains(text, secret) {
				t.Errorf("there is %q in the metrics", secret)
			}
		}
	})

	t.Run("profiles are shown beside them", func(t *testing.T) {
		for path, want := range map[string]string{
			"/debug/pprof/":                  "goroutine",
			"/debug/pprof/profile?seconds=1": "\x1f\x8b", // compressed
			"/debug/pprof/heap":              "\x1f\x8b",
		} {
			if status, text := get(path); status != http.StatusOK || !strings.Contains(text, want) {
				t.Errorf("%s answered %d and %d bytes", path, status, len(text))
			}
		}
	})

	t.Run("neither is shown where the API is", func(t *testing.T) {
		for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/heap"} {
			if a := s.ask(t, sent{method: "GET", target: path}); a.status != http.StatusNotFound {
				t.Errorf("%s answered %d", path, a.status)
			}
		}
	})
}

func TestHealth(t *testing.T) {
	t.Parallel()
	metrics, get := shown(t)
	s := newEnv(t, func(c *process.Config) { c.Metrics, c.Limits.DrainGrace = metrics, 0 })
	want := func(t *testing.T, path string, status int, text string) {
		t.Helper()
		await(t, path+" says "+text, func() bool {
			got, said := read(t, s.server.URL+path)
			return got == status && strings.Contains(said, text)
		})
	}
	want(t, "/healthz", http.StatusOK, `{"alive":true}`)
	want(t, "/readyz", http.StatusOK, `{"ready":true,"reasons":[]}`)

	s.exec(t, `UPDATE schema_revision SET version = version + 1`)
	want(t, "/readyz", http.StatusOK, `"ready":true`)
	s.exec(t, `UPDATE schema_revision SET version = version - 2`)
	want(t, "/readyz", http.StatusServiceUnavailable, `the schema is older than this program`)
	s.exec(t, `UPDATE schema_revision SET version = version + 1, dirty = true`)
	want(t, "/readyz", http.StatusServiceUnavailable, `a migration crashed halfway`)
	s.exec(t, `ALTER TABLE schema_revision RENAME TO schema_migrations`)
	want(t, "/readyz", http.StatusServiceUnavailable, `the database was made by an earlier development version`)
	want(t, "/healthz", http.StatusOK, `{"alive":true}`)

	ctx, stop := context.WithCancel(t.Context())
	stop() // as SIGTERM does
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.process.Serve(ctx, l, slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
	want(t, "/readyz", http.StatusServiceUnavailable, `the process is stopping`)
	if status, text := get("/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("beside the metrics it says %d %s", status, text)
	}
	if status, _ := get("/healthz"); status != http.StatusOK {
		t.Errorf("beside the metrics it is not alive: %d", status)
	}
}

// TestOneLineForEachRequest reads the log as an operator would.
func TestOneLineForEachRequest(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	key := header("Idempotency-Key", "mug-1")
	a := s.ask(t, sent{target: "/v1/charges", body: mug, header: key})
	s.ask(t, sent{target: "/v1/charges", body: mug, header: key})
	lines := regexp.MustCompile(`(?m)^.* msg=request .*$`).FindAllString(s.log.String(), -1)
	if len(lines) != 2 {
		t.Fatalf("there are %d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	for i, want := range [][]string{
		{"level=INFO", "request=" + a.header.Get("Request-Id"), "method=POST", "route=/v1/charges ",
			"account=acct_toboggans", "key=mug-1", "status=200", "replayed=false",
			`points="[charge_recorded acquirer_answered charge_finalized]"`, "commits=2", "acquirer_ms=", " ms="},
		{"key=mug-1", "status=200", "replayed=true"},
	} {
		for _, part := range want {
			if !strings.Contains(lines[i], part) {
				t.Errorf("%q is not in the line %s", part, lines[i])
			}
		}
	}
	if strings.Contains(lines[1], "commits") {
		t.Errorf("a replay has committed something: %s", lines[1])
	}

	s.sim.Fault(t, "drop_before_acting*2")
	a = s.ask(t, sent{target: "/v1/charges", body: mug, header: header("Idempotency-Key", "mug-2")})
	s.work(t, nil)
	var line string
	await(t, "the worker says what it took over", func() bool {
		line = regexp.MustCompile(`(?m)^.* msg="took over" .*$`).FindString(s.log.String())
		return line != ""
	})
	for _, part := range []string{"request=" + a.header.Get("Request-Id"), "flow=charge.create",
		"account=acct_toboggans", "key=mug-2", "point=charge_recorded", "epoch=2",
		"left=finished", `points="[acquirer_answered charge_finalized]"`, "commits=1", "acquirer_ms=", " ms="} {
		if !strings.Contains(line, part) {
			t.Errorf("%q is not in the line %s", part, line)
		}
	}
}

// TestOneLineForEachJob reads what a worker logs unprompted: of deliveries,
// and of requests that no client sent.
func TestOneLineForEachJob(t *testing.T) {
	t.Parallel()
	s := newEnv(t, func(c *process.Config) {
		c.Webhooks.AllowLoopback, c.Webhooks.Schedule = true, []time.Duration{50 * time.Millisecond}
	})
	var tries atomic.Int32
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if tries.Add(1) == 1 {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	t.Cleanup(shop.Close)
	s.make(t, "", "/v1/webhook_endpoints", "enabled_events[]=customer.created&url="+shop.URL)
	s.make(t, "", "/v1/customers", "name=Jenny")
	s.make(t, "", "/v1/charges", "amount=9000&currency=usd&source=tok_bypassPending")
	s.exec(t, `INSERT INTO payout_schedules (account_id, livemode, frequency, since)
		VALUES ('acct_toboggans', false, 'daily', current_date)`)
	l, get := shown(t)
	s.work(t, l)

	find := func(what, pattern string, parts ...string) {
		t.Helper()
		var line string
		await(t, what, func() bool {
			line = regexp.MustCompile(`(?m)^.* ` + pattern + ` .*$`).FindString(s.log.String())
			return line != ""
		})
		for _, part := range append(parts, "level=INFO", "account=acct_toboggans", " ms=") {
			if !strings.Contains(line, part) {
				t.Errorf("%q is not in the line %s", part, line)
			}
		}
	}
	find("the first attempt to deliver is told of", "msg=delivery .*attempt=1", "endpoint=we_", "event=evt_",
		"status=418", "state=pending", "endpoint_ms=")
	find("and the second", "msg=delivery .*attempt=2", "status=200", "state=succeeded")
	find("so is the day's payout", "msg=job .*flow=payout.daily", "request=req_", `key="job:payout of usd on `,
		"status=200",
		`points="[payout_recorded bank_answered payout_finalized]"`, "commits=2", "acquirer_ms=")
	for _, want := range []string{`ratchet_webhook_delivery_duration_seconds_count{outcome="refused"} 1`,
		`ratchet_webhook_delivery_duration_seconds_count{outcome="acknowledged"} 1`} {
		await(t, "the worker shows "+want, func() bool {
			_, text := get("/metrics")
			return strings.Contains(text, want)
		})
	}
}

// TestTraces follows one charge from a client that traces to the acquirer. It is
// not parallel: where spans go is said by the environment.
func TestTraces(t *testing.T) {
	const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	var mu sync.Mutex
	named := map[string]*spans.Span{}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var exported trace.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &exported); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, of := range exported.ResourceSpans {
			for _, in := range of.ScopeSpans {
				for _, span := range in.Spans {
					named[span.Name] = span
				}
			}
		}
	}))
	defer collector.Close()
	received := make(chan string, 1) // one charge asks once
	tapped := func(c *process.Config) {
		c.AcquirerURL = overhear(t, c.AcquirerURL, func(r *http.Request) { received <- r.Header.Get("Traceparent") })
	}
	traced := header("Traceparent", "00-"+traceID+"-00f067aa0ba902b7-01")

	t.Run("without a collector the client's trace is handed on all the same", func(t *testing.T) {
		s := newEnv(t, tapped)
		s.ask(t, sent{target: "/v1/charges", body: mug, header: traced})
		if sent := <-received; !strings.Contains(sent, traceID) {
			t.Errorf("the acquirer received the trace %q", sent)
		}
		if !strings.Contains(s.log.String(), "trace="+traceID) {
			t.Error("the line in the log does not name the trace")
		}
	})

	t.Run("a trace whose headers contain a card number is not continued", func(t *testing.T) {
		s := newEnv(t, tapped)
		pan := number(t, "visa")
		for _, headers := range []http.Header{
			header("Traceparent", "00-"+pan+"a3ce929d0e0e4736-00f067aa0ba902b7-01"),
			header("Traceparent", "00-"+traceID+"-"+pan+"-01"),
			{"Traceparent": {"00-" + traceID + "-00f067aa0ba902b7-01"}, "Tracestate": {"a=1", "b=x" + pan}},
		} {
			s.ask(t, sent{target: "/v1/charges", body: mug, header: headers})
			if sent := <-received; sent != "" {
				t.Errorf("the acquirer received a trace of %d characters", len(sent))
			}
		}
		if log := s.log.String(); strings.Contains(log, pan) || strings.Contains(log, "trace=") {
			t.Error("the line in the log names the trace")
		}
	})

	t.Run("the request, its transactions and its call are spans of the client's trace", func(t *testing.T) {
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
		s := newEnv(t, tapped)
		a := s.ask(t, sent{target: "/v1/charges", body: mug, header: traced})
		if a.status != http.StatusOK {
			t.Fatalf("answered %d %s", a.status, a.body)
		}
		s.process.Close() // sends what is left
		mu.Lock()
		defer mu.Unlock()
		parent := named["POST /v1/charges"]
		if parent == nil {
			t.Fatalf("there is no span of the request: %v", named)
		}
		for _, point := range []string{"charge_recorded", "acquirer_answered", "charge_finalized"} {
			span := named["charge.create "+point]
			if span == nil || string(span.ParentSpanId) != string(parent.SpanId) {
				t.Errorf("the span of %s is %v", point, span)
			}
		}
		call, to := named["charge.create acquirer_answered"], <-received
		if call != nil && !strings.Contains(to, fmt.Sprintf("%s-%x", traceID, call.SpanId)) {
			t.Errorf("the acquirer heard of %q", to)
		}
		sent, err := json.Marshal(named)
		if err != nil || strings.Contains(string(sent), "tok_visa") {
			t.Errorf("the spans tell too much: %s %v", sent, err)
		}
	})
}

func TestServeRuntime(t *testing.T) {
	t.Parallel()
	l, get := shown(t)
	t.Cleanup(process.ServeRuntime(l, slog.New(slog.DiscardHandler)))

	t.Run("a process of another kind, such as the acquirer, shows its numbers and profiles", func(t *testing.T) {
		for path, want := range map[string]string{
			"/metrics":                       "go_goroutines ",
			"/debug/pprof/goroutine?debug=1": "goroutine profile",
		} {
			if status, text := get(path); status != http.StatusOK || !strings.Contains(text, want) {
				t.Errorf("%s answered %d: %s", path, status, text)
			}
		}
	})
}
