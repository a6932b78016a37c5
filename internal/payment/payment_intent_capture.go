package payment

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// CapturePaymentIntentParams are what POST /v1/payment_intents/{intent}/capture takes.
type CapturePaymentIntentParams struct {
	ID                        string        `path:"intent"`
	AmountToCapture           *int64        `form:"amount_to_capture" min:"1"`
	FinalCapture              *bool         `form:"final_capture"`
	Metadata                  form.Metadata `form:"metadata"`
	StatementDescriptor       *string       `form:"statement_descriptor" max:"22"`
	StatementDescriptorSuffix *string       `form:"statement_descriptor_suffix" max:"22"`
	Expand                    form.Expand   `form:"expand"`
}

// CapturePaymentIntent captures an authorized intent, or part of it, and releases the rest.
//
//	(nothing) ──▶ capture_recorded ──▶ capture_answered ──▶ payment_captured
//	  claim + reserve the intent    call, no tx open    post to the ledger, answer
//
// As with a charge without an intent, there is no compensation.
var CapturePaymentIntent = phase.Define("payment_intent.capture", 1,
	phase.Atomic(captureRecorded, recordIntentCapture),
	phase.Foreign(captureAnswered, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ CapturePaymentIntentParams, s *captureState,
	) (err error) {
		s.Result, err = call.To().Capture(ctx, call.Permit, s.Order)
		return err
	}),
	phase.Atomic(paymentCaptured, finalizeIntentCapture),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *CapturePaymentIntentParams) error {
	if err := resource.CheckDescriptors(in.StatementDescriptor, in.StatementDescriptorSuffix); err != nil {
		return err
	}
	if in.FinalCapture != nil && !*in.FinalCapture {
		return apierror.Invalid("final_capture",
			"This account is not eligible for multiple captures of a payment: the first capture is the final one.")
	}
	if _, err := in.Metadata.Apply(nil); err != nil {
		return err
	}
	_, err := readIntent(ctx, db, resource.PrincipalOfCheck(caller), in.ID, "")
	return err
})

const paymentCaptured = "payment_captured"

func recordIntentCapture(
	ctx context.Context, tx *phase.Tx, in CapturePaymentIntentParams, s *captureState,
) (phase.Outcome, error) {
	intent, err := LockIntent(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if intent.LockedBy != nil {
		return phase.Outcome{}, apierror.Locked()
	}
	amount := intent.AmountCapturable
	if in.AmountToCapture != nil {
		amount = *in.AmountToCapture
	}
	if refusal := intent.refuseCapture(amount); refusal != nil {
		return phase.Refuse(intent.ID, refusal), nil
	}
	charge, err := intent.reserveCharge(ctx, tx)
	if err != nil {
		return phase.Outcome{}, err
	}
	if charge.CaptureBefore.Before(apirequest.AccountNow(tx)) {
		return phase.Outcome{},
			apierror.Invalid("", "The authorization of PaymentIntent %s has expired and can no longer be captured.",
				intent.ID).WithCode("charge_expired_for_capture")
	}
	s.Order = acquirer.Order{Authorization: *charge.AcquirerReference, Amount: amount, Currency: charge.Currency}
	return phase.Next, nil
}

// reserveCharge keeps others from capturing or canceling the intent while the
// acquirer is asked, and returns the charge that holds its money.
func (p *PaymentIntent) reserveCharge(ctx context.Context, tx *phase.Tx) (*Charge, error) {
	charge, err := lockedCharge(ctx, tx, *p.LatestCharge)
	if err != nil {
		return nil, err
	}
	p.LockedBy = &tx.RequestID
	p.Update(tx)
	charge.reserve(tx)
	return charge, nil
}

// A capture of an intent leaves no refund behind: what was not taken was never charged.
func finalizeIntentCapture(
	ctx context.Context, tx *phase.Tx, in CapturePaymentIntentParams, s *captureState,
) (phase.Outcome, error) {
	intent, err := LockIntent(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	charge, err := lockedCharge(ctx, tx, *intent.LatestCharge)
	if err != nil {
		return phase.Outcome{}, err
	}
	intent.LockedBy = nil
	if !s.Result.Approved {
		charge.release(tx)
		intent.Update(tx)
		return phase.Refuse(intent.ID,
			apierror.Invalid("", "PaymentIntent %s could not be captured: %s", intent.ID, s.Result.Message)), nil
	}
	before := charge.object()
	charge.describe(tx, CaptureChargeParams{
		StatementDescriptor:       in.StatementDescriptor,
		StatementDescriptorSuffix: in.StatementDescriptorSuffix,
	})
	fresh := []resource.Renderer{charge.capture(tx, s.Order.Amount)}
	charge.writeCapture(tx)
	previous, err := event.Changes(before, charge.object())
	if err != nil {
		return phase.Outcome{}, err
	}
	intent.Status, intent.AmountReceived, intent.AmountCapturable = IntentSucceeded, s.Order.Amount, 0
	if intent.Metadata, err = in.Metadata.Apply(intent.Metadata); err != nil {
		return phase.Outcome{}, err
	}
	intent.Update(tx)
	if intent.CheckoutSession != nil {
		owners.Captured(tx, *intent.CheckoutSession)
	}
	event.Emit(tx, "charge.captured", charge.ID, charge.Render(), previous)
	event.Emit(tx, "payment_intent.succeeded", intent.ID, intent.Render(), nil)
	return replyWithIntent(ctx, tx, in.Expand, intent, append(fresh, charge)...)
}
