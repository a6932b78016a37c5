package schema_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// aged is a database with one book, whose postings may be dated back: only time
// fills periods, and a test has none.
func aged(t *testing.T) *pgtest.DB {
	t.Helper()
	db := pgtest.New(t)
	mustExec(t, db.Pool, `
		ALTER TABLE ledger_postings DISABLE TRIGGER ledger_postings_are_dated_when_made;
		INSERT INTO accounts (id, name) VALUES ('acct_1', 'Shop');
		INSERT INTO ledger_books (account_id, livemode, currency) VALUES ('acct_1', false, 'usd')`)
	return db
}

// batch is a number of postings of book 1: the first so many seconds ago, each some
// milliseconds after the one before. One in seven takes out what one in seven brings;
// the others bring money that has to wait for some hours, more or less.
type batch struct{ first, n, ago, apart, hours int }

type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

func (b batch) post(t *testing.T, db execer) {
	t.Helper()
	const postAll = `
		INSERT INTO ledger_postings (book_id, id, source, kind, purposes, debits, credits, amounts, created_at,
			available_on, request_id)
		SELECT 1, 'txn_' || i, 'ch_' || i, CASE WHEN moves THEN 'adjustment' ELSE 'charge' END,
		       CASE WHEN moves THEN '{gross}' ELSE '{gross,stripe_fee}' END::ledger_purpose[],
		       CASE i % 7 WHEN 0 THEN '{merchant_balance}' WHEN 1 THEN '{processor_receivable}'
		       ELSE '{processor_receivable,merchant_balance}' END::ledger_account[],
		       CASE i % 7 WHEN 0 THEN '{suspense}' WHEN 1 THEN '{merchant_balance}'
		       ELSE '{merchant_balance,fee_revenue}' END::ledger_account[],
		       CASE WHEN moves THEN ARRAY[1000 + i] ELSE ARRAY[1000 + i, 59] END, at,
		           at + CASE WHEN moves THEN interval '0' ELSE make_interval(hours => $5) * (0.5 + i % 11 / 10.0) END,
		           'req_' || i
		FROM (SELECT i, i % 7 < 2 AS moves,
		    now() - make_interval(secs => $3) + (i - $1) * make_interval(secs => $4 / 1000.0) AS at
		      FROM generate_series($1::integer, $1 + $2 - 1) i) x`
	if _, err := db.Exec(t.Context(), postAll, b.first, b.n, b.ago, b.apart, b.hours); err != nil {
		t.Fatal(err)
	}
	// or adding up plainly takes seconds
	if _, err := db.Exec(t.Context(), `ANALYZE ledger_postings, ledger_swept`); err != nil {
		t.Fatal(err)
	}
}

// The ledger's functions and views are held to all postings, taken one by one.
const (
	nets = `
		WITH net AS (
			SELECT p.id, p.available_on,
			       sum(CASE WHEN l.credit = 'merchant_balance' THEN l.amount WHEN l.debit = 'merchant_balance'
			           THEN -l.amount END) AS net
			FROM ledger_postings p JOIN ledger_legs l ON l.book_id = p.book_id AND l.posting_id = p.id
			WHERE p.book_id = 1 GROUP BY p.id, p.available_on)`
	balancePlainly = nets + `
		SELECT coalesce(sum(net) FILTER (WHERE net < 0 OR available_on <= t.at), 0)::bigint,
		       coalesce(sum(net) FILTER (WHERE net > 0 AND available_on > t.at), 0)::bigint
		FROM (SELECT now() + make_interval(secs => $1) AS at) t LEFT JOIN net ON true`
	balance       = `SELECT m.available, m.pending FROM ledger_balance(1, now() + make_interval(secs => $1)) m`
	totalsPlainly = `
		SELECT account::text, sum(amount) FILTER (WHERE side = 'debit'), -sum(amount) FILTER (WHERE side = 'credit'),
		       count(*) FILTER (WHERE side = 'debit'), count(*) FILTER (WHERE side = 'credit')
		FROM ledger_entries WHERE book_id = 1 GROUP BY account`
	totals = `
		SELECT account::text, nullif(debit, 0)::numeric, nullif(credit, 0)::numeric, debits, credits FROM ledger_totals
		WHERE book_id = 1`
)

const day = 24 * 60 * 60

