package simulator

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/id"
)

// settlesAtOnce bounds the movements of one transaction: ten full parts.
const settlesAtOnce = 10 * acquirer.MaxPartMovements

// Two processes that settle at once take different rows.
const takeUnsettled = `
	WITH taken AS (
		DELETE FROM acquirer.unsettled
		WHERE movement IN (SELECT movement FROM acquirer.unsettled ORDER BY movement LIMIT @limit FOR UPDATE SKIP LOCKED)
		RETURNING movement, merchant, livemode, currency
	)
	SELECT t.movement AS number, t.merchant, t.livemode, t.currency, m.kind, m.authorization_id AS authorization, m.reference, m.amount
	FROM taken t JOIN acquirer.movements m ON m.number = t.movement
	ORDER BY t.merchant, t.livemode, t.currency, t.movement`

// owed is a movement that is to be settled.
type owed struct {
	owner
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

// settleDue pays, or takes, all that is owed, in batches, and has each part told.
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
		rows, err := tx.Query(ctx, takeUnsettled, pgx.StrictNamedArgs{"limit": settlesAtOnce})
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByName[owed])
		settled = len(found)
		if err != nil || settled == 0 {
			return err
		}
		var now time.Time
		if err := tx.QueryRow(ctx, selectNow).Scan(&now); err != nil {
			return err
		}
		changes := &pgx.Batch{}
		for _, batch := range byOwner(found) {
			if err := queueBatch(changes, now, batch); err != nil {
				return err
			}
		}
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

// queueBatch settles the movements of one owner, in parts.
func queueBatch(changes *pgx.Batch, at time.Time, all []owed) error {
	batch, parts := id.New("batch", at), (len(all)+acquirer.MaxPartMovements-1)/acquirer.MaxPartMovements
	for n := range parts {
		some := all[n*acquirer.MaxPartMovements : min((n+1)*acquirer.MaxPartMovements, len(all))]
		part := acquirer.SettledPart{
			ID: id.New("note", at), Kind: acquirer.BatchSettled, At: at, Merchant: all[0].Merchant, Livemode: all[0].Livemode,
			Currency: all[0].Currency, Batch: batch, Part: n + 1, Parts: parts, Count: len(some),
		}
		numbers := make([]int64, len(some))
		for i, m := range some {
			numbers[i] = m.Number
			part.Movements = append(part.Movements,
				acquirer.SettledMovement{Kind: m.Kind, Authorization: m.Authorization, Reference: m.Reference, Amount: m.Amount})
		}
		part.Paid, part.Taken = acquirer.Sums(part.Movements)
		changes.Queue(insertSettled, pgx.StrictNamedArgs{"batch": batch, "part": part.Part, "at": at, "movements": numbers})
		if err := queueNotice(changes, at, part.ID, part.Kind, nil, part); err != nil {
			return err
		}
	}
	return nil
}

const someOwnerHasAFullPart = `
	SELECT EXISTS (
		SELECT FROM acquirer.unsettled GROUP BY merchant, livemode, currency HAVING count(*) >= @size::bigint)`

// partIsFull says whether a part could be sent that cannot grow any more.
func partIsFull(ctx context.Context, pool *pgxpool.Pool) (full bool, err error) {
	err = pool.QueryRow(ctx, someOwnerHasAFullPart, pgx.StrictNamedArgs{"size": acquirer.MaxPartMovements}).Scan(&full)
	return full, err
}
