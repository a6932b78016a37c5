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

// settlesAtOnce bounds the movements of one transaction: ten full parts.
const settlesAtOnce = 10 * acquirer.MaxPartMovements

// takeOwed takes what is owed out of its queue. Two processes that settle at once
// take different movements. Money taken without a merchant is owed to none.
const takeOwed = `
	WITH taken AS (
		DELETE FROM acquirer.owed WHERE movement IN (
			SELECT movement FROM acquirer.owed ORDER BY movement LIMIT @limit FOR UPDATE SKIP LOCKED)
		RETURNING movement
	)
	SELECT now() AS now, m.number, a.merchant, a.livemode, m.currency, m.kind, a.id AS authorization, m.reference,
	       m.amount
	FROM taken t
	JOIN acquirer.movements m ON m.number = t.movement
	JOIN acquirer.authorizations a ON a.id = m.authorization_id
	WHERE a.merchant <> ''
	ORDER BY a.merchant, a.livemode, m.currency, m.number`

// owed is a movement to be settled, and the time of the transaction.
type owed struct {
	owner
	Now           time.Time
	Number        int64
	Kind          string
	Authorization string
	Reference     string
	Amount        int64
}

// owner is what the movements of a batch have in common.
type owner struct {
	Merchant string
	Livemode bool
	Currency string
}

const insertSettled = `
	INSERT INTO acquirer.settled (movement, batch, part, at)
	SELECT movement, @batch, @part, @at FROM unnest(@movements::bigint[]) AS new (movement)`

// settleDue pays, or takes, all that is owed, in batches, and reports each part.
func settleDue(ctx context.Context, pool *pgxpool.Pool) error {
	for {
		settled, err := settleSome(ctx, pool)
		if err != nil || settled < settlesAtOnce {
			return err
		}
	}
}

func settleSome(ctx context.Context, pool *pgxpool.Pool) (settled int, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, takeOwed, postgres.Args{"limit": settlesAtOnce})
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByName[owed])
		settled = len(found)
		if err != nil || settled == 0 {
			return err
		}
		var all letters
		changes, now := &pgx.Batch{}, found[0].Now
		for _, batch := range byOwner(found) {
			if err := queueBatch(changes, &all, now, batch); err != nil {
				return err
			}
		}
		all.queue(changes, now)
		return tx.SendBatch(ctx, changes).Close()
	})
	return settled, err
}

// byOwner cuts movements, which are in order of their owners, at each change of owner.
func byOwner(found []owed) (batches [][]owed) {
	begin := 0
	for n := range found {
		if n+1 == len(found) || found[n+1].owner != found[n].owner {
			batches, begin = append(batches, found[begin:n+1]), n+1
		}
	}
	return batches
}

// queueBatch settles the movements of one owner, in parts, and adds a notification for each.
func queueBatch(changes *pgx.Batch, out *letters, at time.Time, all []owed) error {
	batch, parts := id.New("batch", at), (len(all)+acquirer.MaxPartMovements-1)/acquirer.MaxPartMovements
	for n := range parts {
		some := all[n*acquirer.MaxPartMovements : min((n+1)*acquirer.MaxPartMovements, len(all))]
		part := acquirer.SettledPart{
			ID:       id.New("note", at),
			Kind:     acquirer.BatchSettled,
			At:       at,
			Merchant: all[0].Merchant,
			Livemode: all[0].Livemode,
			Currency: all[0].Currency,
			Batch:    batch,
			Part:     n + 1,
			Parts:    parts,
			Count:    len(some),
		}
		numbers := make([]int64, len(some))
		for i, m := range some {
			numbers[i] = m.Number
			part.Movements = append(part.Movements,
				acquirer.SettledMovement{
					Kind:          m.Kind,
					Authorization: m.Authorization,
					Reference:     m.Reference,
					Amount:        m.Amount,
				})
		}
		part.Paid, part.Taken = acquirer.Sums(part.Movements)
		changes.Queue(insertSettled, postgres.Args{"batch": batch, "part": part.Part, "at": at, "movements": numbers})
		if _, err := out.add(part.ID, part.Kind, nil, part); err != nil {
			return err
		}
	}
	return nil
}

// The owners are looked at only when enough is owed to all of them together.
const someOwnerHasAFullPart = `
	SELECT (SELECT count(*) FROM (SELECT FROM acquirer.owed LIMIT @size) enough) = @size AND EXISTS (
		SELECT FROM acquirer.owed o
		JOIN acquirer.movements m ON m.number = o.movement
		JOIN acquirer.authorizations a ON a.id = m.authorization_id
		WHERE a.merchant <> ''
		GROUP BY a.merchant, a.livemode, m.currency HAVING count(*) >= @size)`

// partIsFull says whether a part could be sent that cannot grow any more.
func partIsFull(ctx context.Context, pool *pgxpool.Pool) (full bool, err error) {
	err = pool.QueryRow(ctx, someOwnerHasAFullPart, postgres.Args{"size": acquirer.MaxPartMovements}).Scan(&full)
	return full, err
}
