package payment

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// CaptureChargeParams are what POST /v1/charges/{charge}/capture takes.
type CaptureChargeParams struct {
	ID                        string      `path:"charge"`
	Amount                    *int64      `form:"amount" min:"1"`
	ReceiptEmail              *string     `form:"receipt_email" max:"800"`
	StatementDescriptor       *string     `form:"statement_descriptor" max:"22"`
	StatementDescriptorSuffix *string     `form:"statement_descriptor_suffix" max:"22"`
	TransferGroup             *string     `form:"transfer_group" max:"5000"`
	Expand                    form.Expand `form:"expand"`
}

type captureState struct {
	Order  acquirer.Order
	Result acquirer.Result `json:"Answer"` // as stored requests name it
}

// The recovery points of a capture.
const (
	captureRecorded = "capture_recorded"
	captureAnswered = "capture_answered"
	chargeCaptured  = "charge_captured"
)

// CaptureCharge captures an authorized charge, or part of it, and releases the rest.
//
//	(nothing) ──▶ capture_recorded ──▶ capture_answered ──▶ charge_captured
//	   claim + reserve the charge    call, no tx open    post to the ledger, answer
//
// It has no compensation: the merchant asked for money that is already held, and a
// capture that is finished late is still the one that was asked for.
var CaptureCharge = phase.Define("charge.capture", 1,
	phase.Atomic(captureRecorded, recordCapture),
	phase.Foreign(captureAnswered, acquirer.Port, callForCapture),
	phase.Atomic(chargeCaptured, finalizeCapture),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *CaptureChargeParams) error {
	if err := resource.CheckDescriptors(in.StatementDescriptor, in.StatementDescriptorSuffix); err != nil {
		return err
	}
	if err := resource.CheckEmail("receipt_email", in.ReceiptEmail); err != nil {
		return err
	}
	return ChargeExists(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
})

// An authorization is captured or voided by one request at a time.
const reserveCharge = `
	UPDATE charges SET locked_by = @request_id WHERE account_id = @account_id AND id = @id AND locked_by IS NULL`

