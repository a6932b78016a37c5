package payout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// lateMovements name the part whose waiting movements are tried again.
type lateMovements struct {
	Batch string
	Part  int
}

// Two workers that try the same part take different rows.
const lockWaiting = `
	SELECT w.movement AS kind, w.authorization_id AS authorization, w.acquirer_reference AS reference, w.amount,
	       w.currency, w.settled_at
	FROM movements_waiting w
	JOIN charges c ON c.account_id = w.account_id AND c.acquirer_reference = w.authorization_id
	WHERE w.account_id = @account_id AND w.livemode = @livemode AND w.batch = @batch AND w.part = @part
	ORDER BY w.acquirer_reference, w.movement
	LIMIT @limit
	FOR UPDATE OF w SKIP LOCKED`

type waitingMovement struct {
	acquirer.SettledMovement
	Currency  string
	SettledAt time.Time
}

// The schema lets a row go that is settled or set aside by then, and no other.
const deleteWaiting = `
	WITH gone AS (
		DELETE FROM movements_waiting w
		USING unnest(@kinds::text[], @references::text[]) AS t (kind, reference)
		WHERE w.account_id = @account_id AND w.acquirer_reference = t.reference AND w.movement = t.kind
		RETURNING 1
	)
	SELECT assert_row_count(cardinality(@kinds::text[]), count(*), 'waiting movements') FROM gone`

// SettleLate books movements of a part that came before their charges, with a
// separate posting.
var SettleLate = phase.Define("settlement.late", 1,
	phase.Atomic("late_settled", func(
		ctx context.Context, tx *phase.Tx, in lateMovements, _ *struct{},
	) (phase.Outcome, error) {
		rows, err := tx.Query(ctx, lockWaiting, pgx.StrictNamedArgs{
			"account_id": tx.AccountID,
			"livemode":   tx.Livemode,
			"batch":      in.Batch,
			"part":       in.Part,
			"limit":      acquirer.MaxPartMovements,
		})
		if err != nil {
			return phase.Outcome{}, fmt.Errorf("lock waiting movements: %w", err)
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByName[waitingMovement])
		if err != nil {
			return phase.Outcome{}, fmt.Errorf("lock waiting movements: %w", err)
		}
		if len(found) == 0 {
			return phase.Outcome{}, apierror.Invalid("", "No waiting movement of %s has a charge yet.", in.Batch)
		}
		movements := make([]acquirer.SettledMovement, len(found))
		for n, w := range found {
			movements[n] = w.SettledMovement
		}
		settled, err := bookMovements(ctx, tx,
			settledMovements{in.Batch, in.Part, found[0].Currency, found[0].SettledAt, movements})
		if err != nil {
			return phase.Outcome{}, fmt.Errorf("book waiting movements of %s: %w", in.Batch, err)
		}
		args := movementArgs(movements)
		tx.Write(deleteWaiting,
			pgx.StrictNamedArgs{"account_id": tx.AccountID, "kinds": args["kinds"], "references": args["references"]})
		return phase.OK(settled.ID, settled), nil
	}))

const (
	// firstRetry and longestRetry bound the pause before a movement whose charge is
	// not here is looked at again: as long again as it has waited, at most a minute.
	firstRetry, longestRetry = time.Second, time.Minute

	// retriesAtOnce bounds how many movements one look puts off.
	retriesAtOnce = 10000
)

const putOffWaiting = `
	UPDATE movements_waiting w
	SET attempts = attempts + 1,
	    due_at = statement_timestamp() + least(@first::interval * 2 ^ least(attempts, 16), @longest::interval)
	FROM (SELECT account_id, acquirer_reference, movement FROM movements_waiting
	      WHERE due_at <= statement_timestamp() ORDER BY due_at LIMIT @limit FOR UPDATE SKIP LOCKED) due
	WHERE w.account_id = due.account_id AND w.acquirer_reference = due.acquirer_reference AND w.movement = due.movement
	  AND NOT EXISTS (SELECT FROM charges c
	      WHERE c.account_id = w.account_id AND c.acquirer_reference = w.authorization_id)`

const lateParts = `
	SELECT w.account_id, w.livemode, ` + resource.MerchantColumns + `, account_ahead(w.account_id, w.livemode) AS ahead,
	       w.batch, w.part
	FROM (SELECT DISTINCT account_id, livemode, batch, part FROM movements_waiting
	    WHERE due_at <= statement_timestamp()) w
	JOIN accounts a ON a.id = w.account_id
	LIMIT @limit`

// BookWaiting books the waiting movements whose charges have come. Any number of
// processes may do so at once.
func BookWaiting(ctx context.Context, e *phase.Engine, db *pgxpool.Pool) (done int, err error) {
	_, err = db.Exec(ctx, putOffWaiting,
		pgx.StrictNamedArgs{"first": firstRetry, "longest": longestRetry, "limit": retriesAtOnce})
	if err != nil {
		return 0, fmt.Errorf("postpone waiting movements: %w", err)
	}
	type late struct {
		resource.Task
		lateMovements
	}
	found, err := resource.QueryDue[late](ctx, db, lateParts)
	if err != nil {
		return 0, err
	}
	return resource.ForEach(ctx, found, func(l late) error {
		answer, err := SettleLate.Serve(ctx, e, l.Unkeyed("settlement.late of "+l.Batch), l.lateMovements)
		if err == nil {
			logSetAside(ctx, e.Log(), answer)
		}
		return unlessDone(err)
	})
}

// unlessDone drops the refusal of a job that another worker has done.
func unlessDone(err error) error {
	var refusal *apierror.Error
	if errors.As(err, &refusal) {
		return nil
	}
	return err
}
