// Package daysum adds charges and webhook attempts up by day, so that a chart over a quarter reads a row for each day
// and not every charge.
//
//	charge ──▶ an hour old ──▶ can still be approved or captured? ──no──▶ in the sum of its day
//	                                     └──yes──▶ waits to be counted ──▶ in the sum of its day
//
// A charge is in a sum, or waits, or has an ID that is not below the mark of its account (table counted), and never two
// of these: each step is one transaction. A reader adds the three up in one snapshot. verify counts all charges again.
package daysum

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

// Counter counts what has become old enough, as the worker. Any number of processes may run one.
type Counter struct {
	pool *pgxpool.Pool
	past *ledger.Closer
}

// NewCounter returns a counter that works in pool.
func NewCounter(pool *pgxpool.Pool) *Counter {
	return &Counter{pool: pool, past: ledger.NewCloser(pool)}
}

const (
	// keepYoung is how old a charge is when it is counted. An ID has the database's time at the beginning of its
	// attempt. The attempt commits within seconds, or Ended waits for its transaction. The rest of the hour is for a
	// process that stood still before its transaction began.
	keepYoung = time.Hour
	// atOnce is how many rows one transaction counts.
	atOnce = 5000
)

// An account is looked at only as far as its first row.
const accountsToCount = `
	SELECT a.id FROM accounts a
	LEFT JOIN counted k ON k.account_id = a.id
	WHERE (SELECT c.id FROM charges c
	       WHERE c.account_id = a.id AND c.id >= coalesce(k.charges_before, '') AND c.id < @charges_before
	       ORDER BY c.id LIMIT 1) IS NOT NULL
	   OR (SELECT t.started_at FROM webhook_attempts t
	       WHERE t.account_id = a.id AND t.attempt > 0 AND t.started_at >= coalesce(k.attempts_before, '-infinity')
	         AND t.started_at < @attempts_before
	       ORDER BY t.started_at LIMIT 1) IS NOT NULL
	   OR EXISTS (SELECT FROM charges_to_count w
	              LEFT JOIN charge_counts c ON c.account_id = w.account_id AND c.id = w.id
	              WHERE w.account_id = a.id AND c.final IS NOT FALSE)
	   OR EXISTS (SELECT FROM attempts_to_count w
	              LEFT JOIN attempt_counts t ON t.account_id = w.account_id AND t.event_id = w.event_id
	                  AND t.endpoint_id = w.endpoint_id AND t.attempt = w.attempt
	              WHERE w.account_id = a.id AND t.final IS NOT FALSE)`

const (
	countCharges  = `SELECT count_charges(@account_id, @before, @at_most)`
	countAttempts = `SELECT count_attempts(@account_id, @before, @at_most)`
)

// ChargeAt sorts before the IDs of all charges that were made at that time or later.
func ChargeAt(at time.Time) string { return "ch_" + id.EncodeTime(at) }

// Count counts what has become old enough, and returns how many steps that took. The next call does what a crash left
// undone.
func (c *Counter) Count(ctx context.Context) (steps int, err error) {
	before, err := c.past.Ended(ctx)
	if err != nil || before.IsZero() {
		return 0, err
	}
	before = before.Add(-keepYoung)
	first := ChargeAt(before)
	rows, err := c.pool.Query(ctx, accountsToCount, postgres.Args{"charges_before": first, "attempts_before": before})
	if err != nil {
		return 0, fmt.Errorf("look for accounts to count: %w", err)
	}
	accounts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, fmt.Errorf("look for accounts to count: %w", err)
	}
	for _, account := range accounts {
		charges, failed := c.count(ctx, countCharges, account, first)
		attempts, alsoFailed := c.count(ctx, countAttempts, account, before)
		steps += charges + attempts
		err = errors.Join(err, failed, alsoFailed) // one account keeps no other
	}
	return steps, err
}

func (c *Counter) count(ctx context.Context, sql, account string, before any) (steps int, err error) {
	for more := true; more && ctx.Err() == nil; steps++ {
		args := postgres.Args{"account_id": account, "before": before, "at_most": atOnce}
		if err := c.pool.QueryRow(ctx, sql, args).Scan(&more); err != nil {
			return steps, fmt.Errorf("count the days of %s: %w", account, err)
		}
	}
	return steps, nil // if the context was canceled, the next call counts the rest
}
