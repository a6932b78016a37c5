//go:build unix

package crash_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// TestPostgresCrash kills the database itself, under load, again and again. The
// acquirer's is another one and lives on. The longer run: make database-crashes.
func TestPostgresCrash(t *testing.T) {
	t.Parallel()
	server := pgtest.Durable(t)
	i := install(t, server.URL, server.Pool, startAcquirer(t))
	processes := []*process{i.serve(t), i.serve(t)}

	const clients, between = 8, 40
	crashes := volume(t, "RATCHET_DATABASE_CRASHES", 3)
	type charged struct {
		request
		merchant merchant
		amount   int64
		first    answer
	}
	charges := make([][]charged, clients)
	merchants := make([]merchant, clients)
	for n := range merchants {
		merchants[n] = i.merchant(t)
	}
	var finished atomic.Int64
	var enough atomic.Bool
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() {
			for turn := n; !enough.Load(); turn++ {
				c := charged{merchant: merchants[n], amount: newAmount()}
				c.request = charge(c.merchant, "tok_visa", c.amount)
				var err error
				if c.first, err = c.until(processes[turn%len(processes)]); err != nil {
					t.Error(err)
					return
				}
				charges[n] = append(charges[n], c)
				finished.Add(1)
			}
		})
	}
	stop := func() {
		enough.Store(true)
		all.Wait()
	}
	defer stop()
	for range crashes {
		after := finished.Load() + between
		eventually(t, "charges go on", func() bool { return t.Failed() || finished.Load() >= after })
		server.Kill()
		server.Restart()
		i.db = server.Pool // the old one is gone
	}
	after := finished.Load() + between
	eventually(t, "charges go on", func() bool { return t.Failed() || finished.Load() >= after })
	stop()

	for n, client := range charges {
		for _, c := range client {
			if c.first.status != http.StatusOK {
				t.Fatalf("%s was answered %s", c.key, c.first)
			}
			c.wantReplay(t, processes[0], c.first)
			c.wantReplay(t, processes[1], c.first)
			moved := number(t, i.acquirer.journal, "SELECT count(*) FROM acquirer.movements WHERE amount = $1",
				c.amount)
			if moved != 1 {
				t.Errorf("the card of %s was charged %d times", c.key, moved)
			}
		}
		for what, sql := range map[string]string{
			"charges": `
				SELECT count(*) FROM charges WHERE account_id = $1 AND status = 'succeeded' AND captured`,
			"postings":          "SELECT count(*) FROM balance_transactions WHERE account_id = $1 AND kind = 'charge'",
			"finished requests": "SELECT count(*) FROM request_status WHERE account_id = $1 AND state = 'finished'",
			"audit events": "SELECT count(*) FROM audit_events WHERE account_id = $1 AND operation NOT LIKE " +
				"'key.%'",
		} {
			if got := number(t, i.db, sql, merchants[n].account); got != len(client) {
				t.Errorf("%d %s, want one for each of %d keys", got, what, len(client))
			}
		}
	}
	asked := number(t, i.db, "SELECT count(*) FROM requests")
	open := number(t, i.db, "SELECT count(*) FROM request_status WHERE state <> 'finished'")
	if open > 0 {
		t.Errorf("%d of %d requests are unfinished", open, asked)
	}
	t.Logf("SUMMARY database crashes: %d charges over %d crashes of the database, each charged once, "+
		"each replayed twice with the same bytes", finished.Load(), crashes)
}