func TestClosedPeriodsChangeNoBalance(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			db, random := aged(t), rand.New(rand.NewPCG(seed, 0))
			first, ago, periods := 1, 9*day, 0
			for ago > day {
				b := batch{
					first: first,
					n:     1 + random.IntN(600),
					ago:   ago,
					apart: random.IntN(3) * random.IntN(40_000),
					hours: random.IntN(400),
				}
				b.post(t, db.Pool)
				first, ago = first+b.n, ago-b.n*b.apart/1000-1-random.IntN(day)
				periods += closeUntil(t, db.Pool, max(ago, 0)+random.IntN(day))
				for range 4 {
					same(t, db.Pool, balancePlainly, balance, random.IntN(14*day))
				}
				same(t, db.Pool, totalsPlainly+" ORDER BY 1", totals+" ORDER BY 1")
			}
			if periods < 2 {
				t.Errorf("%d postings filled %d periods: nothing was tried", first-1, periods)
			}
			// as the owner does where a sum is wrong
			mustExec(t, db.Pool, `DELETE FROM ledger_periods WHERE book_id = 1`)
			if again := closeUntil(t, db.Pool, 0); again < periods {
				t.Errorf("made again, they are %d periods; there were %d", again, periods)
			}
			same(t, db.Pool, balancePlainly, balance, day)
		})
	}
}

func closeUntil(t *testing.T, pool *pgxpool.Pool, ago int) (closed int) {
	t.Helper()
	for {
		var full bool
		if err := pool.QueryRow(t.Context(), `
			SELECT ledger_close_period(1, now() - make_interval(secs => $1), 300)`, ago).Scan(&full); err != nil {
			t.Fatal(err)
		}
		if !full {
			return closed
		}
		closed++
	}
}