func (c *Charge) reserve(tx *phase.Tx) {
	tx.WriteOne(reserveCharge, pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": c.ID, "request_id": tx.RequestID})
}

func recordCapture(ctx context.Context, tx *phase.Tx, in CaptureChargeParams, s *captureState) (phase.Outcome, error) {
	charge, err := lockedCharge(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if charge.LockedBy != nil || charge.Status == chargePending {
		return phase.Outcome{}, apierror.Locked()
	}
	if refusal := charge.refuseCapture(tx, in); refusal != nil {
		return phase.Refuse(charge.ID, refusal), nil
	}
	_, err = resource.SetOnce("transfer_group", charge.ID, charge.TransferGroup, in.TransferGroup)
	if err != nil {
		return phase.Outcome{}, err
	}
	charge.reserve(tx)
	s.Order = acquirer.Order{Authorization: *charge.AcquirerReference, Amount: charge.Amount, Currency: charge.Currency}
	if in.Amount != nil {
		s.Order.Amount = *in.Amount
	}
	return phase.Next, nil
}

// refuseCapture says why a charge cannot be captured, or nil.
func (c *Charge) refuseCapture(tx *phase.Tx, in CaptureChargeParams) *apierror.Error {
	switch {
	case c.PaymentIntentID != nil:
		return apierror.Invalid("",
			"This Charge (%s) belongs to a PaymentIntent and cannot be captured directly: capture %s instead.", c.ID,
			*c.PaymentIntentID)
	case c.Status == chargeFailed:
		return apierror.Invalid("", "Charge %s could not be captured because it has failed.", c.ID)
	case c.Captured:
		return apierror.Invalid("", "Charge %s has already been captured.", c.ID).WithCode("charge_already_captured")
	case c.AmountRefunded > 0:
		return apierror.Invalid("", "Charge %s has already been refunded.", c.ID).WithCode("charge_already_refunded")
	case c.CaptureBefore.Before(apirequest.AccountNow(tx)):
		return apierror.Invalid("", "Charge %s has expired and can no longer be captured.", c.ID).
			WithCode("charge_expired_for_capture")
	case in.Amount != nil && *in.Amount > c.Amount:
		return apierror.Invalid("amount", tooMuchToCapture) // without the code that an intent's refusal has
	}
	return nil
}

func callForCapture(
	ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ CaptureChargeParams, s *captureState,
) (err error) {
	s.Result, err = call.To().Capture(ctx, call.Permit, s.Order)
	return err
}

const captureChargeRow = `
	UPDATE charges
	SET captured = true, amount_captured = @amount_captured, amount_refunded = @amount_refunded,
	    balance_transaction = @balance_transaction, capture_before = NULL, locked_by = NULL,
	    receipt_email = @receipt_email, card = @card, statement_descriptor = @statement_descriptor,
	    statement_descriptor_suffix = @statement_descriptor_suffix, transfer_group = @transfer_group
	WHERE account_id = @account_id AND id = @id AND NOT captured AND locked_by = @request_id`

const releaseCharge = `
	UPDATE charges SET locked_by = NULL WHERE account_id = @account_id AND id = @id AND locked_by = @request_id`

func (c *Charge) release(tx *phase.Tx) {
	tx.WriteOne(releaseCharge, pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": c.ID, "request_id": tx.RequestID})
}

func finalizeCapture(
	ctx context.Context, tx *phase.Tx, in CaptureChargeParams, s *captureState,
) (phase.Outcome, error) {
	charge, err := lockedCharge(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if !s.Result.Approved {
		charge.release(tx)
		return phase.Refuse(charge.ID,
			apierror.Invalid("", "Charge %s could not be captured: %s", charge.ID, s.Result.Message)), nil
	}
	before := charge.object()
	charge.describe(tx, in)
	fresh := []resource.Renderer{charge.capture(tx, s.Order.Amount)}
	if rest := charge.Amount - charge.AmountCaptured; rest > 0 {
		refund := charge.recordRemainder(tx, rest)
		fresh = append(fresh, &refund)
		event.Emit(tx, "refund.created", refund.ID, refund.Render(), nil)
	}
	charge.writeCapture(tx)
	previous, err := event.Changes(before, charge.object())
	if err != nil {
		return phase.Outcome{}, err
	}
	event.Emit(tx, "charge.captured", charge.ID, charge.Render(), previous)
	return replyWithCharge(ctx, tx, in.Expand, charge, fresh...)
}

func (c *Charge) writeCapture(tx *phase.Tx) {
	tx.WriteOne(captureChargeRow, pgx.StrictNamedArgs{
		"account_id":                  tx.AccountID,
		"id":                          c.ID,
		"request_id":                  tx.RequestID,
		"amount_captured":             c.AmountCaptured,
		"amount_refunded":             c.AmountRefunded,
		"balance_transaction":         c.BalanceTransaction,
		"receipt_email":               c.ReceiptEmail,
		"card":                        c.Card,
		"statement_descriptor":        c.StatementDescriptor,
		"statement_descriptor_suffix": c.StatementDescriptorSuffix,
		"transfer_group":              c.TransferGroup,
	})
}

// describe takes over what a capture may still change of a charge's texts.
func (c *Charge) describe(tx *phase.Tx, in CaptureChargeParams) {
	c.ReceiptEmail = resource.Patch(in.ReceiptEmail, c.ReceiptEmail)
	c.StatementDescriptor = resource.Patch(in.StatementDescriptor, c.StatementDescriptor)
	c.StatementDescriptorSuffix = resource.Patch(in.StatementDescriptorSuffix, c.StatementDescriptorSuffix)
	if c.TransferGroup == nil { // an update may have set it while the acquirer was asked
		c.TransferGroup = resource.Patch(in.TransferGroup, nil)
	}
	c.Card.Descriptor = statement(apirequest.Of(tx.Caller).StatementDescriptor, c.StatementDescriptor,
		c.StatementDescriptorSuffix)
}

// recordRemainder records what a partial capture did not take. Stripe shows it as a refund
// of the rest; no money moves, so nothing is posted.
func (c *Charge) recordRemainder(tx *phase.Tx, rest int64) Refund {
	refund := Refund{
		AccountID: tx.AccountID,
		ID:        id.New("re", tx.Now()),
		Livemode:  tx.Livemode,
		RequestID: tx.RequestID,
		ChargeID:  c.ID,
		Amount:    rest,
		Currency:  c.Currency,
		Status:    refundSucceeded,
		Kind:      refundOfRemainder,
		Metadata:  map[string]string{},
		CreatedAt: tx.Now(),
	}
	refund.insert(tx)
	c.AmountRefunded += rest
	return refund
}
