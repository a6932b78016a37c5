package webhook

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var shop = EndpointKey{AccountID: "acct_1", EndpointID: "we_1"}

const (
	makeEndpoint = `
		INSERT INTO webhook_endpoints (account_id, id, livemode, request_id, slot, url, enabled_events, created_at,
			changed_at)
		VALUES ('acct_1', 'we_1', false, 'req_1', 1, 'https://shop.example.com/', '{*}', now(), now())`
	makeEvents = `
		INSERT INTO events (account_id, id, livemode, type, object_id, data, api_version, request_id, created_at)
		SELECT 'acct_1', 'evt_' || n, false, 'charge.succeeded', 'ch_' || n, '{}', '', 'req_' || n, now()
		FROM generate_series(1, $1) n`
	makeDeliveries = `
		INSERT INTO webhook_deliveries (account_id, event_id, endpoint_id, due_at, created_at)
		SELECT 'acct_1', id, 'we_1', now(), now() FROM events`
	setAlive = `
		INSERT INTO workers (id, kind, host, pid, started_at, alive_until)
		VALUES ($1, 'work', '', 1, now(), $2::timestamptz)
		ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until`
)

// waiting is a database with so many deliveries to one endpoint, and two workers.
func waiting(t *testing.T, events int) (db *pgxpool.Pool, one, other *Deliverer) {
	t.Helper()
	db = pgtest.New(t).Pool
	pgtest.AllowImmortals(t, db)
	do(t, db, makeEndpoint)
	do(t, db, makeEvents, events)
	do(t, db, makeDeliveries)
	worker := func(owner string) *Deliverer {
		do(t, db, setAlive, owner, "infinity")
		return NewDeliverer(Parts{Pool: db, Keys: secret.OneKey([]byte("key")), Owner: owner,
			Log:      slog.New(slog.DiscardHandler),
			Config:   Config{Schedule: []time.Duration{time.Hour}, DisableAfter: Never},
			Disabled: func(context.Context, pgx.Tx, EndpointKey, string) error { return nil }})
	}
	return db, worker("wk_1"), worker("wk_2")
}

