package payout

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// paidCharges name charges that were paid and still hide their balance transaction.
type paidCharges struct{ Charges []string }

const lockSettling = payment.SelectCharges + `
	AND id = ANY (@ids::text[]) AND settlement_pending ORDER BY id FOR NO KEY UPDATE`

const (
	chargesHaveSettled = `
	WITH shown AS (
		UPDATE charges SET settlement_pending = false
		WHERE account_id = @account_id AND id = ANY (@ids::text[]) AND settlement_pending
		RETURNING 1
	)
	SELECT assert_row_count(cardinality(@ids::text[]), count(*), 'settling charges') FROM shown`

	deleteChargesToShow = `
	DELETE FROM charges_to_show WHERE account_id = @account_id AND charge_id = ANY (@ids::text[])`
)

// ShownObject is what the worker's request answers; no address of the API shows it.
type ShownObject struct {
	Account string `json:"account"`
	Object  string `json:"object"`
	Charges int    `json:"charges"`
}

// ShowSettled shows the balance transactions of charges that were made with
// capture_method=automatic_async and are paid now, and tells each. It reads every
// charge, so it is not part of the request that books a batch.
var ShowSettled = phase.Define("settlement.show", 1,
	phase.Atomic("settlement_shown", func(
		ctx context.Context, tx *phase.Tx, in paidCharges, _ *struct{},
	) (phase.Outcome, error) {
		args := resource.PrincipalOf(tx.Caller).Args()
		args["ids"] = in.Charges
		rows, err := tx.Query(ctx, lockSettling, args)
		if err != nil {
			return phase.Outcome{}, fmt.Errorf("lock charges that settle: %w", err)
		}
		charges, err := pgx.CollectRows(rows, pgx.RowToStructByName[payment.Charge])
		if err != nil {
			return phase.Outcome{}, fmt.Errorf("lock charges that settle: %w", err)
		}
		if len(charges) == 0 {
			return phase.Outcome{}, apierror.Invalid("", "None of these charges hides its balance transaction.")
		}
		ids := make([]string, len(charges))
		for n := range charges {
			ids[n] = charges[n].ID
			charges[n].SettlementPending = false
			event.Emit(tx, "charge.updated", ids[n], charges[n].Render(), map[string]any{"balance_transaction": nil})
		}
		tx.Write(chargesHaveSettled, pgx.StrictNamedArgs{"account_id": tx.AccountID, "ids": ids})
		tx.Write(deleteChargesToShow, pgx.StrictNamedArgs{"account_id": tx.AccountID, "ids": in.Charges})
		return phase.OK(tx.AccountID, ShownObject{tx.AccountID, "settlement", len(charges)}), nil
	}))

const (
	// shownAtOnce bounds how many charges one request locks and emits events for.
	shownAtOnce = 100

	// chargesPerLook bounds how many rows one look reads.
	chargesPerLook = 5000
)

const chargesToShow = `
	SELECT d.account_id, d.livemode, ` + resource.MerchantColumns + `, account_ahead(d.account_id, d.livemode) AS ahead,
	       d.charges
	FROM (SELECT account_id, livemode, array_agg(charge_id ORDER BY charge_id) AS charges
	      FROM (SELECT account_id, livemode, charge_id,
	          (row_number() OVER (PARTITION BY account_id, livemode ORDER BY charge_id) - 1) / @size::bigint AS slice
	            FROM (SELECT account_id, livemode, charge_id FROM charges_to_show LIMIT @rows) pending) numbered
	      GROUP BY account_id, livemode, slice) d
	JOIN accounts a ON a.id = d.account_id
	LIMIT @limit`

// ShowPaid shows what has been paid. Any number of processes may do so at once: a
// charge's event is emitted by the one that clears its flag.
func ShowPaid(ctx context.Context, e *phase.Engine, db *pgxpool.Pool) (done int, err error) {
	type paid struct {
		resource.Task
		paidCharges
	}
	rows, err := db.Query(ctx, chargesToShow,
		pgx.StrictNamedArgs{"size": shownAtOnce, "rows": chargesPerLook, "limit": resource.BatchSize})
	if err != nil {
		return 0, fmt.Errorf("look for charges to show: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[paid])
	if err != nil {
		return 0, fmt.Errorf("look for charges to show: %w", err)
	}
	return resource.ForEach(ctx, found, func(p paid) error {
		return unlessDone(resource.ServeJob(ctx, e, ShowSettled, p.Unkeyed("settlement.show"), p.paidCharges))
	})
}
