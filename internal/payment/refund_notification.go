package payment

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/inbox"
	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// A refund's fate is written once: only from the state it was read in.
const refundFate = `
	UPDATE refunds
	SET status = @status, failure_reason = @failure_reason, balance_transaction = @balance_transaction,
	    failure_balance_transaction = @failure_transaction
	WHERE account_id = @account_id AND id = @id AND status = @before`

func (r *Refund) updateResult(tx *phase.Tx, before string) {
	tx.WriteOne(refundFate, pgx.StrictNamedArgs{
		"account_id": r.AccountID, "id": r.ID, "before": before, "status": r.Status, "failure_reason": r.FailureReason,
		"balance_transaction": r.BalanceTransaction, "failure_transaction": r.FailureTransaction,
	})
}

// CompleteRefund ends a refund that the acquirer had accepted as pending.
var CompleteRefund = NotificationFlow(acquirer.RefundSucceeded, "refund_completed", func(
	ctx context.Context, tx *phase.Tx, in NotificationParams, charge *Charge,
) (phase.Outcome, error) {
	refund, err := refundNamed(ctx, tx, in)
	if err != nil {
		return phase.Outcome{}, err
	}
	if refund.Status != refundPending {
		return phase.Outcome{}, inbox.Refused("refund %s has %s", refund.ID, refund.Status)
	}
	before := refund.object()
	refund.Status = refundSucceeded
	refund.post(tx, charge)
	refund.updateResult(tx, refundPending)
	return refund.emitUpdated(tx, before)
})

// FailRefund records that a refund failed. If it had succeeded
// before, the money comes back into the balance.
var FailRefund = NotificationFlow(acquirer.RefundFailed, "refund_returned", func(
	ctx context.Context, tx *phase.Tx, in NotificationParams, charge *Charge,
) (phase.Outcome, error) {
	refund, err := refundNamed(ctx, tx, in)
	if err != nil {
		return phase.Outcome{}, err
	}
	if refund.Status == refundFailed {
		return phase.Outcome{}, inbox.Refused("refund %s has already failed", refund.ID)
	}
	before, status := refund.object(), refund.Status
	reason := in.Notification.FailureReason
	if reason == "" {
		reason = "unknown"
	}
	if refund.BalanceTransaction != nil {
		posting := ledger.RefundFailure(id.New("txn", tx.Now()), refund.ID, refund.Currency, refund.Amount, tx.Now())
		ledger.Post(tx, posting)
		ledger.ChainRefund(tx, charge.ID, charge.AmountCaptured, refund.ID, -refund.Amount, refund.Currency)
		refund.FailureTransaction = &posting.ID
	}
	refund.Status, refund.FailureReason = refundFailed, &reason
	refund.updateResult(tx, status)
	charge.AmountRefunded -= refund.Amount
	tx.WriteOne(returnReservation,
		pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": charge.ID, "amount": refund.Amount})
	event.Emit(tx, "refund.failed", refund.ID, refund.Render(), nil)
	return refund.emitUpdated(tx, before)
})

func (r *Refund) emitUpdated(tx *phase.Tx, before RefundObject) (phase.Outcome, error) {
	previous, err := event.Changes(before, r.object())
	if err != nil {
		return phase.Outcome{}, err
	}
	event.Emit(tx, "refund.updated", r.ID, r.Render(), previous)
	event.Emit(tx, "charge.refund.updated", r.ID, r.Render(), previous)
	return phase.OK(r.ID, r.Render()), nil
}

const lockRefundByName = selectRefunds + ` AND acquirer_reference = @reference FOR NO KEY UPDATE`

// refundNamed locks the refund that a notification is about.
func refundNamed(ctx context.Context, tx *phase.Tx, in NotificationParams) (*Refund, error) {
	args := resource.PrincipalOf(tx.Caller).Args()
	args["reference"] = in.Notification.Reference
	refund, err := resource.QueryOne[Refund](ctx, tx, lockRefundByName, args)
	switch {
	case err != nil:
		return nil, err
	case refund == nil:
		return nil, inbox.NotYet("refund %s not found", in.Notification.Reference)
	case refund.Kind != refundOfMoney || refund.ChargeID != in.Charge || refund.Amount != in.Notification.Amount:
		return nil, inbox.Refused("refund %s is for %d of charge %s", refund.ID, refund.Amount, refund.ChargeID)
	}
	return refund, nil
}
