package payment

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/balance"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// RefundParams are what any way of refunding takes.
type RefundParams struct {
	Amount   *int64        `form:"amount" min:"1"`
	Reason   *string       `form:"reason" enum:"duplicate,fraudulent,requested_by_customer"`
	Metadata form.Metadata `form:"metadata"`
	Expand   form.Expand   `form:"expand"`
}

// CreateRefundParams are what POST /v1/refunds takes.
type CreateRefundParams struct {
	Charge        string `form:"charge"`
	PaymentIntent string `form:"payment_intent"`
	RefundParams
}

// RefundChargeParams are what POST /v1/charges/{charge}/refunds and its older
// form …/refund take.
type RefundChargeParams struct {
	Charge string `path:"charge"`
	RefundParams
}

type refundState struct {
	Refund Refund
	Order  acquirer.Order
	Result acquirer.Result `json:"Answer"` // as stored requests name it

	Whole        bool              // the answer is the charge
	FraudDetails map[string]string // of the charge, before the refund says that it was a fraud
}

// The recovery points of a refund.
const (
	refundRecorded  = "refund_recorded"
	refundAnswered  = "refund_answered"
	refundFinalized = "refund_finalized"
)

// CreateRefund refunds a captured charge, or voids one that was only authorized.
//
//	(nothing) ──▶ refund_recorded ──▶ refund_answered ──▶ refund_finalized
//	 claim + reserve the amount     call, no tx open    post to the ledger, answer
//
// The amount is reserved on the charge before anything is asked, so that two
// refunds at once cannot both have the last of it. There is no compensation: a
// refund that is finished late is still the one the merchant asked for.
var CreateRefund = phase.Define("refund.create", 2,
	phase.Atomic(refundRecorded, func(
		ctx context.Context, tx *phase.Tx, in CreateRefundParams, s *refundState,
	) (phase.Outcome, error) {
		return recordRefund(ctx, tx, in.Charge, in.RefundParams, s)
	}),
	phase.Foreign(refundAnswered, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ CreateRefundParams, s *refundState,
	) error {
		return callForRefund(ctx, call, s)
	}),
	phase.Atomic(refundFinalized, func(
		ctx context.Context, tx *phase.Tx, in CreateRefundParams, s *refundState,
	) (phase.Outcome, error) {
		_, refund, fresh, err := finalizeRefund(ctx, tx, s)
		if err != nil {
			return phase.Outcome{}, err
		}
		return replyWithRefund(ctx, tx, in.Expand, refund, fresh...)
	}),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *CreateRefundParams) error {
	if in.Charge == "" && in.PaymentIntent == "" {
		return apierror.Invalid("",
			"One of the following params should be provided for this request: payment_intent or charge.").
			WithCode("parameter_missing")
	}
	if _, err := in.Metadata.Apply(nil); err != nil {
		return err
	}
	if in.PaymentIntent != "" {
		return in.findCharge(ctx, db, resource.PrincipalOfCheck(caller))
	}
	// 404, as at Stripe, although no path names the charge
	return ChargeExists(ctx, db, resource.PrincipalOfCheck(caller), in.Charge)
})

// findCharge finds the charge that paid the intent.
func (in *CreateRefundParams) findCharge(ctx context.Context, db phase.Reader, v resource.Principal) error {
	intent, err := resource.Get[PaymentIntent](ctx, db, IntentByID, v, in.PaymentIntent)
	if err != nil {
		return err
	}
	if intent == nil {
		return apierror.NoSuch("payment_intent", "payment_intent", in.PaymentIntent)
	}
	if refusal := intent.refuseRefund(); refusal != nil {
		return refusal
	}
	if in.Charge != "" && in.Charge != *intent.LatestCharge {
		return apierror.Invalid("charge", "The charge %s does not belong to the PaymentIntent %s.",
			form.Quote(in.Charge), intent.ID)
	}
	in.Charge = *intent.LatestCharge
	return nil
}

// RefundCharge is CreateRefund at the charge's own address.
var RefundCharge = refundAt("charge.refund.create", false, func(
	ctx context.Context, tx *phase.Tx, in RefundChargeParams, s *refundState,
) (phase.Outcome, error) {
	_, refund, fresh, err := finalizeRefund(ctx, tx, s)
	if err != nil {
		return phase.Outcome{}, err
	}
	return replyWithRefund(ctx, tx, in.Expand, refund, fresh...)
})

// RefundWholeCharge is the oldest form, which answers with the charge.
var RefundWholeCharge = refundAt("charge.refund", true, func(
	ctx context.Context, tx *phase.Tx, in RefundChargeParams, s *refundState,
) (phase.Outcome, error) {
	charge, _, fresh, err := finalizeRefund(ctx, tx, s)
	if err != nil {
		return phase.Outcome{}, err
	}
	return replyWithCharge(ctx, tx, in.Expand, charge, fresh...)
})

