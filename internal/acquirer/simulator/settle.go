package simulator

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// settlesAtOnce bounds a batch.
const settlesAtOnce = 500

// takeOwed takes what is owed out of its queue. Two processes that settle at once
// take different movements.
const takeOwed = `
	WITH taken AS (
		DELETE FROM acquirer.owed WHERE movement IN (
			SELECT movement FROM acquirer.owed ORDER BY movement LIMIT @limit FOR UPDATE SKIP LOCKED)
		RETURNING movement
	)
	SELECT now() AS now, m.number, m.at, m.key, m.reference, coalesce(m.authorization_id, '') AS authorization,
	       m.verb, m.card, m.kind, m.amount, m.currency, m.result
	FROM taken JOIN acquirer.movements m ON m.number = taken.movement
	ORDER BY m.number`

// owed is a movement to be settled, and the time of the transaction.
type owed struct {
	Now time.Time
	Movement
}

const insertSettled = `
	INSERT INTO acquirer.settled (movement, batch, at)
	SELECT unnest(@movements::bigint[]), @batch, @at`

// settleMovements pays, or takes, what the movements owe that are not settled
// yet, and has each of them told.
func settleMovements(ctx context.Context, pool *pgxpool.Pool) error {
	for {
		n, err := settleBatch(ctx, pool)
		if err != nil || n < settlesAtOnce {
			return err
		}
	}
}

// settleBatch settles as many movements as a batch holds and returns how many those were.
func settleBatch(ctx context.Context, pool *pgxpool.Pool) (settled int, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, takeOwed, postgres.Args{"limit": settlesAtOnce})
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByName[owed])
		if err != nil || len(found) == 0 {
			return err
		}
		settled = len(found)
		now := found[0].Now
		changes, batch := &pgx.Batch{}, id.New("batch", now)
		movements := make([]int64, 0, len(found))
		notices := make([]acquirer.Notification, 0, len(found))
		for _, m := range found {
			movements = append(movements, m.Number)
			notices = append(notices, acquirer.Notification{
				ID: id.New("note", now), Kind: acquirer.MovementSettled, At: now, Authorization: m.Authorization, Reference: m.Reference,
				Amount: m.Amount, Currency: m.Currency, Batch: batch, Movement: m.Kind,
			})
		}
		changes.Queue(insertSettled, postgres.Args{"movements": movements, "batch": batch, "at": now})
		if err := queueNotices(changes, now, notices); err != nil {
			return err
		}
		return tx.SendBatch(ctx, changes).Close()
	})
	return settled, err
}
