// Package acquirertest states what every adapter of the acquirer port must do
// (Conformance), and starts an acquirer for a test: the real simulator over real
// HTTP, in this process.
package acquirertest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/acquirer/simulator"
)

const secret = "acquirer_test_secret"

// Sim is an acquirer that lives as long as its test. It allows faults.
type Sim struct {
	t      testing.TB
	sim    *simulator.Simulator
	server *httptest.Server
	stall  atomic.Pointer[stall]
}

// stall keeps one request waiting.
type stall struct{ begun, over chan struct{} }

// Start runs an acquirer on a loopback port. It keeps to its own schema of the
// database, which may also be the one under test.
func Start(t testing.TB, databaseURL string) *Sim {
	t.Helper()
	sim, err := simulator.New(t.Context(),
		simulator.Config{DatabaseURL: databaseURL, Secret: secret, AllowFault: true})
	if err != nil {
		t.Fatalf("start the acquirer: %v", err)
	}
	s := &Sim{t: t, sim: sim}
	handler := sim.Handler()
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != acquirer.SettlementPath { // a worker reads the file when it likes
			s.stallOne()
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.server.Close()
		sim.Close()
	})
	return s
}

func (s *Sim) stallOne() {
	if waits := s.stall.Swap(nil); waits != nil {
		close(waits.begun)
		<-waits.over
	}
}

// Stall keeps the next request about a card or a payout waiting before anything is
// done for it. begun is closed when it has arrived; goOn lets it act, at the latest
// when the test ends. Longer than the client's timeout is too long.
func (s *Sim) Stall(t testing.TB) (begun <-chan struct{}, goOn func()) {
	waits := &stall{make(chan struct{}), make(chan struct{})}
	goOn = sync.OnceFunc(func() { close(waits.over) })
	t.Cleanup(goOn)
	s.stall.Store(waits)
	return waits.begun, goOn
}

// URL is where it listens.
func (s *Sim) URL() string { return s.server.URL }

// Secret is what clients present.
func (s *Sim) Secret() string { return secret }

// Notify has notifications posted to an API from now on, signed with Secret.
func (s *Sim) Notify(url string) { s.sim.Notify(url+acquirer.NotificationsPath, secret) }

// Settle pays what is owed now.
func (s *Sim) Settle(t testing.TB) {
	t.Helper()
	if err := s.sim.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// WaitUntilNotified has all there is to tell posted to an API, signed with Secret, and
// waits until it is acknowledged: after that only the test works on the books.
// Notifications are sent at no other time. A notice that overtakes the answer it speaks of
// is kept for a worker, and most tests have none.
func (s *Sim) WaitUntilNotified(t testing.TB, url string) {
	t.Helper()
	s.Notify(url)
	defer s.sim.Notify("", "")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		left, err := s.sim.Unacknowledged(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d notifications not acknowledged after a minute", left)
		}
	}
}

// Client returns a new client of it, with its own connections and breaker.
func (s *Sim) Client() *acquirer.Client {
	client := acquirer.NewClient(acquirer.Config{URL: s.URL(), Secret: secret})
	s.t.Cleanup(client.Close)
	return client
}

// Subject is a client of it, for Conformance.
func (s *Sim) Subject(t testing.TB) Subject {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	unreachable := acquirer.NewClient(acquirer.Config{URL: gone.URL, Secret: secret})
	t.Cleanup(unreachable.Close)
	return Subject{
		Adapter:     s.Client(),
		Unreachable: unreachable,
		Merchant:    "acct_conformance",
		Card:        "visa",
		Declined:    "visa_chargeDeclined",
		Account:     "ba_us",
		LoseOrder: func(ctx context.Context) context.Context {
			return acquirer.WithFault(ctx, "drop_before_acting")
		},
		LoseAnswer: func(ctx context.Context) context.Context {
			return acquirer.WithFault(ctx, "drop_after_acting")
		},
		Notify: func(t *testing.T, url, secret string) {
			s.sim.Notify(url, secret)
			t.Cleanup(func() { s.sim.Notify("", "") })
		},
		Settle: func(t *testing.T) { s.Settle(t) },
	}
}

// Fault replaces what goes wrong with every request from now on, such as
// "drop_after_acting=0.2", or "retire_key*1" for the next request only; "" ends it.
func (s *Sim) Fault(t testing.TB, text string) {
	t.Helper()
	err := s.sim.SetFault(text)
	if err != nil {
		t.Fatal(err)
	}
}

// Movements is all that the acquirer did or declined to do, oldest first.
func (s *Sim) Movements(t testing.TB) []simulator.Movement {
	t.Helper()
	// Not the test's context: a cleanup that looks at the journal runs after that has ended.
	found, err := s.sim.Journal(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Holds counts how often a card was held or charged: the authorizations that
// acted, whether or not they were captured or reversed later.
func (s *Sim) Holds() int {
	s.t.Helper()
	return s.CountByVerb(s.t)[acquirer.VerbAuthorize]
}

// CountByVerb counts what happened to cards by what was asked for. Declines are
// not counted, and reversals are under "reverse".
func (s *Sim) CountByVerb(t testing.TB) map[acquirer.Verb]int {
	t.Helper()
	count := map[acquirer.Verb]int{}
	for _, m := range s.Movements(t) {
		if m.Moved() {
			count[acquirer.Verb(m.Verb)]++
		}
	}
	return count
}
