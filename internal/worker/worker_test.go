package worker_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/process"
	"github.com/ratchet-pay/ratchet/internal/retention"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/testapp"
	"github.com/ratchet-pay/ratchet/internal/verify"
	"github.com/ratchet-pay/ratchet/internal/worker"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// env is an API, an acquirer, and a merchant. A test starts its workers.
type env struct {
	db     *pgtest.DB
	sim    *acquirertest.Sim
	config process.Config
	app    *testapp.App
	key    string
}

func newEnv(t *testing.T) *env {
	t.Helper()
	app := testapp.New(t, testapp.Demo)
	return &env{db: app.DB, sim: app.Sim, config: app.Config, app: app, key: app.Open(t, "acct_1", "Shop")}
}

// work runs a worker. stop tells it to stop and waits until it has.
func (s *env) work(t *testing.T) (stop func()) {
	t.Helper()
	ctx, tell := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- process.Work(ctx, s.config) }()
	stop = sync.OnceFunc(func() {
		tell()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func (s *env) post(t *testing.T, path, form string, headers ...string) (status int, id string) {
	t.Helper()
	a := s.app.Send(t, s.key, http.MethodPost, path, form,
		append([]string{"Idempotency-Key", rand.Text()}, headers...)...)
	return a.Status, a.ID
}

// make asks for something that has to succeed and returns its id.
func (s *env) make(t *testing.T, path, form string) string {
	t.Helper()
	status, id := s.post(t, path, form)
	if status != http.StatusOK {
		t.Fatalf("POST %s answers %d", path, status)
	}
	return id
}

// parked leaves the request for a charge behind that is due at once, and returns its amount.
func (s *env) parked(t *testing.T, amount int) int {
	t.Helper()
	status, _ := s.post(t, "/v1/charges", fmt.Sprintf("amount=%d&currency=usd&source=tok_visa", amount),
		"Acquirer-Fault", "drop_before_acting")
	if status != http.StatusServiceUnavailable {
		t.Fatalf("answered %d", status)
	}
	s.exec(t, "UPDATE runs SET due_at = clock_timestamp() WHERE state = 'parked'")
	return amount
}

func (s *env) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := s.db.Pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func (s *env) number(t *testing.T, sql string, args ...any) (n int) {
	t.Helper()
	if err := s.db.Pool.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (s *env) eventually(t *testing.T, what, sql string, args ...any) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); s.number(t, sql, args...) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never happened that %s", what)
		}
	}
}

const (
	finished = `SELECT count(*) FROM request_status WHERE params->>'Amount' = $1::int::text AND state = 'finished'`
	running  = `SELECT count(*) FROM request_status WHERE params->>'Amount' = $1::int::text AND state = 'running'`
)

func TestOneSlowCallKeepsNoOtherRepair(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	slow := s.parked(t, 2000)
	begun, goOn := s.sim.Stall(t)
	s.work(t)
	<-begun
	quick := s.parked(t, 3000)
	s.eventually(t, "the other one is repaired", finished, quick)
	if s.number(t, running, slow) != 1 {
		t.Error("the other one had to wait until the slow call was over")
	}
	goOn()
	s.eventually(t, "the slow one is repaired", finished, slow)
	if holds := s.sim.Holds(); holds != 2 {
		t.Errorf("cards were held %d times, want twice", holds)
	}
}

// Rounds with much to do are left when the worker stops: what is under way
// is finished, and the rest is there for the next one.
func TestAStoppedWorker(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	const holds = 12
	for range holds {
		s.make(t, "/v1/charges", "amount=2000&currency=usd&source=tok_visa&capture=false")
	}
	s.exec(t, "UPDATE charges SET capture_before = clock_timestamp() - interval '1 second'")
	begun, goOn := s.sim.Stall(t)
	stop := s.work(t)
	<-begun
	time.AfterFunc(200*time.Millisecond, goOn) // when it stops
	stop()
	if n := s.number(t, "SELECT count(*) FROM refunds WHERE status = 'succeeded'"); n != 1 {
		t.Errorf("it went on and let %d of %d holds go, want the one that was under way", n, holds)
	}
	if n := s.number(t, "SELECT count(*) FROM request_status WHERE state <> 'finished'"); n != 0 {
		t.Errorf("it left %d requests unfinished", n)
	}
	s.work(t)
	s.eventually(t, "another worker lets the rest go",
		fmt.Sprintf("SELECT (count(*) = %d)::int FROM refunds WHERE status = 'succeeded'", holds))
}

