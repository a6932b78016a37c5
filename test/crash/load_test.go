//go:build unix

package crash_test

import (
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer/simulator"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/verify"
)

// crew are the processes that answer the API, some of which may be dead.
type crew struct {
	mu      sync.Mutex
	members []*process
}

func (c *crew) any() *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members[rand.IntN(len(c.members))]
}

func (c *crew) replace(n int, p *process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members[n] = p
}

// work is a request of a client's, and the answer it was given.
type work struct {
	request
	amount int64
	answer answer
}

// load is clients that pay, hold, capture and refund, and ask again until they
// have an answer, from any process.
type load struct {
	t        testing.TB
	crew     *crew
	merchant merchant
	waits    time.Duration // for an answer
	enough   atomic.Bool   // no more turns
	over     atomic.Bool   // no more tries either
	finished atomic.Int64
	all      sync.WaitGroup

	mu    sync.Mutex
	done  []work
	spans []span // of done
}

// span is the time from a client's first attempt to its answer.
type span struct{ began, ended time.Time }

func startLoad(t testing.TB, c *crew, merchants []merchant) []*load {
	return startSlowLoad(t, c, merchants, timeout)
}

func startSlowLoad(t testing.TB, c *crew, merchants []merchant, waits time.Duration) []*load {
	loads := make([]*load, len(merchants))
	t.Cleanup(func() { // a test that fails does not wait for its load, but the load must not outlive it
		for _, l := range loads {
			l.over.Store(true)
		}
		stopLoad(loads)
	})
	for n, m := range merchants {
		l := &load{t: t, crew: c, merchant: m, waits: waits}
		loads[n] = l
		l.all.Go(func() {
			for turn := n; !l.enough.Load(); turn++ {
				l.turn(turn)
			}
		})
	}
	return loads
}

// turn is one of the things a merchant's clients do. Amounts are never used
// twice, so that the acquirer's journal says what happened to each card.
func (l *load) turn(n int) {
	amount := newAmount()
	switch n % 4 {
	case 0:
		l.do(charge(l.merchant, "tok_visa", amount), amount)
	case 1:
		l.do(intent(l.merchant, "pm_card_visa", "automatic", amount), amount)
	case 2:
		if held := l.do(intent(l.merchant, "pm_card_visa", "manual", amount), amount); held != "" {
			l.do(request{
				merchant: l.merchant,
				path:     "/v1/payment_intents/" + held + "/capture",
				form:     url.Values{},
				key:      newKey(),
			}, amount)
		}
	case 3:
		if sold := l.do(charge(l.merchant, "tok_visa", amount), amount); sold != "" {
			l.do(request{merchant: l.merchant, path: "/v1/refunds", form: url.Values{"charge": {sold}}, key: newKey()},
				amount)
		}
	}
}

// do sends a request to a live server until it is answered, and returns the id of
// what it made.
func (l *load) do(r request, amount int64) string {
	began := time.Now()
	for deadline := began.Add(l.waits); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if l.over.Load() {
			return ""
		}
		a, err := r.to(l.crew.any())
		if err != nil || !a.final() {
			continue
		}
		if a.status != http.StatusOK {
			l.t.Errorf("%s %s was answered %s", r.path, r.key, a)
			return ""
		}
		l.mu.Lock()
		l.done = append(l.done, work{r, amount, a})
		l.spans = append(l.spans, span{began, time.Now()})
		l.mu.Unlock()
		l.finished.Add(1)
		return a.id()
	}
	l.t.Errorf("no answer to %s %s for %s", r.path, r.key, l.waits)
	return ""
}

func finishedBy(loads []*load) (n int64) {
	for _, l := range loads {
		n += l.finished.Load()
	}
	return n
}

func stopLoad(loads []*load) (all []work) {
	for _, l := range loads {
		l.enough.Store(true)
	}
	for _, l := range loads {
		l.all.Wait()
		all = append(all, l.done...)
	}
	return all
}

// wantNoDoubles compares each amount with what the acquirer says of it: taken
// once, or held and captured once, or taken and given back once.
func (i *installation) wantNoDoubles(t testing.TB, all []work) {
	t.Helper()
	keys := map[int64]string{}
	for _, w := range all {
		keys[w.amount] = w.key
	}
	rows, err := i.acquirer.journal.Query(t.Context(), `
		SELECT amount, kind, count(*) FROM acquirer.movements WHERE kind IN ('sale', 'hold', 'capture', 'refund')
		GROUP BY amount, kind HAVING count(*) > 1`)
	if err != nil {
		t.Fatal(err)
	}
	var amount, moved int64
	var kind string
	_, err = pgx.ForEachRow(rows, []any{&amount, &kind, &moved}, func() error {
		t.Errorf("the card of %q (%d) saw %d times: %s", keys[amount], amount, moved, kind)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wantClean runs verify over both sides.
func (i *installation) wantClean(t testing.TB) {
	t.Helper()
	report, err := verify.Run(t.Context(), verify.Config{
		Pool:      i.db,
		Acquirer:  simulator.Records{DB: i.acquirer.journal},
		AuditKeys: secret.Root(rootSecret).Keys(secret.AuditChain),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		if len(c.Violations) > 0 || c.Unchecked != "" {
			t.Errorf("%s: %v %s", c.Rule, c.Violations, c.Unchecked)
		}
	}
}
