package daysum_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ratchet-pay/ratchet/internal/daysum"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// everyCharge adds the three parts of an account's charges up, and all of them one by one.
const everyCharge = `
	WITH parts AS (
		SELECT currency, day, tried, approved, captured, amount FROM charge_days WHERE account_id = 'acct_1'
		UNION ALL
		SELECT c.currency, c.day, c.tried, c.approved, c.captured, c.amount
		FROM charges_to_count w JOIN charge_counts c USING (account_id, id)
		UNION ALL
		SELECT currency, day, tried, approved, captured, amount FROM charge_counts
		WHERE id >= coalesce((SELECT charges_before FROM counted WHERE account_id = 'acct_1'), '')
	), summed AS (
		SELECT currency, day, sum(tried), sum(approved), sum(captured), sum(amount) FROM parts GROUP BY 1, 2
	), plainly AS (
		SELECT currency, (created_at AT TIME ZONE 'UTC')::date AS day, count(*) FILTER (WHERE status <> 'pending'),
		       count(*) FILTER (WHERE status = 'succeeded'), count(*) FILTER (WHERE captured), sum(amount_captured)
		FROM charges GROUP BY 1, 2
	)
	SELECT (SELECT count(*) FROM (TABLE summed EXCEPT TABLE plainly) x)
	     + (SELECT count(*) FROM (TABLE plainly EXCEPT TABLE summed) x)`

type bundle struct {
	*pgtest.DB
	next int
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{DB: pgtest.New(t)}
	b.exec(t, `INSERT INTO accounts (id, name) VALUES ('acct_1', 'Shop')`)
	return b
}

func (b *bundle) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := b.Pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

const (
	pending  = `'pending', NULL, false, 0, NULL, NULL`
	failed   = `'failed', 'card_declined', false, 0, NULL, NULL`
	held     = `'succeeded', NULL, false, 0, NULL, now() + interval '5 days'`
	captured = `'succeeded', NULL, true, 700, 'txn_' || n, NULL`
)

// charge makes n charges of that age, and returns the ID of the first.
func (b *bundle) charge(t *testing.T, db execer, state string, age time.Duration, n int) string {
	t.Helper()
	first := b.next
	b.next += n
	at := time.Now().Add(-age)
	sql := fmt.Sprintf(`
		INSERT INTO charges (account_id, id, livemode, request_id, amount, currency, card, acquirer_reference,
		                     created_at, status, failure_code, captured, amount_captured, balance_transaction,
		                     capture_before)
		SELECT 'acct_1', $1 || to_char(n, 'FM0000000000000000'), false, 'req_' || n, 700, 'usd', '{}', 'auth_' || n, $2,
		       %s FROM generate_series($3::integer, $4) n`, state)
	if _, err := db.Exec(t.Context(), sql, daysum.ChargeAt(at), at, first, first+n-1); err != nil {
		t.Fatal(err)
	}
	return daysum.ChargeAt(at) + fmt.Sprintf("%016d", first)
}

// count runs the worker's rounds until one finds nothing to do.
func (b *bundle) count(t *testing.T, c *daysum.Counter) (steps int) {
	t.Helper()
	for idle, end := 0, time.Now().Add(time.Minute); idle < 3; idle++ {
		n, err := c.Count(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			steps, idle = steps+n, 0
		}
		if time.Now().After(end) {
			t.Fatal("there is something to count after a minute")
		}
	}
	var wrong int
	if err := b.Pool.QueryRow(t.Context(), everyCharge).Scan(&wrong); err != nil || wrong > 0 {
		t.Errorf("%d sums of days are not those of the charges (%v)", wrong, err)
	}
	return steps
}

