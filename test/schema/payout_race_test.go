package schema_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// race is one book that many take out of at once while charges come in.
type race struct {
	pool *pgxpool.Pool
	book int
	paid atomic.Int64
	no   atomic.Int64 // payouts tried, for their names
}

const (
	raceStart   = 100 // available in the beginning
	raceCharges = 12  // that come in meanwhile, half of them pending for a day
	raceCharge  = 10  // the amount of each
	raceRounds  = 4
)

func TestPayoutsRacingForOneBalance(t *testing.T) {
	t.Parallel()
	for _, takers := range []int{2, 8, 32} {
		t.Run(fmt.Sprintf("%d at once take out what was available and never a unit more", takers), func(t *testing.T) {
			t.Parallel()
			db := seeded(t)
			pool, err := postgres.Open(t.Context(), postgres.Config{
				URL: db.URL, Role: "ratchet_api", MaxConns: int32(takers) + 2, ApplicationName: "race",
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Close)
			for round := range raceRounds {
				runRace(t, &race{pool: pool, book: openBook(t, pool, round)}, takers)
			}
		})
	}
}

// openBook makes a separate book for every round: its currency is the round's.
func openBook(t *testing.T, pool *pgxpool.Pool, round int) (book int) {
	t.Helper()
	err := pool.QueryRow(t.Context(), `
		INSERT INTO ledger_books (account_id, livemode, currency) VALUES ('acct_2', false, $1) RETURNING id`,
		"xa"+string(rune('a'+round))).Scan(&book)
	if err != nil {
		t.Fatal(err)
	}
	return book
}

func runRace(t *testing.T, r *race, takers int) {
	t.Helper()
	err := r.charge(t.Context(), "ch_start", raceStart, "0")
	if err != nil {
		t.Fatal(err)
	}

	var running sync.WaitGroup
	running.Go(func() {
		for n := range raceCharges {
			wait := []string{"0", "1 day"}[n%2]
			err := r.charge(t.Context(), fmt.Sprint("ch_", n), raceCharge, wait)
			if err != nil {
				t.Errorf("a charge did not get past the payouts: %v", err)
			}
		}
	})
	// Together they ask for more than will ever be there.
	const available = raceStart + raceCharges/2*raceCharge
	attempts := 2*available/(5*takers) + 1
	for taker := range takers {
		running.Go(func() {
			for n := range attempts {
				r.takeOut(t, int64(3+(taker+n)%5))
			}
		})
	}
	running.Wait()

	var left int64
	err = r.pool.QueryRow(t.Context(), `SELECT ledger_available($1)`, r.book).Scan(&left)
	if err != nil {
		t.Fatal(err)
	}
	if r.paid.Load()+left != available || left < 0 {
		t.Errorf("paid %d and left %d, together %d; want the %d that were available", r.paid.Load(), left,
			r.paid.Load()+left, available)
	}
	if r.paid.Load() == 0 {
		t.Error("nothing was paid: there was no race")
	}
}

// charge books money that is available after a time.
func (r *race) charge(ctx context.Context, source string, amount int, wait string) error {
	_, err := r.pool.Exec(ctx, fmt.Sprintf(`
		WITH moment AS MATERIALIZED (SELECT clock_timestamp() AS at)
		INSERT INTO ledger_postings (book_id, id, source, kind, purposes, debits, credits, amounts, created_at,
			available_on, request_id)
		SELECT %d, 'txn_%[2]s', '%[2]s', 'charge', '{gross}', '{processor_receivable}', '{merchant_balance}', '{%[4]d}',
		       at, at + interval '%[3]s', 'req_race' FROM moment`,
		r.book, source, wait, amount))
	return err
}

// takeOut counts what it was given. Being refused for want of money is part of
// the race; nothing else is.
func (r *race) takeOut(t *testing.T, amount int64) {
	name := fmt.Sprint("po_", r.no.Add(1))
	_, err := r.pool.Exec(t.Context(), `SELECT ledger_pay_out($1, $2, $3, $4, 'req_race')`, r.book, "txn_"+name, name,
		amount)
	switch {
	case err == nil:
		r.paid.Add(amount)
	case postgres.Code(err) == lockTimeout:
		r.takeOut(t, amount) // on a slow machine the queue for the book is long: nothing was done
	case postgres.Code(err) != notAvailable:
		t.Errorf("a payout of %d: %v", amount, err)
	}
}
