// Package retention creates the monthly partitions of events and of archived responses, and detaches months that are
// past their retention. Nothing is deleted: a detached month is a separate table (migrations/000031_months.up.sql).
package retention

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Months is how many months that are over stay attached; 0: all of them.
type Months struct {
	Events  int // with their deliveries and attempts
	Archive int // of responses that are too old to be replayed
}

const prepareMonths = `SELECT prepare_months(@months_ahead)`

// Prepare creates the partitions of this month and the next ones.
func Prepare(ctx context.Context, pool *pgxpool.Pool, monthsAhead int) error {
	err := retryLocks(ctx, func() error {
		_, err := pool.Exec(ctx, prepareMonths, postgres.Args{"months_ahead": monthsAhead})
		return err
	})
	if err != nil {
		return fmt.Errorf("prepare partitions of events and archived responses: %w", err)
	}
	return nil
}

const detachOldest = `SELECT detach_oldest_month(@kind, @keep) IS NOT NULL`

// countingTime is for counting the rows of a month, which is done before anything is locked.
const countingTime = `SET LOCAL statement_timeout = '10min'`

// Detach detaches the months past their retention, the oldest first, each in its own transaction. It
// returns how many.
func (m Months) Detach(ctx context.Context, pool *pgxpool.Pool) (done int, err error) {
	for _, of := range []struct {
		kind string
		keep int
	}{{"events", m.Events}, {"archived_answers", m.Archive}} {
		for more := of.keep > 0; more; {
			err := retryLocks(ctx, func() error {
				return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
					if _, err := tx.Exec(ctx, countingTime); err != nil {
						return err
					}
					return tx.QueryRow(ctx, detachOldest, postgres.Args{"kind": of.kind, "keep": of.keep}).Scan(&more)
				})
			})
			if err != nil {
				return done, fmt.Errorf("detach a month of %s: %w", of.kind, err)
			}
			if more {
				done++
			}
		}
	}
	return done, nil
}

const (
	tries = 5
	pause = 2 * time.Second
)

// retryLocks repeats what changes a table until it gets its lock. Other statements wait behind such a change, so
// the functions give up after half a second. A long run of verify can be in their way: then the next round tries again.
func retryLocks(ctx context.Context, change func() error) error {
	for n := 1; ; n++ {
		err := change()
		if !postgres.IsLockTimeout(err) || n == tries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}