// A round looks at a hundred sessions whose time is over. Those that are being paid
// are not among them, however many there are.
func TestSessionsThatArePaidKeepNoOtherFromExpiring(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	const session = "mode=payment&success_url=https://example.com&line_items[0][quantity]=1" +
		"&line_items[0][price_data][currency]=usd&line_items[0][price_data][unit_amount]=2000" +
		"&line_items[0][price_data][product_data][name]=Sledge"
	for range 100 {
		paid := s.make(t, "/v1/checkout/sessions", session)
		status, _ := s.post(t, "/v1/payment_pages/"+paid+"/confirm",
			"payment_method=pm_card_chargeDeclined&email=jenny@example.com")
		if status != http.StatusPaymentRequired {
			t.Fatalf("answered %d", status)
		}
	}
	s.exec(t, "UPDATE payment_intents SET status = 'processing', locked_by = 'req_asking'")
	idle := s.make(t, "/v1/checkout/sessions", session)
	s.exec(t, "UPDATE checkout_sessions SET expires_at = clock_timestamp() - interval '1 minute' WHERE id <> $1", idle)
	s.exec(t, "UPDATE checkout_sessions SET expires_at = clock_timestamp() - interval '1 second' WHERE id = $1", idle)
	s.work(t)
	s.eventually(t, "the one that nobody pays is expired",
		"SELECT count(*) FROM checkout_sessions WHERE id = $1 AND status = 'expired'", idle)
	if n := s.number(t, "SELECT count(*) FROM checkout_sessions WHERE status = 'expired'"); n != 1 {
		t.Errorf("%d are expired, want that one", n)
	}
}

// The first look is at everything, the next ones are at what has come since.
func TestBalanceNotifications(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	s.make(t, "/v1/charges", "amount=2000&currency=usd&source=tok_bypassPending")
	s.make(t, "/v1/charges", "amount=2000&currency=eur&source=tok_visa") // not yet
	s.work(t)
	for n := range 3 {
		s.eventually(t, "it is told", "SELECT (count(*) = $1::int)::int FROM events WHERE type = 'balance.available'",
			n+1)
		s.make(t, "/v1/charges", "amount=2000&currency=eur&source=tok_bypassPending")
	}
}