func refundAt(
	name string, whole bool,
	finalize func(context.Context, *phase.Tx, RefundChargeParams, *refundState) (phase.Outcome, error),
) *phase.Flow[RefundChargeParams, refundState] {
	return phase.Define(name, 2,
		phase.Atomic(refundRecorded, func(
			ctx context.Context, tx *phase.Tx, in RefundChargeParams, s *refundState,
		) (phase.Outcome, error) {
			s.Whole = whole
			return recordRefund(ctx, tx, in.Charge, in.RefundParams, s)
		}),
		phase.Foreign(refundAnswered, acquirer.Port, func(
			ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ RefundChargeParams, s *refundState,
		) error {
			return callForRefund(ctx, call, s)
		}),
		phase.Atomic(refundFinalized, finalize),
	).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *RefundChargeParams) error {
		if _, err := in.Metadata.Apply(nil); err != nil {
			return err
		}
		return ChargeExists(ctx, db, resource.PrincipalOfCheck(caller), in.Charge)
	})
}

// The CHECK "charges_refunded_is_at_most_the_amount" refuses what gets past refuseRefund.
const reserveRefund = `
	UPDATE charges SET amount_refunded = amount_refunded + @amount, locked_by = @locked_by,
	    fraud_details = @fraud_details
	WHERE account_id = @account_id AND id = @id AND locked_by IS NULL`

// recordRefund reserves the amount. A refund that was adopted is the answer.
func recordRefund(
	ctx context.Context, tx *phase.Tx, chargeID string, in RefundParams, s *refundState,
) (phase.Outcome, error) {
	charge, err := lockedCharge(ctx, tx, chargeID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if charge.LockedBy != nil || charge.Status == chargePending {
		return phase.Outcome{}, apierror.Locked()
	}
	adopted, err := charge.adoptedRefund(ctx, tx)
	if err != nil {
		return phase.Outcome{}, err
	}
	if adopted != nil && s.Whole {
		return replyWithCharge(ctx, tx, in.Expand, charge)
	}
	if adopted != nil {
		return replyWithRefund(ctx, tx, in.Expand, adopted)
	}
	amount := charge.refundable()
	if in.Amount != nil {
		amount = *in.Amount
	}
	if refusal := charge.refuseRefund(amount); refusal != nil {
		return phase.Refuse(charge.ID, refusal), nil
	}
	if err := s.order(tx, charge, in, amount); err != nil {
		return phase.Outcome{}, err
	}
	var busyWith *string
	if !charge.Captured {
		busyWith = &tx.RequestID // an authorization cannot be captured while it is voided
	}
	if in.Reason != nil && *in.Reason == "fraudulent" {
		s.FraudDetails = charge.FraudDetails
		charge.report("fraudulent")
	}
	tx.WriteOne(reserveRefund, pgx.StrictNamedArgs{
		"account_id":    tx.AccountID,
		"id":            charge.ID,
		"amount":        amount,
		"locked_by":     busyWith,
		"fraud_details": charge.FraudDetails,
	})
	s.Refund.insert(tx)
	return phase.Next, nil
}

// order sets the pending refund, and the order for the acquirer under which it is made.
func (s *refundState) order(tx *phase.Tx, charge *Charge, in RefundParams, amount int64) error {
	metadata, err := in.Metadata.Apply(nil)
	if err != nil {
		return err
	}
	s.Refund = Refund{
		AccountID:       tx.AccountID,
		ID:              id.New("re", tx.Now()),
		Livemode:        tx.Livemode,
		RequestID:       tx.RequestID,
		ChargeID:        charge.ID,
		PaymentIntentID: charge.PaymentIntentID,
		Amount:          amount,
		Currency:        charge.Currency,
		Status:          refundPending,
		Reason:          in.Reason,
		Kind:            refundOfMoney,
		Metadata:        metadata,
		CreatedAt:       tx.Now(),
	}
	s.Order = acquirer.Order{
		Authorization: *charge.AcquirerReference,
		Amount:        amount,
		Currency:      charge.Currency,
		Object:        s.Refund.ID,
	}
	if !charge.Captured {
		s.Refund.Kind = refundOfHold
	}
	return nil
}

// refuseRefund says why amount cannot be refunded, or nil.
func (c *Charge) refuseRefund(amount int64) *apierror.Error {
	switch {
	case c.Status == chargeFailed:
		return apierror.Invalid("", "Charge %s failed and cannot be refunded.", c.ID)
	case c.PaymentIntentID != nil && !c.Captured && c.AmountRefunded == 0:
		return apierror.Invalid("",
			"Charge %s has been authorized and not captured: cancel its PaymentIntent, %s, to release the hold.",
			c.ID, *c.PaymentIntentID)
	case c.AmountChargedBack > 0:
		return apierror.Invalid("", "Charge %s has been charged back; cannot issue a refund.", c.ID).
			WithCode("charge_disputed")
	case c.refundable() == 0:
		return apierror.Invalid("", "Charge %s has already been refunded.", c.ID).WithCode("charge_already_refunded")
	case amount > c.refundable() && c.refundable() == c.Amount:
		return apierror.Invalid("amount", "Refund amount (%s) is greater than charge amount (%s)",
			money.Format(amount, c.Currency), money.Format(c.Amount, c.Currency))
	case amount > c.refundable():
		return apierror.Invalid("amount", "Refund amount (%s) is greater than unrefunded amount on charge (%s)",
			money.Format(amount, c.Currency), money.Format(c.refundable(), c.Currency))
	case !c.Captured && amount < c.Amount:
		return apierror.Invalid("amount",
			"You cannot partially refund an uncaptured charge. Instead, capture the charge for an amount less than "+
				"the original amount")
	}
	return nil
}

func callForRefund(ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], s *refundState) (err error) {
	if s.Refund.Kind == refundOfHold {
		s.Result, err = call.To().Void(ctx, call.Permit, s.Order)
		return err
	}
	s.Result, err = call.To().Refund(ctx, call.Permit, s.Order)
	return err
}

