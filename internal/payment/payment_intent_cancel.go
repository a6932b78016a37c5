package payment

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// CancelPaymentIntentParams are what POST /v1/payment_intents/{intent}/cancel takes.
type CancelPaymentIntentParams struct {
	ID     string      `path:"intent"`
	Reason *string     `form:"cancellation_reason" enum:"abandoned,duplicate,fraudulent,requested_by_customer"`
	Expand form.Expand `form:"expand"`
}

type cancelState struct {
	Order  acquirer.Order
	Result acquirer.Result `json:"Answer"` // as stored requests name it
}

// The recovery points of a cancellation that has an authorization to void. Any other
// ends with the first.
const (
	cancellationRecorded  = "cancellation_recorded"
	cancellationAnswered  = "cancellation_answered"
	paymentIntentCanceled = "payment_intent_canceled"
)

// CancelPaymentIntent ends an intent that has not been paid, and voids its
// authorization.
//
//	(nothing) ──▶ cancellation_recorded ──▶ cancellation_answered ──▶ payment_intent_canceled
//	  claim, and the end where        call, no tx open           release the hold, answer
//	  nothing is held
var CancelPaymentIntent = phase.Define("payment_intent.cancel", 1,
	phase.Atomic(cancellationRecorded, recordCancellation),
	phase.Foreign(cancellationAnswered, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ CancelPaymentIntentParams, s *cancelState,
	) (err error) {
		s.Result, err = call.To().Void(ctx, call.Permit, s.Order)
		return err
	}),
	phase.Atomic(paymentIntentCanceled, finalizeCancellation),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *CancelPaymentIntentParams) error {
	_, err := readIntent(ctx, db, resource.PrincipalOfCheck(caller), in.ID, "")
	return err
})

func recordCancellation(
	ctx context.Context, tx *phase.Tx, in CancelPaymentIntentParams, s *cancelState,
) (phase.Outcome, error) {
	intent, err := LockIntent(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if intent.LockedBy != nil {
		return phase.Outcome{}, apierror.Locked()
	}
	if refusal := intent.refuseDirectly("cancel"); refusal != nil {
		return phase.Outcome{}, refusal
	}
	if refusal := intent.refuseCancel(); refusal != nil {
		return phase.Refuse(intent.ID, refusal), nil
	}
	if intent.Status != IntentNeedsCapture {
		intent.Cancel(tx, in.Reason)
		return replyWithIntent(ctx, tx, in.Expand, intent)
	}
	charge, err := intent.reserveCharge(ctx, tx)
	if err != nil {
		return phase.Outcome{}, err
	}
	s.Order = acquirer.Order{Authorization: *charge.AcquirerReference, Amount: charge.Amount, Currency: charge.Currency}
	return phase.Next, nil
}

func finalizeCancellation(
	ctx context.Context, tx *phase.Tx, in CancelPaymentIntentParams, s *cancelState,
) (phase.Outcome, error) {
	intent, err := LockIntent(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	charge, err := lockedCharge(ctx, tx, *intent.LatestCharge)
	if err != nil {
		return phase.Outcome{}, err
	}
	charge.release(tx)
	intent.LockedBy = nil
	var why *string
	if resource.Deref(in.Reason) == canceledByTime {
		why = expiredReason()
	}
	if !s.Result.Approved {
		if why != nil {
			charge.staysHeld(tx, why)
		}
		intent.Update(tx)
		return phase.Refuse(intent.ID,
			apierror.Invalid("", "PaymentIntent %s could not be canceled: %s", intent.ID, s.Result.Message)), nil
	}
	refund := charge.letGoAll(tx, s.Result.Reference, why)
	if why != nil {
		event.Emit(tx, "charge.expired", charge.ID, charge.Render(), nil)
	}
	intent.AmountCapturable = 0
	intent.Cancel(tx, in.Reason)
	return replyWithIntent(ctx, tx, in.Expand, intent, charge, &refund)
}

// Cancel queues the UPDATE that marks the intent as canceled, and its event. It voids no authorization: the caller has.
func (p *PaymentIntent) Cancel(tx *phase.Tx, reason *string) {
	now := tx.Now()
	p.Status, p.CanceledAt, p.CancellationReason, p.NextAction = IntentCanceled, &now, reason, nil
	p.Update(tx)
	event.Emit(tx, "payment_intent.canceled", p.ID, p.Render(), nil)
}

const refundWholeCharge = `
	UPDATE charges SET amount_refunded = amount WHERE account_id = @account_id AND id = @id AND amount_refunded = 0`

// letGoAll records that a hold was released. Stripe shows it as a refund of the
// whole charge; no money moves, so nothing is posted.
func (c *Charge) letGoAll(tx *phase.Tx, reference string, reason *string) Refund {
	refund := c.releaseOfHold(tx, reason)
	refund.insert(tx)
	refund.Status, refund.AcquirerReference = refundSucceeded, &reference
	refund.finalize(tx)
	c.AmountRefunded = c.Amount
	tx.WriteOne(refundWholeCharge, pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": c.ID})
	event.Emit(tx, "refund.created", refund.ID, refund.Render(), nil)
	event.Emit(tx, "charge.refunded", c.ID, c.Render(), map[string]any{"amount_refunded": 0, "refunded": false})
	return refund
}

// staysHeld records that an expired authorization could not be voided, as ExpireCharge
// does: the failed refund keeps the worker from trying forever.
func (c *Charge) staysHeld(tx *phase.Tx, reason *string) {
	refund := c.releaseOfHold(tx, reason)
	refund.insert(tx)
	refund.Status, refund.FailureReason = refundFailed, resource.NilIfEmpty("declined")
	refund.finalize(tx)
	event.Emit(tx, "refund.created", refund.ID, refund.Render(), nil)
	event.Emit(tx, "refund.failed", refund.ID, refund.Render(), nil)
}

// releaseOfHold is the refund that represents the void of an authorization.
func (c *Charge) releaseOfHold(tx *phase.Tx, reason *string) Refund {
	return Refund{
		AccountID:       tx.AccountID,
		ID:              id.New("re", tx.Now()),
		Livemode:        tx.Livemode,
		RequestID:       tx.RequestID,
		ChargeID:        c.ID,
		PaymentIntentID: c.PaymentIntentID,
		Amount:          c.refundable(),
		Currency:        c.Currency,
		Status:          refundPending,
		Reason:          reason,
		Kind:            refundOfHold,
		Metadata:        map[string]string{},
		CreatedAt:       tx.Now(),
	}
}
