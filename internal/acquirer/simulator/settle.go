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

const selectUnsettled = `
	SELECT number, at, key, reference, coalesce(authorization_id, '') AS authorization,
	       verb, card, kind, amount, currency, result
	FROM acquirer.movements m
	WHERE kind NOT IN ('hold', 'release', 'payout', 'recall', 'none') AND NOT EXISTS (SELECT FROM acquirer.settled s WHERE s.movement = m.number)
	ORDER BY number LIMIT @limit`

// Of two processes that settle the same movement one fails, and all of its batch with it.
const insertSettled = `
	INSERT INTO acquirer.settled (movement, batch, at)
	VALUES (@movement, @batch, @at)`

// settleMovements pays, or takes, what the movements owe that are not settled
// yet, and has each of them told.
func settleMovements(ctx context.Context, pool *pgxpool.Pool) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, selectUnsettled, postgres.Args{"limit": settlesAtOnce})
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByName[Movement])
		if err != nil || len(found) == 0 {
			return err
		}
		var now time.Time
		if err := tx.QueryRow(ctx, selectNow).Scan(&now); err != nil {
			return err
		}
		changes, batch := &pgx.Batch{}, id.New("batch", now)
		notices := make([]acquirer.Notification, 0, len(found))
		for _, m := range found {
			changes.Queue(insertSettled, postgres.Args{"movement": m.Number, "batch": batch, "at": now})
			notices = append(notices, acquirer.Notification{
				ID: id.New("note", now), Kind: acquirer.MovementSettled, At: now, Authorization: m.Authorization, Reference: m.Reference,
				Amount: m.Amount, Currency: m.Currency, Batch: batch, Movement: m.Kind,
			})
		}
		if err := queueNotices(changes, now, notices); err != nil {
			return err
		}
		return tx.SendBatch(ctx, changes).Close()
	})
}
