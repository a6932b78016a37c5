package payout

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// UpdatePayoutParams are what POST /v1/payouts/{payout} takes.
type UpdatePayoutParams struct {
	ID       string        `path:"payout"`
	Metadata form.Metadata `form:"metadata"`
	Expand   form.Expand   `form:"expand"`
}

const payoutUpdated = "payout_updated"

const updatePayout = `UPDATE payouts SET metadata = @metadata WHERE account_id = @account_id AND id = @id`

// UpdatePayout changes a payout's metadata, which is all that can be changed.
var UpdatePayout = phase.Define("payout.update", 1,
	phase.Atomic(payoutUpdated, changePayout),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdatePayoutParams) error {
	return payoutExists(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
})

func changePayout(ctx context.Context, tx *phase.Tx, in UpdatePayoutParams, _ *struct{}) (phase.Outcome, error) {
	payout, err := lockedPayout(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	before := payout.object()
	payout.Metadata, err = in.Metadata.Apply(payout.Metadata)
	if err != nil {
		return phase.Outcome{}, err
	}
	previous, err := event.Changes(before, payout.object())
	if err != nil {
		return phase.Outcome{}, err
	}
	tx.WriteOne(updatePayout,
		pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": payout.ID, "metadata": payout.Metadata})
	if len(previous) > 0 {
		event.Emit(tx, "payout.updated", payout.ID, payout.Render(), previous)
	}
	return replyWithPayout(ctx, tx, in.Expand, payout)
}
