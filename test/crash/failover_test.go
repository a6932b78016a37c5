//go:build unix

package crash_test

import (
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// failover is two servers, one of which follows the other, and an installation
// that works on whichever takes writes.
func failover(
	t testing.TB, synchronous bool,
) (i *installation, primary, standby *pgtest.DurableServer, serving *crew, merchants []merchant) {
	t.Helper()
	primary = pgtest.Durable(t)
	standby = primary.Standby(synchronous)
	i = install(t, primary.Either(standby), primary.Pool, startAcquirer(t))
	for range 4 {
		merchants = append(merchants, i.merchant(t))
	}
	serving = &crew{members: []*process{i.serve(t), i.serve(t)}}
	i.work(t)
	return i, primary, standby, serving, merchants
}

// TestFailOver promotes the standby under load. make failover runs it alone.
func TestFailOver(t *testing.T) {
	t.Parallel()
	const enough = 60

	t.Run("a synchronous standby knows everything that was acknowledged", func(t *testing.T) {
		t.Parallel()
		i, primary, standby, serving, merchants := failover(t, true)
		loads := startLoad(t, serving, merchants)
		eventually(t, "there is something to lose", func() bool { return t.Failed() || finishedBy(loads) > enough })
		var struck spells
		end := struck.begin("the primary was killed")
		primary.Kill()
		standby.Promote()
		end()
		i.db = standby.Pool
		before := finishedBy(loads)
		eventually(t, "work goes on", func() bool { return t.Failed() || finishedBy(loads) > before+enough })
		all := stopLoad(loads)
		finished := i.wantFinished(t, &struck, loads)
		for _, w := range all {
			w.wantReplay(t, serving.any(), w.answer) // acknowledged before the failover, or after it
		}
		i.wantNoDoubles(t, all)
		i.wantClean(t)
		t.Logf("SUMMARY failover: %d requests answered, %d of them before it; %s", len(all), before, finished)
	})

	// The old primary does not learn that it is one no longer: the processes have to know.
	t.Run("a primary that stalls is left, and not returned to when it wakes", func(t *testing.T) {
		t.Parallel()
		i, primary, standby, serving, merchants := failover(t, true)
		loads := startLoad(t, serving, merchants)
		goesOn := func(what string) {
			before := finishedBy(loads)
			eventually(t, what, func() bool { return t.Failed() || finishedBy(loads) > before+enough })
		}
		goesOn("there is something to lose")
		var struck spells
		end := struck.begin("the primary stalled")
		thaw := primary.Freeze()
		standby.Promote()
		end()
		i.db = standby.Pool
		goesOn("work goes on")
		struck.strike("the old primary woke")
		thaw()
		goesOn("work goes on with the new primary")
		all := stopLoad(loads)
		finished := i.wantFinished(t, &struck, loads)
		for _, w := range all {
			w.wantReplay(t, serving.any(), w.answer)
		}
		i.wantNoDoubles(t, all)
		i.wantClean(t)
		t.Logf("SUMMARY failover from a stalled primary: %d requests answered; %s", len(all), finished)
	})

	// An operator, a time-out or a client that gives up cancels the wait for a standby;
	// the server then shows what no other server has.
	t.Run("nothing is answered that only the primary has while the standby is stalled", func(t *testing.T) {
		t.Parallel()
		i, primary, standby, serving, merchants := failover(t, true)
		amount := newAmount()
		w := work{charge(merchants[0], "tok_visa", amount), amount, answer{}}
		charge(merchants[1], "tok_visa", newAmount()).finally(t, serving.any())
		thaw := standby.Freeze()
		shown := false
		for range 12 {
			asked := make(chan answer, 1)
			go func() {
				a, _ := w.to(serving.any()) // an error is no answer
				asked <- a
			}()
			for done := false; !done; time.Sleep(20 * time.Millisecond) {
				number(t, primary.Pool,
					"SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
				select {
				case a := <-asked:
					done = true
					if a.status != 0 && a.final() {
						t.Fatalf("answered %s while the standby could not have it", a)
					}
				default:
				}
			}
			shown = shown ||
				number(t, primary.Pool,
					"SELECT count(*) FROM answers a JOIN requests q ON q.id = a.request_id WHERE q.key = $1",
					w.key) == 1
			if shown {
				break
			}
		}
		if !shown {
			t.Fatal("the primary never showed an answer: that proves nothing")
		}
		for range 3 { // the answer is there to be read, and must not be
			if a, err := w.to(serving.any()); err == nil && a.final() {
				t.Fatalf("answered %s while the standby could not have it", a)
			}
		}
		primary.Kill()
		thaw()
		standby.Promote()
		i.db = standby.Pool
		w.answer = w.finally(t, serving.any())
		i.wantNoDoubles(t, []work{w})
		i.wantClean(t)
	})

	t.Run("an asynchronous standby loses the last commits, and retries charge no card twice", func(t *testing.T) {
		t.Parallel()
		i, primary, standby, serving, merchants := failover(t, false)
		loads := startLoad(t, serving, merchants)
		eventually(t, "there is something to lose", func() bool { return t.Failed() || finishedBy(loads) > enough })
		standby.StopFollowing()
		known := finishedBy(loads)
		eventually(t, "there is something the standby has missed", func() bool {
			return t.Failed() || finishedBy(loads) > known+enough
		})
		all := stopLoad(loads)
		primary.Kill()
		standby.Promote()
		i.db = standby.Pool

		lost := len(all) - number(t, i.db, "SELECT count(*) FROM request_status WHERE state = 'finished'")
		if lost < enough {
			t.Fatalf("only %d answers were lost: that proves nothing", lost)
		}
		for _, w := range all {
			if w.form.Get("source") != "" || w.form.Get("payment_method") != "" {
				w.finally(t, serving.any()) // what it names may be lost, too, in the other requests
			}
		}
		i.wantNoDoubles(t, all)
		t.Logf("%d requests answered, %d of the answers lost with the primary", len(all), lost)
	})
}
