package api_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/process"
)

const mug = "amount=1000&currency=usd&source=tok_visa"

// requireLimited wants a 429 as Stripe's, which tells clients to come back.
func requireLimited(t *testing.T, a answer, reason string) {
	t.Helper()
	requireRefusal(t, a, refused{status: http.StatusTooManyRequests, want: fault{Type: invalid, Code: "rate_limit"}})
	if got := a.header.Get("Stripe-Rate-Limited-Reason"); got != reason {
		t.Errorf("the reason is %q, want %q", got, reason)
	}
	if a.header.Get("Stripe-Should-Retry") != "true" || a.header.Get("Retry-After") == "" {
		t.Errorf("clients are not told to come back: %v", a.header)
	}
}

func TestWhoAsksForTooMuchIsRefusedAlone(t *testing.T) {
	t.Parallel()

	t.Run("a key that asks too often hears 429, nothing is stored, and other keys are heard", func(t *testing.T) {
		t.Parallel()
		s := newEnv(t, func(c *process.Config) { c.Limits.API.KeyRate = 1 })
		answered := 0
		for {
			a := s.ask(t, sent{target: "/v1/customers"})
			if a.status == http.StatusTooManyRequests {
				requireLimited(t, a, "global-rate")
				break
			}
			if answered++; answered > 100 {
				t.Fatal("a hundred requests were answered at once")
			}
		}
		if n := s.requests(t); n != answered {
			t.Errorf("%d requests are stored, %d were answered", n, answered)
		}
		if a := s.ask(t, sent{as: "kites", target: "/v1/customers"}); a.status != http.StatusOK {
			t.Errorf("another merchant is answered %d %s", a.status, a.body)
		}
	})

	t.Run("a client that repeats at once what is rejected hears the next 429 later", func(t *testing.T) {
		t.Parallel()
		const delay = 300 * time.Millisecond
		s := newEnv(t, func(c *process.Config) {
			c.Limits.API.AccountConcurrency, c.Limits.API.RejectionDelay = 1, delay
		})
		first, goOn := s.start(t, sent{target: "/v1/charges", body: mug})
		began := time.Now()
		requireLimited(t, s.ask(t, sent{target: "/v1/customers"}), "global-concurrency")
		if took := time.Since(began); took < delay {
			t.Errorf("the rejection came after %v, want %v", took, delay)
		}
		goOn()
		<-first
	})

	t.Run("an account with too much under way hears 429, and is heard again when it is done", func(t *testing.T) {
		t.Parallel()
		s := newEnv(t, func(c *process.Config) { c.Limits.API.AccountConcurrency = 1 })
		first, goOn := s.start(t, sent{target: "/v1/charges", body: mug})
		requireLimited(t, s.ask(t, sent{target: "/v1/customers"}), "global-concurrency")
		requireLimited(t, s.ask(t, sent{method: http.MethodGet, target: "/v1/customers"}), "global-concurrency")
		if a := s.ask(t, sent{as: "kites", target: "/v1/charges", body: mug}); a.status != http.StatusOK {
			t.Errorf("another merchant is answered %d %s", a.status, a.body)
		}
		goOn()
		if a := <-first; a.status != http.StatusOK {
			t.Errorf("the first was answered %d %s", a.status, a.body)
		}
		if a := s.ask(t, sent{target: "/v1/customers"}); a.status != http.StatusOK {
			t.Errorf("afterwards it is answered %d %s", a.status, a.body)
		}
	})
}

// start sends a charge and returns when the acquirer has been asked. There it
// stays until goOn is called.
func (s *env) start(t *testing.T, r sent) (first <-chan answer, goOn func()) {
	t.Helper()
	begun, goOn := s.sim.Stall(t)
	answered := make(chan answer, 1)
	go func() { answered <- s.ask(t, r) }()
	<-begun
	return answered, goOn
}

// flood sends a request from eight clients, again and again, and returns when the account's
// share is used up. stop ends it.
func (s *env) flood(t *testing.T, r sent) (stop func()) {
	t.Helper()
	over := make(chan struct{})
	var clients sync.WaitGroup
	var rejected atomic.Int64
	for range 8 {
		clients.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if s.ask(t, r).fault.Code == "rate_limit" {
					rejected.Add(1)
				}
			}
		})
	}
	await(t, "the account has used up its share", func() bool { return rejected.Load() > 0 })
	return func() {
		close(over)
		clients.Wait()
	}
}