// A worker logs and counts what a run of verify finds, and begins the next run where the last clean one looked.
func TestVerifyRuns(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	var log strings.Builder
	t.Run("a damaged row is noticed, logged once and counted", func(t *testing.T) {
		charge := s.make(t, "/v1/charges", "amount=2000&currency=usd&source=tok_visa")
		verifier, registry := worker.NewVerifierForTest(s.db.Pool, verify.ForWorker,
			slog.New(slog.NewTextHandler(&log, nil)))
		round := func() {
			t.Helper()
			s.exec(t, "UPDATE verifications SET checked_until = checked_until - interval '1 minute', "+
				"clean_until = clean_until - interval '1 minute'") // as if a minute had passed
			if _, err := verifier(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		shown := func() string {
			t.Helper()
			response := httptest.NewRecorder()
			promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(response,
				httptest.NewRequest(http.MethodGet, "/", nil))
			_, numbers, _ := strings.Cut(response.Body.String(), "# HELP ratchet_verify")
			return numbers
		}
		const none = `ratchet_verify_violations{scope="recent"} 0`
		if round(); !strings.Contains(shown(), none) || log.Len() > 0 {
			t.Fatalf("before: %s\n%s", log.String(), shown())
		}
		s.exec(t, "ALTER TABLE charges DISABLE TRIGGER ALL")
		s.exec(t, fmt.Sprintf("UPDATE charges SET amount_refunded = 7 WHERE id = '%s'", charge))
		s.exec(t, "ALTER TABLE charges ENABLE TRIGGER ALL")
		round()
		round()
		if got := strings.Count(log.String(), "every charge's totals agree with its refunds"); got != 1 {
			t.Errorf("logged %d times:\n%s", got, log.String())
		}
		if numbers := shown(); strings.Contains(numbers, none) || !strings.Contains(numbers, "_last_clean_timestamp") {
			t.Errorf("shows %s", numbers)
		}
	})

	t.Run("a partial run does not count as clean, and the next one looks back no further than its own minutes",
		func(t *testing.T) {
			s.exec(t, "DELETE FROM verifications")
			var asked time.Time
			left := time.Hour // what a run leaves out at its beginning
			partly := func(
				_ context.Context, _ *pgxpool.Pool, _ secret.Keys, since time.Time,
			) (*worker.Verified, error) {
				asked = since
				from := since.Add(left)
				return &worker.Verified{Since: &from, Until: time.Now()}, nil
			}
			verifier, _ := worker.NewVerifierForTest(s.db.Pool, partly, slog.New(slog.DiscardHandler))
			for _, left = range []time.Duration{time.Hour, 0, 0} {
				if _, err := verifier(t.Context()); err != nil {
					t.Fatal(err)
				}
				s.exec(t, "UPDATE verifications SET checked_until = checked_until - interval '1 minute'")
				if n := s.number(t, "SELECT count(*) FROM verifications WHERE clean_until IS NOT NULL"); n != 0 {
					t.Error("a run behind requests that were left out counts as clean")
				}
			}
			if back := time.Since(asked); back > worker.VerifyAgain+2*time.Minute {
				t.Errorf("it looks %s back", back)
			}
		})

	t.Run("a run that could not check a rule is not recorded, and the next one looks at the same requests",
		func(t *testing.T) {
			s.exec(t, "DELETE FROM verifications")
			s.exec(t, `INSERT INTO verifications (scope, checked_from, checked_until, clean_until, rules, left_out,
				violations) SELECT 'recent', at, at, at, 1, 0, 0 FROM (SELECT now() - interval '10 minutes') a (at)`)
			var asked []time.Time
			broken := func(
				_ context.Context, _ *pgxpool.Pool, _ secret.Keys, since time.Time,
			) (*worker.Verified, error) {
				asked = append(asked, since)
				return &worker.Verified{Since: &since, Until: time.Now(),
					Unchecked: []worker.Violation{{Rule: "a rule", Wrong: "the connection was lost"}}}, nil
			}
			verifier, _ := worker.NewVerifierForTest(s.db.Pool, broken, slog.New(slog.DiscardHandler))
			for range 2 {
				if _, err := verifier(t.Context()); err == nil {
					t.Error("the run has no error")
				}
			}
			if len(asked) != 2 || !asked[0].Equal(asked[1]) || time.Since(asked[0]) < 10*time.Minute {
				t.Errorf("the runs looked at what is new since %v", asked)
			}
		})
}

// TestMonthsPass makes an installation that no worker has run on since January 2020: that month has ended long ago, and
// the present one has no partition.
func TestMonthsPass(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	for table, prefix := range map[string]string{"events": "evt", "webhook_deliveries": "evt",
		"webhook_attempts": "evt", "archived_answers": "req"} {
		s.exec(t, fmt.Sprintf(`DO $$ DECLARE month text := to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM'); BEGIN
			EXECUTE format('ALTER TABLE %[1]s DETACH PARTITION %[1]s_%%s', month);
			EXECUTE format('ALTER TABLE %[1]s_%%s RENAME TO %[1]s_2020_01', month);
			EXECUTE format('ALTER TABLE %[1]s ATTACH PARTITION %[1]s_2020_01 FOR VALUES FROM (MINVALUE) TO (%%L)',
				id_at('%[2]s', '2020-02-01 00:00+0'));
		END $$`, table, prefix))
	}
	s.exec(t, `INSERT INTO events (account_id, id, livemode, type, object_id, data, api_version, request_id, created_at)
		SELECT 'acct_1', id_at('evt', at) || 'old', false, 'charge.succeeded', 'ch_old', '{}', '2019-12-03', 'req_old',
		       at
		FROM (VALUES (timestamptz '2020-01-31 23:59:59+0')) AS old (at)`)
	s.exec(t, `INSERT INTO archived_answers (account_id, request_id, headers, body)
		SELECT 'acct_1', id_at('req', '2020-01-31 23:59:59+0') || 'old', '{}', '{}'`)
	s.config.Keep = retention.Months{Events: 13, Archive: 84}

	stop := s.work(t)
	const (
		prepared = `SELECT count(*) FROM pg_class
			WHERE oid = to_regclass('events_' || to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM'))`
		stored = `SELECT count(*) FROM events e
			WHERE e.tableoid = to_regclass('events_' || to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM'))`
	)
	s.eventually(t, "the worker prepares this month", prepared)
	// The archive is kept for seven years: January 2020 left it in February 2027.
	s.eventually(t, "the worker detaches the old month of events",
		`SELECT count(*) FROM detached_months WHERE kind = 'events' AND month = '2020-01-01' AND rows = 1`)
	charge := func() string {
		t.Helper()
		status, id := s.post(t, "/v1/charges", "amount=2000&currency=usd&source=tok_visa", "Idempotency-Key", "once")
		if status != http.StatusOK {
			t.Fatalf("answered %d", status)
		}
		return id
	}
	id := charge()
	if n := s.number(t, stored); n != 1 {
		t.Errorf("this month has %d events, want that of the charge", n)
	}
	if again := charge(); again != id {
		t.Errorf("the charge is %s and then %s", id, again)
	}
	if n := s.number(t, `SELECT count(*) FROM events`); n != 1 {
		t.Errorf("there are %d events, want the new one", n)
	}
	if n := s.number(t, `SELECT count(*) FROM months_detached.events_2020_01`); n != 1 {
		t.Errorf("the month has %d events, want the old one", n)
	}
	stop()
	archive := `SELECT count(*) FROM detached_months WHERE kind = 'archived_answers'`
	if time.Now().Before(time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)) && s.number(t, archive) != 0 {
		t.Error("a month of the archive is detached before its time")
	}
	s.config.Keep.Archive = 12
	s.work(t)
	s.eventually(t, "the worker detaches the old month of responses", archive)
}
