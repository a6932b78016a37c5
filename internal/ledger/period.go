package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Closer adds up what lies behind: it closes periods of books, so that a balance
// reads one row for a thousand postings. Any number of processes may run one.
//
// A period must hold every posting of its time. The schema refuses a posting that
// is dated more than a minute back, so what can still come into a time that is
// longer past is only what has been posted and not committed. The closer waits for
// that: it notes the time and which transactions have begun, and closes no further
// than there once all of them have ended. A transaction that never ends stops it,
// and nothing else: balances are then added up from single postings, as before.
type Closer struct {
	pool  *pgxpool.Pool
	noted horizon
}

// horizon is a moment.
type horizon struct {
	At     time.Time
	XID    int64 // every transaction that had written by then has a lower id
	Oldest int64 // every transaction with a lower id had ended
}

// NewCloser returns a closer that works in pool, as the worker.
func NewCloser(pool *pgxpool.Pool) *Closer { return &Closer{pool: pool} }

// The id is that of this transaction, and later than now(). A snapshot's xmax will not
// do: it is the id after the latest transaction that has ended, and others may write above it.
const selectHorizon = `
	SELECT now() AS at, pg_current_xact_id()::text::bigint AS xid,
	       pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest`

// backdated is how far back a posting may be dated when it commits: the minute the
// schema allows, and one for the statement that was being checked meanwhile.
const backdated = 2 * time.Minute

// periodSize is how many postings fill a period: the most that are added up one by
// one, beside those of the last minutes.
const periodSize = 1000

// A book is looked at only as far as one period reaches.
const booksToClose = `
	SELECT b.id FROM ledger_books b
	CROSS JOIN LATERAL (SELECT coalesce(max(p.until), '-infinity') AS until FROM ledger_periods p
	    WHERE p.book_id = b.id) closed
	WHERE EXISTS (
		SELECT FROM ledger_postings p
		WHERE p.book_id = b.id AND p.source <> '' AND p.created_at >= closed.until AND p.created_at < @before
		ORDER BY p.created_at OFFSET @size::integer - 1 LIMIT 1)`

const closePeriod = `SELECT ledger_close_period(@book, @before, @size)`

// Close closes every period that is full, and returns how many it closed. Each has its own
// transaction: the next call does what a crash left undone.
func (c *Closer) Close(ctx context.Context) (closed int, err error) {
	ended, err := c.Ended(ctx)
	if err != nil || ended.IsZero() {
		return 0, err
	}
	before := ended.Add(-backdated)
	books, err := c.full(ctx, before)
	if err != nil {
		return 0, fmt.Errorf("look for books to close: %w", err)
	}
	for _, book := range books {
		n, failed := c.closeBook(ctx, book, before)
		closed, err = closed+n, errors.Join(err, failed) // one book keeps no other
	}
	return closed, err
}

// full returns the books that have a period to close. It looks at every book, which may take longer than other
// statements.
func (c *Closer) full(ctx context.Context, before time.Time) (books []int64, err error) {
	err = pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL statement_timeout = '60s'"); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, booksToClose, postgres.Args{"before": before, "size": periodSize})
		if err != nil {
			return err
		}
		books, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	return books, err
}

func (c *Closer) closeBook(ctx context.Context, book int64, before time.Time) (closed int, err error) {
	for ; ctx.Err() == nil; closed++ {
		var full bool
		err := c.pool.QueryRow(ctx, closePeriod, postgres.Args{"book": book, "before": before, "size": periodSize}).
			Scan(&full)
		if err != nil {
			return closed, fmt.Errorf("close a period of book %d: %w", book, err)
		}
		if !full {
			break
		}
	}
	return closed, nil // if the context was canceled, the next call closes the rest
}

// Ended is a time that no transaction is left of: each that had written by then has ended. It is zero while
// transactions of the last note are still under way.
func (c *Closer) Ended(ctx context.Context) (time.Time, error) {
	rows, err := c.pool.Query(ctx, selectHorizon)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the horizon: %w", err)
	}
	now, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[horizon])
	if err != nil {
		return time.Time{}, fmt.Errorf("read the horizon: %w", err)
	}
	switch {
	case c.noted.At.IsZero():
		c.noted = now
		return time.Time{}, nil
	case now.Oldest < c.noted.XID:
		return time.Time{}, nil
	}
	at := c.noted.At
	c.noted = now
	return at, nil
}