func (b *bundle) one(t *testing.T, sql string) (n int) {
	t.Helper()
	if err := b.Pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestCount(t *testing.T) {
	t.Parallel()
	const waits = "SELECT count(*) FROM charges_to_count"
	const inDays = `SELECT coalesce(sum(tried), 0)::integer FROM charge_days`

	t.Run("what is an hour old is in the sum of its day", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		c := daysum.NewCounter(b.PoolAs(t, "ratchet_worker"))
		for _, age := range []time.Duration{90 * 24 * time.Hour, 26 * time.Hour, 2 * time.Hour, 30 * time.Minute, 0} {
			b.charge(t, b.Pool, captured, age, 3)
			b.charge(t, b.Pool, failed, age, 2)
		}
		eventuallyCounts(t, b, c)
		if got := b.one(t, inDays); got != 15 {
			t.Errorf("%d charges are in sums of days, want the 15 that are older than an hour", got)
		}
	})

	t.Run("a charge that can still change waits, and is counted once it cannot", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		c := daysum.NewCounter(b.PoolAs(t, "ratchet_worker"))
		kept, open := b.charge(t, b.Pool, held, 3*time.Hour, 1), b.charge(t, b.Pool, pending, 3*time.Hour, 1)
		b.charge(t, b.Pool, captured, 3*time.Hour, 1)
		eventuallyCounts(t, b, c)
		if got, waiting := b.one(t, inDays), b.one(t, waits); got != 1 || waiting != 2 {
			t.Errorf("%d charges are counted and %d wait, want 1 and 2", got, waiting)
		}
		b.exec(t, `UPDATE charges SET captured = true, amount_captured = 500, balance_transaction = 'txn_late'
			WHERE id = $1`, kept)
		eventuallyCounts(t, b, c)
		b.exec(t, `UPDATE charges SET status = 'failed', failure_code = 'card_declined' WHERE id = $1`, open)
		eventuallyCounts(t, b, c)
		if got, waiting := b.one(t, inDays), b.one(t, waits); got != 3 || waiting != 0 {
			t.Errorf("%d charges are counted and %d wait, want 3 and 0", got, waiting)
		}
	})

	t.Run("many are counted in steps, and two workers count each once", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.charge(t, b.Pool, captured, 50*time.Hour, 12_000)
		var workers sync.WaitGroup
		var counted atomic.Bool // by either: it may have left nothing to the other
		for range 2 {
			c := daysum.NewCounter(b.PoolAs(t, "ratchet_worker"))
			workers.Go(func() {
				for end := time.Now().Add(5 * time.Minute); time.Now().Before(end) && !counted.Load(); {
					steps, err := c.Count(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					if steps > 0 {
						counted.Store(true)
						return
					}
				}
			})
		}
		workers.Wait()
		b.count(t, daysum.NewCounter(b.PoolAs(t, "ratchet_worker")))
		if got := b.one(t, inDays); got != 12_000 {
			t.Errorf("%d charges are counted, want 12,000", got)
		}
	})

	t.Run("nothing is counted past a transaction that is under way", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		c := daysum.NewCounter(b.PoolAs(t, "ratchet_worker"))
		late, err := b.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.charge(t, late, captured, 2*time.Hour, 1)
		b.charge(t, b.Pool, captured, 2*time.Hour, 1)
		if steps := b.count(t, c); steps != 0 {
			t.Errorf("%d steps counted while a charge of that time was under way", steps)
		}
		if err := late.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventuallyCounts(t, b, c)
		if got := b.one(t, inDays); got != 2 {
			t.Errorf("%d charges are counted, want both", got)
		}
	})
}

// eventuallyCounts waits for the transactions of other databases on the server, which end sooner or later.
func eventuallyCounts(t *testing.T, b *bundle, c *daysum.Counter) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); b.count(t, c) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing was counted within five minutes")
		}
	}
}

func TestCountAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := daysum.NewCounter(b.PoolAs(t, "ratchet_worker"))
	b.exec(t, `
		DO $$ DECLARE month regclass; BEGIN
			FOR month IN SELECT conrelid FROM pg_constraint WHERE conname = 'webhook_deliveries_event_exists' LOOP
				EXECUTE format('ALTER TABLE %s DROP CONSTRAINT webhook_deliveries_event_exists', month);
			END LOOP;
		END $$;
		INSERT INTO webhook_endpoints (account_id, id, livemode, request_id, url, enabled_events, slot, listener,
		                               created_at, changed_at)
		VALUES ('acct_1', 'we_1', false, 'req_1', 'https://example.com', '{*}', 1, false, now(), now()),
		       ('acct_1', 'we_cli', false, 'req_2', 'https://example.com', '{*}', 17, true, now(), now())`)
	attempts := func(endpoint string, first, n int, age time.Duration, ended string) {
		b.exec(t, `INSERT INTO webhook_deliveries (account_id, event_id, endpoint_id, due_at, created_at)
			SELECT 'acct_1', 'evt_' || n, $1, now(), now() FROM generate_series($2::integer, $3) n`,
			endpoint, first, first+n-1)
		b.exec(t, `INSERT INTO webhook_attempts
				(account_id, event_id, endpoint_id, attempt, started_at, ended_at, status)
			SELECT 'acct_1', 'evt_' || n, $1, 1, $4, `+ended+` FROM generate_series($2::integer, $3) n`,
			endpoint, first, first+n-1, time.Now().Add(-age))
	}
	const counted = `SELECT coalesce(sum(10000 * tried + acknowledged), 0)::integer FROM attempt_days`
	attempts("we_1", 1, 7000, 5*time.Hour, "now(), 200") // more than a step, at one time
	attempts("we_1", 8001, 10, 3*time.Hour, "now(), 500")
	attempts("we_1", 9001, 1, 2*time.Hour, "NULL::timestamptz, NULL::smallint")
	attempts("we_1", 9501, 5, time.Minute, "now(), 200")
	attempts("we_cli", 1, 4, 3*time.Hour, "now(), 200")
	eventuallyCounts(t, b, c)
	if got := b.one(t, counted); got != 7010_7000 {
		t.Errorf("counted %d, want 7010 attempts and 7000 acknowledged", got)
	}
	b.exec(t, `UPDATE webhook_attempts SET ended_at = now(), status = 204 WHERE ended_at IS NULL`)
	eventuallyCounts(t, b, c)
	if got := b.one(t, counted); got != 7011_7001 {
		t.Errorf("counted %d, want the one that has ended, too", got)
	}
}

type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}