func do(t *testing.T, db *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func (d *Deliverer) mustClaim(t *testing.T) *claimed {
	t.Helper()
	c, err := d.claim(t.Context(), shop)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (d *Deliverer) mustRecord(t *testing.T, c *claimed, r Result) {
	t.Helper()
	if _, err := d.record(t.Context(), c, r); err != nil {
		t.Fatal(err)
	}
}

func TestLanes(t *testing.T) {
	t.Parallel()
	_, one, other := waiting(t, 30)
	var held []*claimed
	for n := range 2 * lanes {
		if c := []*Deliverer{one, other}[n%2].mustClaim(t); c != nil {
			held = append(held, c)
		}
	}
	if len(held) != lanes {
		t.Fatalf("%d deliveries of one endpoint are under way in two workers, want %d", len(held), lanes)
	}
	one.mustRecord(t, held[0], Result{Status: 500})
	if c := one.mustClaim(t); c != nil {
		t.Error("an endpoint that fails gets as many lanes as one that answers")
	}
	for _, c := range held[1:] {
		one.mustRecord(t, c, Result{Status: 500})
	}
	if first, second := one.mustClaim(t), other.mustClaim(t); first == nil || second != nil {
		t.Errorf("an endpoint that fails has one lane: %v, %v", first, second)
	}
}

func TestWhoWasOvertaken(t *testing.T) {
	t.Parallel()
	db, one, other := waiting(t, 1)
	state := func() (state string, failures int) {
		t.Helper()
		err := db.QueryRow(t.Context(), `SELECT state, failures FROM webhook_deliveries`).Scan(&state, &failures)
		if err != nil {
			t.Fatal(err)
		}
		return state, failures
	}
	slow := one.mustClaim(t)
	if err := other.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := other.mustClaim(t); c != nil {
		t.Fatal("a delivery was taken from a worker that lives")
	}
	do(t, db, setAlive, "wk_1", "-infinity")
	if err := other.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	quick := other.mustClaim(t)
	if quick == nil || quick.Attempt != 2 {
		t.Fatalf("the delivery of a worker that died is not taken over: %+v", quick)
	}
	one.mustRecord(t, slow, Result{Error: "no answer"})
	if s, failures := state(); s != Pending || failures != 0 {
		t.Errorf("a failure of who was overtaken counts: %s, %d failures", s, failures)
	}
	other.mustRecord(t, quick, Result{Status: 204})
	if s, _ := state(); s != Succeeded {
		t.Errorf("the delivery is %s", s)
	}
}

func TestAnAcknowledgmentCountsOnEveryProcess(t *testing.T) {
	t.Parallel()
	db, one, other := waiting(t, 1)
	slow := one.mustClaim(t)
	do(t, db, setAlive, "wk_1", "-infinity")
	if err := other.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	quick := other.mustClaim(t)
	one.mustRecord(t, slow, Result{Status: 200})
	other.mustRecord(t, quick, Result{Error: "no answer"})
	var state string
	err := db.QueryRow(t.Context(), `SELECT state FROM webhook_deliveries`).Scan(&state)
	if err != nil || state != Succeeded {
		t.Errorf("the delivery is %s, %v", state, err)
	}
}

func TestAnEndpointIsWokenOnce(t *testing.T) {
	t.Parallel()
	db, one, other := waiting(t, 3)
	sweeps := func(want int, why string) {
		t.Helper()
		for range 3 {
			for _, d := range []*Deliverer{one, other} {
				if err := d.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		var jobs int
		err := db.QueryRow(t.Context(), `SELECT count(*) FROM river.river_job`).Scan(&jobs)
		if err != nil || jobs != want {
			t.Errorf("there are %d jobs %s, %v; want %d", jobs, why, err, want)
		}
	}
	do(t, db, wakeLater, postgres.Args{
		"kind":        Wake{}.Kind(),
		"queue":       Queue,
		"account_id":  shop.AccountID,
		"endpoint_id": shop.EndpointID,
		"at":          time.Now().Add(time.Hour),
	})
	sweeps(1, "before anything is overdue")
	do(t, db, `UPDATE webhook_deliveries SET due_at = due_at - interval '1 minute'`)
	sweeps(2, "when all is overdue, and one is for later")
	do(t, db, `UPDATE river.river_job SET state = 'running' WHERE scheduled_at <= now()`)
	sweeps(3, "when the worker that had taken one is dead")
}

func TestAStoppedWorkerReleasesItsClaims(t *testing.T) {
	t.Parallel()
	db, one, _ := waiting(t, 3)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if more, err := one.Deliver(stopped, shop); err != nil || !more {
		t.Errorf("there is more: %t, %v", more, err)
	}
	var begun int
	if err := db.QueryRow(t.Context(), `SELECT count(*) FROM webhook_attempts`).Scan(&begun); err != nil || begun != 0 {
		t.Errorf("%d deliveries were begun, %v", begun, err)
	}
}

// TestClockFallsBack has times in the rows that lie further ahead than a worker sets
// them, as after a database whose clock was ahead has been set right.
func TestClockFallsBack(t *testing.T) {
	t.Parallel()
	sweptAndClaimed := func(t *testing.T, d *Deliverer) *claimed {
		t.Helper()
		if err := d.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		return d.mustClaim(t)
	}

	t.Run("a delivery that waits is due", func(t *testing.T) {
		t.Parallel()
		db, one, _ := waiting(t, 1)
		do(t, db, `UPDATE webhook_deliveries SET due_at = now() + interval '50 minutes'`)
		if c := sweptAndClaimed(t, one); c != nil {
			t.Fatal("a delivery that has to wait for less than the longest pause was made")
		}
		do(t, db, `UPDATE webhook_deliveries SET due_at = now() + interval '3 hours'`)
		if c := sweptAndClaimed(t, one); c == nil {
			t.Error("the delivery waits for the clock")
		}
	})

	t.Run("a claim is released", func(t *testing.T) {
		t.Parallel()
		db, one, other := waiting(t, 1)
		one.mustClaim(t)
		if c := sweptAndClaimed(t, other); c != nil {
			t.Fatal("a delivery was taken from a worker that lives")
		}
		do(t, db, `UPDATE webhook_deliveries SET claimed_until = now() + interval '1 hour'`)
		if c := sweptAndClaimed(t, other); c == nil {
			t.Error("the claim holds until the clock is there again")
		}
	})

	t.Run("a worker that is dead does not hold its claims", func(t *testing.T) {
		t.Parallel()
		db, one, other := waiting(t, 1)
		one.mustClaim(t)
		do(t, db, `UPDATE workers SET alive_until = now() + interval '1 hour' WHERE id = 'wk_1'`)
		if c := sweptAndClaimed(t, other); c == nil {
			t.Error("the worker counts as alive until the clock is there again")
		}
	})
}
