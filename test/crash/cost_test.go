//go:build unix

package crash_test

import (
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// TestCost counts how often a request makes the database wait for its disk,
// by the server's own statistics.
func TestCost(t *testing.T) {
	t.Parallel()
	server := pgtest.Durable(t)
	quiet(t, server.Pool)
	// The acquirer's database is on another server: its flushes are its own.
	i := install(t, server.URL, server.Pool, startAcquirer(t))
	m, listening := i.merchant(t), i.merchant(t)
	p := i.serve(t)
	made(t, request{
		merchant: listening,
		path:     "/v1/webhook_endpoints",
		form:     url.Values{"url": {"https://shop.example.com/"}, "enabled_events[]": {"*"}},
		key:      newKey(),
	}, p)
	p.leave() // the operations are registered from now on, which costs commits once
	const times = 50

	// cost is how often the disk was waited for while a process did something.
	cost := func(t *testing.T, do func(p *process)) (syncs, commits int) {
		t.Helper()
		before := i.statistics(t)
		p := i.serve(t)
		do(p)
		p.leave() // its sessions report what they did when they end
		after := i.statistics(t)
		return after.syncs - before.syncs, after.commits - before.commits
	}
	measure := func(name string, want int, do func(t *testing.T, p *process)) {
		t.Run(name, func(t *testing.T) {
			syncs, commits := cost(t, func(p *process) { do(t, p) })
			t.Logf("%d requests: %d flushes, %d transactions, reads and signs of life included", times, syncs, commits)
			if commits < times {
				t.Fatalf("the statistics know of %d transactions for %d requests: they are not complete", commits,
					times)
			}
			// A process that comes and goes costs a few itself. Now and then the log
			// writer flushes in the background, or two flushes fall together.
			if off := syncs - want*times; off < -times/5 || off > times/5 {
				t.Errorf("a request waits for the disk %.2f times, want %d", float64(syncs)/times, want)
			}
		})
	}
	each := func(status int, make func(n int) request) func(t *testing.T, p *process) {
		return func(t *testing.T, p *process) {
			for n := range times {
				a, err := make(n).to(p)
				if err != nil || a.status != status {
					t.Fatalf("answered %s, %v", a, err)
				}
			}
		}
	}

	first := charge(m, "tok_visa", newAmount())
	other := charge(m, "tok_visa", newAmount())
	other.key = first.key
	measure("a charge is two synchronous commits", 2, each(http.StatusOK, func(n int) request {
		if n == 0 {
			return first
		}
		return charge(m, "tok_visa", newAmount())
	}))
	measure("a charge that a webhook tells of is two as well", 2, each(http.StatusOK, func(int) request {
		return charge(listening, "tok_visa", newAmount())
	}))
	measure("a customer is one", 1, each(http.StatusOK, func(int) request {
		return request{merchant: m, path: "/v1/customers", form: url.Values{"name": {"Jenny Rosen"}}, key: newKey()}
	}))
	measure("an intent that is created and paid is two", 2, each(http.StatusOK, func(int) request {
		return intent(m, "pm_card_visa", "automatic", newAmount())
	}))
	measure("an intent whose confirmation is refused is one", 1, each(http.StatusBadRequest, func(int) request {
		r := intent(m, "pm_card_visa", "automatic", newAmount())
		r.form.Del("payment_method_types[]") // then it needs a return_url
		return r
	}))
	measure("a replay is none", 0, each(http.StatusOK, func(int) request { return first }))
	measure("a mismatch is none", 0, each(http.StatusBadRequest, func(int) request { return other }))
	measure("a charge under way costs those who come meanwhile none", 0, func(t *testing.T, p *process) {
		r := charge(m, "tok_visa", newAmount())
		var asking sync.WaitGroup
		i.acquirer.signal(syscall.SIGSTOP) // the charge is under way for as long as the others need
		asking.Go(func() {
			if a, err := r.to(p); err != nil || a.status != http.StatusOK {
				t.Errorf("the first request was answered %s, %v", a, err)
			}
		})
		defer asking.Wait()
		defer i.acquirer.signal(syscall.SIGCONT)
		eventually(t, "the charge is under way", func() bool {
			return number(t, i.db, "SELECT count(*) FROM requests WHERE key = $1", r.key) == 1
		})
		each(http.StatusConflict, func(int) request { return r })(t, p)
	})
}

// quiet ends what the server does in the background, as far as it can be ended.
// The liveness rows commit without waiting for the disk; the log writer would
// flush them five times a second and be counted with the rest.
func quiet(t testing.TB, db *pgxpool.Pool) {
	t.Helper()
	for setting, value := range map[string]string{
		"autovacuum":             "off",
		"checkpoint_timeout":     "1h",
		"max_wal_size":           "4GB",
		"wal_writer_delay":       "10s",
		"wal_writer_flush_after": "1GB",
	} {
		if _, err := db.Exec(t.Context(), "ALTER SYSTEM SET "+setting+" = '"+value+"'"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec(t.Context(), "SELECT pg_reload_conf()"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server has read its settings", func() bool {
		return number(t, db, "SELECT setting::int FROM pg_settings WHERE name = 'wal_writer_delay'") == 10_000
	})
}

// statistics are the server's counters.
type statistics struct{ syncs, commits int }

const serverVersion = "SELECT current_setting('server_version_num')::int"

// From version 18 on the flushes of sessions stand apart from those of the server's own processes.
const (
	syncsOfTheServer = "SELECT wal_sync FROM pg_stat_wal"
	syncsOfSessions  = "SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal' AND backend_type = 'client backend'"
)

// statistics waits until the processes' sessions have ended, and with that
// reported, and reads the counters.
func (i *installation) statistics(t testing.TB) (s statistics) {
	t.Helper()
	eventually(t, "no session of ours is left", func() bool {
		return number(t, i.db, "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'ratchet%'") == 0
	})
	query := syncsOfTheServer
	if number(t, i.db, serverVersion) >= 180_000 {
		query = syncsOfSessions
	}
	s.syncs = number(t, i.db, query)
	s.commits = number(t, i.db, "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
	return s
}
