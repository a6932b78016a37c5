//go:build unix

package crash_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
)

// The time in which what was under way at a fault is finished after its end, on an idle machine.
const (
	finishedInMedian = 5 * time.Second
	finishedAtLast   = 15 * time.Second

	// calmOnIdle is what the slowest requests but one in twenty take that no fault touches, on an idle machine. Where
	// they take longer the machine is slow, and it is given as many times longer for those that a fault touched.
	calmOnIdle = 500 * time.Millisecond

	// tooSlow is how many times calmOnIdle a machine may take and still be judged. On a slower one, servers take
	// seconds to accept a connection, and meet the timeouts that are meant for failed ones.
	tooSlow = 3
)

// spell is the time that a fault lasts. A process that is killed is a fault without length.
type spell struct {
	name         string
	began, ended time.Time
}

// spells are the faults of a test, in their order.
type spells struct {
	mu  sync.Mutex
	all []spell
}

// begin begins a fault. The function that it returns ends it.
func (s *spells) begin(name string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.all)
	s.all = append(s.all, spell{name: name, began: time.Now()})
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all[n].ended = time.Now()
	}
}

// strike is a fault that is over at once.
func (s *spells) strike(name string) { s.begin(name)() }

// recovery is how long requests took after the last fault that they met.
type recovery struct {
	touched []time.Duration          // from the end of the last fault that a request met to its answer
	calm    []time.Duration          // requests that met none
	slowest map[string]time.Duration // of touched, for each fault
}

func (s *spells) recovery(loads []*load) recovery {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := recovery{slowest: map[string]time.Duration{}}
	for _, l := range loads {
		l.mu.Lock()
		for _, asked := range l.spans {
			met := slices.DeleteFunc(slices.Clone(s.all), func(f spell) bool {
				return f.began.After(asked.ended) || f.ended.Before(asked.began)
			})
			if len(met) == 0 {
				r.calm = append(r.calm, asked.ended.Sub(asked.began))
				continue
			}
			last := slices.MaxFunc(met, func(a, b spell) int { return a.ended.Compare(b.ended) })
			late := max(0, asked.ended.Sub(last.ended))
			r.touched = append(r.touched, late)
			r.slowest[last.name] = max(r.slowest[last.name], late)
		}
		l.mu.Unlock()
	}
	return r
}

// wantFinished waits until every request is finished, and wants those that met a fault to have been finished soon
// after its end. It returns the figures for the summary.
func (i *installation) wantFinished(t testing.TB, s *spells, loads []*load) string {
	t.Helper()
	began := time.Now()
	eventually(t, "everything is finished", func() bool {
		return number(t, i.db, "SELECT count(*) FROM request_status WHERE state NOT IN ('finished', 'archived')") == 0
	})
	left := time.Since(began) // by clients that gave up: each is one more that was late
	r := s.recovery(loads)
	if len(r.touched) == 0 || len(r.calm) == 0 {
		t.Fatalf("%d requests met a fault and %d met none: that proves nothing", len(r.touched), len(r.calm))
	}
	slices.Sort(r.calm)
	calm := r.calm[len(r.calm)*95/100]
	slow := max(1, float64(calm)/float64(calmOnIdle))
	slices.Sort(r.touched)
	median, last := r.touched[len(r.touched)/2], max(r.touched[len(r.touched)-1], left)
	for _, bar := range []struct {
		what      string
		took, bar time.Duration
	}{{"half of", median, finishedInMedian}, {"all", last, finishedAtLast}} {
		switch allowed := time.Duration(slow * float64(bar.bar)); {
		case bar.took <= allowed:
		case slow > tooSlow:
			t.Logf("%s the requests that met a fault were finished %s after its end, on a machine too slow to judge it",
				bar.what, bar.took)
		default:
			t.Errorf("%s the requests that met a fault were finished %s after its end, want %s: %v", bar.what,
				bar.took, allowed, r.slowest)
		}
	}
	i.wantHandedOver(t)
	return fmt.Sprintf("of %d requests that met a fault half were finished %s after its end, the last %s; 95%% of %d "+
		"others took %s at most", len(r.touched), seconds(median), seconds(last), len(r.calm), seconds(calm))
}

// lateTakeOvers are those from a process that was alive and had not moved the request for as long as a lease lasts.
const lateTakeOvers = `
	SELECT t.request_id || ' of ' || q.flow || ' at ' || t.point || ', since ' || last.at || ', at ' || t.at
	FROM takeovers t
	JOIN requests q ON q.account_id = t.account_id AND q.id = t.request_id
	JOIN answers a ON a.account_id = t.account_id AND a.request_id = t.request_id
	CROSS JOIN LATERAL (
		SELECT max(moved.at) AS at
		FROM (SELECT unnest(a.reached_at)
		      UNION ALL SELECT o.at FROM takeovers o
		      WHERE o.account_id = t.account_id AND o.request_id = t.request_id) AS moved (at)
		WHERE moved.at < t.at) AS last
	WHERE t.was = 'running' AND t.seen_until > t.at AND t.at > last.at + @lease::interval`

// wantHandedOver wants no request to have waited for the end of a lease: a process that gives a request up hands it
// over, and a death shows in a second. A slow machine changes none of this.
func (i *installation) wantHandedOver(t testing.TB) {
	t.Helper()
	rows, err := i.db.Query(t.Context(), lateTakeOvers, pgx.StrictNamedArgs{"lease": idempotency.LeaseTime})
	if err != nil {
		t.Fatal(err)
	}
	late, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range late {
		t.Errorf("a request was taken from a living process when its lease ran out, want it handed over: %s", l)
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