const returnReservation = `
	UPDATE charges SET amount_refunded = amount_refunded - @amount, locked_by = NULL
	WHERE account_id = @account_id AND id = @id`

// finalizeRefund records what the acquirer answered and books the money. It
// returns the charge, the refund and what else is new. The refund is read again: its
// metadata may have changed while the acquirer was asked.
func finalizeRefund(ctx context.Context, tx *phase.Tx, s *refundState) (*Charge, *Refund, []resource.Renderer, error) {
	charge, err := lockedCharge(ctx, tx, s.Refund.ChargeID)
	if err != nil {
		return nil, nil, nil, err
	}
	refund, err := lockedRefund(ctx, tx, s.Refund.ID)
	if err != nil {
		return nil, nil, nil, err
	}
	if !s.Result.Approved {
		charge.AmountRefunded -= refund.Amount
		tx.WriteOne(returnReservation,
			pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": charge.ID, "amount": refund.Amount})
		refund.Status, refund.FailureReason = refundFailed, resource.NilIfEmpty("declined")
		refund.finalize(tx)
		event.Emit(tx, "refund.created", refund.ID, refund.Render(), nil)
		event.Emit(tx, "refund.failed", refund.ID, refund.Render(), nil)
		return charge, refund, []resource.Renderer{charge}, nil
	}
	refund.Status, refund.AcquirerReference = refundSucceeded, &s.Result.Reference
	fresh := []resource.Renderer{charge}
	switch {
	case refund.Kind == refundOfHold:
		charge.release(tx)
	case s.Result.RefundStatus == refundPending:
		refund.Status = refundPending // a notification tells how it ends
	default:
		fresh = append(fresh, refund.post(tx, charge))
	}
	refund.finalize(tx)
	before := *charge
	before.AmountRefunded -= refund.Amount // which is counted since the refund is under way
	if s.FraudDetails != nil {
		before.FraudDetails = s.FraudDetails
	}
	previous, err := event.Changes(before.object(), charge.object())
	if err != nil {
		return nil, nil, nil, err
	}
	event.Emit(tx, "refund.created", refund.ID, refund.Render(), nil)
	event.Emit(tx, "charge.refunded", charge.ID, charge.Render(), previous)
	return charge, refund, append(fresh, refund), nil
}

// post books a refund that has succeeded and returns its balance transaction.
func (r *Refund) post(tx *phase.Tx, charge *Charge) *balance.BalanceTransaction {
	posting := ledger.Refund(id.New("txn", tx.Now()), r.ID, r.Currency, r.Amount, tx.Now())
	ledger.Post(tx, posting)
	ledger.ChainRefund(tx, charge.ID, charge.AmountCaptured, r.ID, r.Amount, r.Currency)
	r.BalanceTransaction = &posting.ID
	return balance.BalanceTransactionOf(tx, posting)
}

func replyWithRefund(
	ctx context.Context, tx *phase.Tx, paths form.Expand, refund *Refund, fresh ...resource.Renderer,
) (phase.Outcome, error) {
	return resource.Reply(ctx, tx, paths, refund.ID, refund.Render(), fresh...)
}
