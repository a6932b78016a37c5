package payment

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// UpdateRefundParams are what POST /v1/refunds/{refund} takes.
type UpdateRefundParams struct {
	ID       string        `path:"refund"`
	Metadata form.Metadata `form:"metadata"`
	Expand   form.Expand   `form:"expand"`
}

// UpdateChargeRefundParams are what POST /v1/charges/{charge}/refunds/{refund} takes.
type UpdateChargeRefundParams struct {
	Charge string `path:"charge"`
	UpdateRefundParams
}

const refundUpdated = "refund_updated"

const updateRefund = `UPDATE refunds SET metadata = @metadata WHERE account_id = @account_id AND id = @id`

// UpdateRefund changes a refund's metadata, which is all that can be changed.
var UpdateRefund = phase.Define("refund.update", 1,
	phase.Atomic(refundUpdated, changeRefund),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdateRefundParams) error {
	_, err := findRefund(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
	return err
})

// UpdateChargeRefund is UpdateRefund at the charge's own address.
var UpdateChargeRefund = phase.Define("charge.refund.update", 1,
	phase.Atomic(refundUpdated, func(
		ctx context.Context, tx *phase.Tx, in UpdateChargeRefundParams, s *struct{},
	) (phase.Outcome, error) {
		return changeRefund(ctx, tx, in.UpdateRefundParams, s)
	}),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdateChargeRefundParams) error {
	_, err := findRefundOf(ctx, db, resource.PrincipalOfCheck(caller), in.Charge, in.ID)
	return err
})

func changeRefund(ctx context.Context, tx *phase.Tx, in UpdateRefundParams, _ *struct{}) (phase.Outcome, error) {
	refund, err := lockedRefund(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	before := refund.object()
	refund.Metadata, err = in.Metadata.Apply(refund.Metadata)
	if err != nil {
		return phase.Outcome{}, err
	}
	previous, err := event.Changes(before, refund.object())
	if err != nil {
		return phase.Outcome{}, err
	}
	tx.WriteOne(updateRefund,
		pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": refund.ID, "metadata": refund.Metadata})
	if len(previous) > 0 {
		event.Emit(tx, "refund.updated", refund.ID, refund.Render(), previous)
		event.Emit(tx, "charge.refund.updated", refund.ID, refund.Render(), previous)
	}
	return replyWithRefund(ctx, tx, in.Expand, refund)
}