// same asks for the same thing in two ways, at one time.
func same(t *testing.T, pool *pgxpool.Pool, plainly, quickly string, args ...any) {
	t.Helper()
	err := pgx.BeginTxFunc(t.Context(), pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		want, got := rowsOf(t, tx, plainly, args), rowsOf(t, tx, quickly, args)
		if want != got {
			t.Errorf("with %v\n got %s\nwant %s\nas posted", args, got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func rowsOf(t *testing.T, tx pgx.Tx, sql string, args []any) string {
	t.Helper()
	rows, err := tx.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		values, err := row.Values()
		return fmt.Sprintf("%v", values), err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(all)
}

// What a sweep finds may lie in any period, and is found however far the account's
// clock has been moved since the last one.
func TestASweepLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	const sweepable = nets + `
		SELECT coalesce(sum(net), 0)::bigint FROM net
		WHERE (net < 0 OR available_on <= account_time('acct_1', false))
		  AND NOT EXISTS (SELECT FROM ledger_swept s WHERE s.book_id = 1 AND s.posting_id = net.id)`
	db := aged(t)
	batch{first: 1, n: 1200, ago: 6 * day, apart: 350_000, hours: 100}.post(t, db.Pool)
	if closeUntil(t, db.Pool, 0) != 4 {
		t.Fatal("1200 postings are four periods")
	}
	for round, ahead := range []int{0, 12, 60, 61, 400} {
		mustExec(t, db.Pool, fmt.Sprintf(`
			INSERT INTO test_clocks (account_id, id, request_id, started_at, frozen_time, advanced_at, created_at)
			VALUES ('acct_1', 'clock_%d', 'req_%[1]d', now(), now() + interval '%d hours', now(),
				now())`, round, ahead))
		batch{first: 10_000 * (round + 1), n: 100, ago: 0, apart: 0, hours: 30}.post(t, db.Pool)
		var want, got, left int64
		if err := db.Pool.QueryRow(t.Context(), sweepable).Scan(&want); err != nil {
			t.Fatal(err)
		}
		err := db.Pool.QueryRow(t.Context(), `SELECT coalesce(ledger_sweep(1, $1, $2, 'req_sweep'), 0)`,
			fmt.Sprint("txn_po", round), fmt.Sprint("po_", round)).Scan(&got)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Pool.QueryRow(t.Context(), sweepable).Scan(&left); err != nil {
			t.Fatal(err)
		}
		if want <= 0 || got != want || left != 0 {
			t.Errorf("%d hours ahead it swept %d of %d and left %d", ahead, got, want, left)
		}
	}
}

// The first automatic payout of a book that has many movements takes its past as one amount, and names the rest.
func TestTheFirstSweepOfAnOldBookHasAnOpening(t *testing.T) {
	t.Parallel()
	const (
		sweepable = nets + `
		SELECT coalesce(sum(net), 0)::bigint FROM net JOIN ledger_postings p ON p.book_id = 1 AND p.id = net.id
		WHERE (net < 0 OR net.available_on <= account_time('acct_1', false))
		  AND p.created_at >= coalesce((SELECT until FROM swept_before), '-infinity')
		  AND NOT EXISTS (SELECT FROM ledger_swept s WHERE s.book_id = 1 AND s.posting_id = net.id)`
		sweep = `SELECT coalesce(ledger_sweep(1, 'txn_po' || $1, 'po_' || $1, 'req_sweep'), 0)`
	)
	number := func(db *pgtest.DB, sql string, args ...any) (n int64) {
		t.Helper()
		if err := db.Pool.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	db := aged(t)
	batch{first: 1, n: 1200, ago: 6 * day, apart: 350_000, hours: 40}.post(t, db.Pool)
	if closeUntil(t, db.Pool, 0) != 4 {
		t.Fatal("1200 postings are four periods")
	}
	mustExec(t, db.Pool, `
		ALTER TABLE ledger_periods DISABLE TRIGGER ledger_periods_are_not_altered;
		UPDATE ledger_periods SET postings = postings + 50000 WHERE since = '-infinity'`)
	want := number(db, sweepable)
	if got := number(db, sweep, "1"); want <= 0 || got != want {
		t.Errorf("the first payout is %d, want %d", got, want)
	}
	if named := number(db, "SELECT count(*) FROM ledger_swept"); named == 0 || named > 1200/2 {
		t.Errorf("%d movements are named, want those after the second period or so", named)
	}
	if left := number(db, "SELECT amount FROM swept_before") + number(db, nets+`
		SELECT sum(net)::bigint FROM net JOIN ledger_swept s ON s.book_id = 1 AND s.posting_id = net.id`); left != 0 {
		t.Errorf("the payout's parts and the payout come to %d, want 0", left)
	}
	for round := range 3 {
		mustExec(t, db.Pool, fmt.Sprintf(`
			INSERT INTO test_clocks (account_id, id, request_id, started_at, frozen_time, advanced_at, created_at)
			VALUES ('acct_1', 'clock_%d', 'req_%[1]d', now(), now() + interval '%d hours', now(),
				now())`, round, 50*round))
		batch{first: 10_000 * (round + 1), n: 100, ago: 0, apart: 0, hours: 30}.post(t, db.Pool)
		want := number(db, sweepable)
		if got, left := number(db, sweep, fmt.Sprint("later", round)), number(db, sweepable); got != want || left != 0 {
			t.Errorf("the next payout is %d of %d, and leaves %d", got, want, left)
		}
	}
}

func TestNoPeriodIsClosedOverAPostingUnderWay(t *testing.T) {
	t.Parallel()
	db := aged(t)
	closer := ledger.NewCloser(db.PoolAs(t, "ratchet_worker"))
	batch{first: 1, n: 1500, ago: 3600, apart: 1000}.post(t, db.Pool)

	late, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	batch{first: 9001, n: 1, ago: 3500}.post(t, late) // begun an hour ago, and not committed

	for try := range 3 {
		closed, err := closer.Close(t.Context())
		if closed != 0 || err != nil {
			t.Errorf("try %d closed %d periods (%v) with a posting under way", try, closed, err)
		}
	}
	if err := late.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { // other databases of this server have transactions, too
		closed, err := closer.Close(t.Context())
		if closed > 1 || err != nil {
			t.Fatalf("closed %d periods (%v), want one", closed, err)
		}
		return closed == 1
	})
	same(t, db.Pool, balancePlainly, balance, 0)
	same(t, db.Pool, totalsPlainly+" ORDER BY 1", totals+" ORDER BY 1")
}

// A posting of this very minute may still come with an earlier date.
func TestNoPeriodIsClosedOverThePresent(t *testing.T) {
	t.Parallel()
	db := aged(t)
	closer := ledger.NewCloser(db.PoolAs(t, "ratchet_worker"))
	batch{first: 1, n: 1000, ago: 100}.post(t, db.Pool)
	for range 2 {
		if closed, err := closer.Close(t.Context()); closed != 0 || err != nil {
			t.Errorf("closed %d periods (%v) of what is not two minutes old", closed, err)
		}
	}
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen within five minutes")
		}
	}
}