// TestOverload fills a process that has one slot for new work.
func TestOverload(t *testing.T) {
	t.Parallel()
	narrow := func(c *process.Config) { c.Limits.ConcurrentWrites, c.Limits.Queue = 1, 0 }

	t.Run("new work is turned away before it begins; replays and reads are answered", func(t *testing.T) {
		t.Parallel()
		s := newEnv(t, narrow)
		key := header("Idempotency-Key", "done before")
		done := s.ask(t, sent{target: "/v1/customers", body: "name=Jenny", header: key})
		stored := s.requests(t)

		// A request that writes its row waits for us, with the only slot.
		tx, err := s.db.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(t.Context()) }()
		if _, err := tx.Exec(t.Context(), `LOCK TABLE requests IN SHARE MODE`); err != nil {
			t.Fatal(err)
		}
		inside := make(chan answer, 1)
		go func() { inside <- s.ask(t, sent{target: "/v1/customers", body: "name=Jim"}) }()
		await(t, "the first waits for the table", func() bool {
			var waits bool
			err := s.db.Pool.QueryRow(t.Context(), `
				SELECT EXISTS (SELECT FROM pg_locks
				       WHERE NOT granted AND relation = 'requests'::regclass)`).Scan(&waits)
			return err == nil && waits
		})
		shed := []answer{s.ask(t, sent{target: "/v1/customers", header: header("Idempotency-Key", "new")}),
			s.ask(t, sent{target: "/v1/customers"})}
		again := s.ask(t, sent{target: "/v1/customers", body: "name=Jenny", header: key})
		list := s.ask(t, sent{method: http.MethodGet, target: "/v1/customers"})
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}

		for _, a := range shed {
			requireRefusal(t, a, refused{status: http.StatusServiceUnavailable, want: fault{Type: "api_error"}})
			if a.header.Get("Stripe-Should-Retry") != "true" || !strings.Contains(a.fault.Message, "Nothing was done") {
				t.Errorf("clients are not told to come back: %v %s", a.header, a.body)
			}
		}
		if string(again.body) != string(done.body) || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the replay was answered %d %s", again.status, again.body)
		}
		if list.status != http.StatusOK {
			t.Errorf("the list was answered %d %s", list.status, list.body)
		}
		// It had a slot. On a machine that stood still it may have waited for the lock too long.
		a := <-inside
		if a.status == http.StatusOK {
			stored++
		} else if a.fault.Code != "lock_timeout" {
			t.Errorf("who was inside was answered %d %s", a.status, a.body)
		}
		if n := s.requests(t); n != stored {
			t.Errorf("%d requests are stored, want %d", n, stored)
		}
		a = s.ask(t, sent{target: "/v1/customers", header: header("Idempotency-Key", "new")})
		if a.status != http.StatusOK {
			t.Errorf("who was turned away and comes back is answered %d %s", a.status, a.body)
		}
	})

	t.Run("a request that waits for the acquirer takes no slot", func(t *testing.T) {
		t.Parallel()
		s := newEnv(t, narrow)
		first, goOn := s.start(t, sent{target: "/v1/charges", body: mug})
		if a := s.ask(t, sent{target: "/v1/charges", body: mug}); a.status != http.StatusOK {
			t.Errorf("another charge was answered %d %s", a.status, a.body)
		}
		goOn()
		if a := <-first; a.status != http.StatusOK {
			t.Errorf("the first was answered %d %s", a.status, a.body)
		}
	})

	t.Run("a read that takes too long is given up", func(t *testing.T) {
		t.Parallel()
		s := newEnv(t, func(c *process.Config) { c.Limits.API.ReadTime = 100 * time.Millisecond })
		tx, err := s.db.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(t.Context()) }()
		if _, err := tx.Exec(t.Context(), `LOCK TABLE customers IN ACCESS EXCLUSIVE MODE`); err != nil {
			t.Fatal(err)
		}
		a := s.ask(t, sent{method: http.MethodGet, target: "/v1/customers"})
		requireRefusal(t, a, refused{status: http.StatusServiceUnavailable, want: fault{Type: "api_error"}})
	})

	t.Run("reads that find no slot are turned away, and work goes on", func(t *testing.T) {
		t.Parallel()
		s := newEnv(t, func(c *process.Config) { c.Limits.ConcurrentReads, c.Limits.Queue = 1, 0 })
		tx, err := s.db.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(t.Context()) }()
		if _, err := tx.Exec(t.Context(), `LOCK TABLE refunds IN ACCESS EXCLUSIVE MODE`); err != nil {
			t.Fatal(err)
		}
		list := sent{method: http.MethodGet, target: "/v1/refunds"}
		inside := make(chan answer, 1)
		go func() { inside <- s.ask(t, list) }()
		await(t, "the first list waits for the table", func() bool {
			var waits bool
			err := s.db.Pool.QueryRow(t.Context(), `
				SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'refunds'::regclass)`).Scan(&waits)
			return err == nil && waits
		})
		requireRefusal(t, s.ask(t, list),
			refused{status: http.StatusServiceUnavailable, want: fault{Type: "api_error"}})
		if a := s.ask(t, sent{target: "/v1/customers"}); a.status != http.StatusOK {
			t.Errorf("a customer was answered %d %s", a.status, a.body)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-inside // in time or not: it was the one inside
	})

	t.Run("an account that writes slowly takes no slot from the others", func(t *testing.T) {
		t.Parallel()
		s := newEnv(t, func(c *process.Config) {
			c.Limits.ConcurrentWrites, c.Limits.AccountWrites, c.Limits.Queue = 4, 2, 0
		})
		tx, err := s.db.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(t.Context()) }()
		if _, err := tx.Exec(t.Context(), `
			SET LOCAL idle_in_transaction_session_timeout = 0;
			LOCK TABLE products IN ACCESS EXCLUSIVE MODE`); err != nil {
			t.Fatal(err)
		}
		stop := s.flood(t, sent{target: "/v1/products", body: "name=Mug"})
		defer stop()
		for range 20 {
			a := s.ask(t, sent{as: "kites", target: "/v1/customers"})
			if a.status != http.StatusOK {
				t.Fatalf("another account's customer is answered %d %s", a.status, a.body)
			}
		}
	})

	t.Run("an account that reads slowly, or searches, takes no slot from the others", func(t *testing.T) {
		t.Parallel()
		for name, slow := range map[string]string{
			"lists":    "/v1/refunds",
			"searches": "/v1/charges/search?query=amount%3A1",
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newEnv(t, func(c *process.Config) {
					c.Limits.ConcurrentReads, c.Limits.AccountReads, c.Limits.Queue = 4, 2, 0
					c.Limits.ConcurrentSearches, c.Limits.AccountSearches = 2, 1
				})
				tx, err := s.db.Pool.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = tx.Rollback(t.Context()) }()
				if _, err := tx.Exec(t.Context(), `
					SET LOCAL idle_in_transaction_session_timeout = 0;
					LOCK TABLE refunds, charges IN ACCESS EXCLUSIVE MODE`); err != nil {
					t.Fatal(err)
				}
				stop := s.flood(t, sent{method: http.MethodGet, target: slow})
				defer stop()
				for range 20 {
					for _, target := range []string{"/v1/customers", "/v1/customers/search?query=name%3A%27x%27"} {
						a := s.ask(t, sent{as: "kites", method: http.MethodGet, target: target})
						if a.status != http.StatusOK {
							t.Fatalf("another account's %s is answered %d %s", target, a.status, a.body)
						}
					}
				}
			})
		}
	})

	t.Run("long lists of an account take turns, and its short reads do not wait for them", func(t *testing.T) {
		t.Parallel()
		s := newEnv(t, func(c *process.Config) { c.Limits.AccountLongLists, c.Limits.Queue = 1, 0 })
		tx, err := s.db.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(t.Context()) }()
		if _, err := tx.Exec(t.Context(), `
			SET LOCAL idle_in_transaction_session_timeout = 0;
			LOCK TABLE refunds IN ACCESS EXCLUSIVE MODE`); err != nil {
			t.Fatal(err)
		}
		stop := s.flood(t, sent{method: http.MethodGet, target: "/v1/refunds?limit=26"})
		defer stop()
		for range 20 {
			short := sent{method: http.MethodGet, target: "/v1/customers?limit=25"}
			if a := s.ask(t, short); a.status != http.StatusOK {
				t.Fatalf("the account's short list is answered %d %s", a.status, a.body)
			}
			long := sent{as: "kites", method: http.MethodGet, target: "/v1/customers?limit=100"}
			if a := s.ask(t, long); a.status != http.StatusOK {
				t.Fatalf("another account's long list is answered %d %s", a.status, a.body)
			}
		}
	})
}

// overhear puts a proxy between us and the acquirer who sees every question
// before it arrives.
func overhear(t *testing.T, acquirerURL string, hear func(*http.Request)) string {
	t.Helper()
	address, err := url.Parse(acquirerURL)
	if err != nil {
		t.Fatal(err)
	}
	on := httputil.NewSingleHostReverseProxy(address)
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hear(r)
		on.ServeHTTP(w, r)
	}))
	t.Cleanup(between.Close)
	return between.URL
}

// await waits for a condition, on a machine however slow.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never happened that %s", what)
		}
	}
}
