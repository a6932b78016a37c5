//go:build unix

package crash_test

import (
	"testing"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// failover is two servers, one of which follows the other, and an installation
// that works on whichever takes writes.
func failover(t testing.TB, synchronous bool) (i *installation, primary, standby *pgtest.DurableServer, serving *crew, merchants []merchant) {
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
		primary.Kill()
		standby.Promote()
		i.db = standby.Pool
		before := finishedBy(loads)
		eventually(t, "work goes on", func() bool { return t.Failed() || finishedBy(loads) > before+enough })
		all := stopLoad(loads)
		eventually(t, "everything is finished", func() bool {
			return number(t, i.db, "SELECT count(*) FROM request_status WHERE state NOT IN ('finished', 'archived')") == 0
		})
		for _, w := range all {
			w.wantReplay(t, serving.any(), w.answer) // acknowledged before the fail-over, or after it
		}
		i.wantNoDoubles(t, all)
		i.wantClean(t)
		t.Logf("%d requests answered, %d of them before the fail-over", len(all), before)
	})

	t.Run("an asynchronous standby forgets the last of it, and the same retries charge nobody twice", func(t *testing.T) {
		t.Parallel()
		i, primary, standby, serving, merchants := failover(t, false)
		loads := startLoad(t, serving, merchants)
		eventually(t, "there is something to lose", func() bool { return t.Failed() || finishedBy(loads) > enough })
		standby.StopFollowing()
		known := finishedBy(loads)
		eventually(t, "there is something the standby has missed", func() bool { return t.Failed() || finishedBy(loads) > known+enough })
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
