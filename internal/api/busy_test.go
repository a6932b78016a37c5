package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestABusyDatabaseIsNotAFault keeps the customers locked. Requests that wait for
// them get a 429 or 503, whether they read, list, search, or check what they
// were given: not that something went wrong.
func TestABusyDatabaseIsNotAFault(t *testing.T) {
	t.Parallel()

	const key = "busy"
	requests := func(customer string) map[string]sent {
		keyed := header("Idempotency-Key", key)
		return map[string]sent{
			"a read":   {method: http.MethodGet, target: "/v1/customers/" + customer},
			"a list":   {method: http.MethodGet, target: "/v1/customers"},
			"a search": {method: http.MethodGet, target: "/v1/customers/search?query=name:'Jenny'"},
			"a flow's check": {
				target: "/v1/payment_intents",
				body:   "amount=2000&currency=usd&customer=" + customer,
				header: keyed,
			},
			"a flow's write":   {target: "/v1/customers", body: "name=Jim", header: keyed},
			"a flow's removal": {method: http.MethodDelete, target: "/v1/customers/" + customer},
		}
	}
	// while asks with the customers locked, and meanwhile does something else.
	while := func(t *testing.T, s *env, r sent, meanwhile func()) answer {
		t.Helper()
		tx, err := s.db.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(t.Context()) }()
		_, err = tx.Exec(t.Context(), `LOCK TABLE customers IN ACCESS EXCLUSIVE MODE`)
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan answer, 1)
		go func() { answered <- s.ask(t, r) }()
		meanwhile()
		return <-answered
	}
	requireComeBack := func(t *testing.T, a answer, want refused) {
		t.Helper()
		requireRefusal(t, a, want)
		if a.header.Get("Stripe-Should-Retry") != "true" {
			t.Errorf("clients are not told to come back: %v %s", a.header, a.body)
		}
	}
	locked := refused{status: http.StatusTooManyRequests, want: fault{Type: invalid, Code: "lock_timeout"}}
	unavailable := refused{status: http.StatusServiceUnavailable, want: fault{Type: "api_error"}}

	for name := range requests("") {
		t.Run(name+" that finds a lock for too long is told that the object is busy", func(t *testing.T) {
			t.Parallel()
			s := newEnv(t)
			r := requests(s.make(t, "", "/v1/customers", "name=Jenny"))[name]
			stored := s.requests(t)

			requireComeBack(t, while(t, s, r, func() {}), locked)

			if n := s.requests(t); n != stored {
				t.Errorf("%d requests are stored, want %d", n, stored)
			}
			if a := s.ask(t, r); a.status != http.StatusOK {
				t.Errorf("without the lock the same request is answered %d %s", a.status, a.body)
			}
		})

		t.Run(name+" that is canceled is told to come back", func(t *testing.T) {
			t.Parallel()
			s := newEnv(t)
			r := requests(s.make(t, "", "/v1/customers", "name=Jenny"))[name]
			a := while(t, s, r, func() {
				await(t, "the request's statement is canceled", func() bool {
					var canceled bool
					err := s.db.Pool.QueryRow(t.Context(), `
						SELECT coalesce(bool_or(pg_cancel_backend(pid)), false)
						FROM pg_stat_activity WHERE datname = current_database()
						    AND wait_event_type = 'Lock'`).Scan(&canceled)
					return err == nil && canceled
				})
			})

			requireComeBack(t, a, unavailable)
			if !strings.Contains(a.fault.Message, "Nothing was done") {
				t.Errorf("the message is %q", a.fault.Message)
			}
			if a := s.ask(t, r); a.status != http.StatusOK {
				t.Errorf("the same request is then answered %d %s", a.status, a.body)
			}
		})
	}
}

// TestAMigrationUnderAPreparedStatement changes the type of a column while sessions
// have statements prepared that return it.
func TestAMigrationUnderAPreparedStatement(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	customer := "/v1/customers/" + s.make(t, "", "/v1/customers", "name=Jenny")
	for _, r := range []sent{
		{method: http.MethodGet, target: customer},
		{method: http.MethodGet, target: "/v1/customers"},
		{target: customer, body: "name=Jim"},
	} {
		if a := s.ask(t, r); a.status != http.StatusOK {
			t.Fatalf("answered %d %s", a.status, a.body)
		}
		s.exec(t, `ALTER TABLE customers ALTER COLUMN invoice_prefix TYPE varchar`)
		if a := s.ask(t, r); a.status != http.StatusOK {
			t.Errorf("%s %s is answered %d %s", r.method, r.target, a.status, a.body)
		}
		s.exec(t, `ALTER TABLE customers ALTER COLUMN invoice_prefix TYPE text`)
	}
}
