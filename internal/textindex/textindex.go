// Package textindex makes the index of what is written in charges, customers, payment intents, prices and products,
// behind the requests that write them. A search reads what the index does not have yet row by row, so it finds
// everything at once.
package textindex

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Indexer makes blocks (migrations/000034_search.up.sql:search_blocks), as the worker. Any number of processes may run
// one.
type Indexer struct {
	pool *pgxpool.Pool
	past *ledger.Closer
}

// New returns an indexer that works in pool.
func New(pool *pgxpool.Pool) *Indexer { return &Indexer{pool: pool, past: ledger.NewCloser(pool)} }

const (
	// keepYoung is how old a row is when it comes into a block. An ID has the database's time at the beginning of its
	// attempt, which ends within seconds, or Ended waits for its transaction.
	keepYoung = 2 * time.Minute
	// atOnce is how many rows one transaction indexes.
	atOnce = 1600
)

// An account is looked at only as far as the first rows that fill a block.
const accountsToIndex = `
	SELECT a.id FROM accounts a
	WHERE (SELECT x.number FROM search_changes x WHERE x.account_id = a.id LIMIT 1) IS NOT NULL
	   OR (SELECT c.id FROM charges c
	       WHERE c.account_id = a.id AND c.id < @charges_before AND c.id > coalesce((
	           SELECT max(b.last_id) FROM search_blocks b WHERE b.account_id = a.id AND b.kind = 'charges'), '')
	       ORDER BY c.id OFFSET 31 LIMIT 1) IS NOT NULL
	   OR (SELECT c.id FROM payment_intents c
	       WHERE c.account_id = a.id AND c.id < @intents_before AND c.id > coalesce((
	           SELECT max(b.last_id) FROM search_blocks b WHERE b.account_id = a.id AND b.kind = 'payment_intents'), '')
	       ORDER BY c.id OFFSET 31 LIMIT 1) IS NOT NULL
	   OR (SELECT c.id FROM customers c
	       WHERE c.account_id = a.id AND c.id < @customers_before AND c.id > coalesce((
	           SELECT max(b.last_id) FROM search_blocks b WHERE b.account_id = a.id AND b.kind = 'customers'), '')
	       ORDER BY c.id OFFSET 31 LIMIT 1) IS NOT NULL
	   OR (SELECT c.id FROM prices c
	       WHERE c.account_id = a.id AND c.id < @prices_before AND c.id > coalesce((
	           SELECT max(b.last_id) FROM search_blocks b WHERE b.account_id = a.id AND b.kind = 'prices'), '')
	       ORDER BY c.id OFFSET 31 LIMIT 1) IS NOT NULL`

const indexAccount = `SELECT search_index(@account_id, @before, @at_most)`

// Index indexes what has become old enough, and what has changed. It returns how many steps that took. The next call
// does what a crash left undone.
func (x *Indexer) Index(ctx context.Context) (steps int, err error) {
	before, err := x.past.Ended(ctx)
	if err != nil || before.IsZero() {
		return 0, err
	}
	before = before.Add(-keepYoung)
	at := id.EncodeTime(before)
	rows, err := x.pool.Query(ctx, accountsToIndex, postgres.Args{
		"charges_before":   "ch_" + at,
		"intents_before":   "pi_" + at,
		"customers_before": "cus_" + at,
		"prices_before":    "price_" + at,
	})
	if err != nil {
		return 0, fmt.Errorf("look for accounts to index: %w", err)
	}
	accounts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, fmt.Errorf("look for accounts to index: %w", err)
	}
	for _, account := range accounts {
		n, failed := x.index(ctx, account, before)
		steps, err = steps+n, errors.Join(err, failed) // one account keeps no other
	}
	return steps, err
}

func (x *Indexer) index(ctx context.Context, account string, before time.Time) (steps int, err error) {
	for more := true; more && ctx.Err() == nil; steps++ {
		args := postgres.Args{"account_id": account, "before": before, "at_most": atOnce}
		if err := x.pool.QueryRow(ctx, indexAccount, args).Scan(&more); err != nil {
			return steps, fmt.Errorf("index the texts of %s: %w", account, err)
		}
	}
	return steps, nil // if the context was canceled, the next call indexes the rest
}
