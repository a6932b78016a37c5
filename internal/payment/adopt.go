package payment

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// AdoptParams are a movement that the acquirer executed and that a restored backup has
// lost, and the authorization that it belongs to. Package adoption has the flows.
//
// The adoption's idempotency key names the key of the lost call. A retry of the lost
// request has the same call key, and finds by it what was adopted.
type AdoptParams struct {
	Authorization string
	Card          string
	Currency      string
	Executed      acquirer.Executed
}

// Find locks the charge that has the authorization. It returns nil if there is none.
func (in AdoptParams) Find(ctx context.Context, tx *phase.Tx) (*Charge, error) {
	args := resource.PrincipalOf(tx.Caller).Args()
	args["reference"] = in.Authorization
	return resource.QueryOne[Charge](ctx, tx, SelectCharges+` AND acquirer_reference = @reference FOR NO KEY UPDATE`,
		args)
}

// Charge stores a charge for an authorization or a sale that only the acquirer has, and posts a sale to the ledger.
func (in AdoptParams) Charge(tx *phase.Tx) (phase.Outcome, error) {
	card, known := customer.VaultCard(in.Card, tx.Keys(secret.Cards).Oldest(), in.Executed.At)
	if !known {
		return phase.Outcome{}, apierror.Invalid("", "Unknown card: %s.", in.Card)
	}
	charge := &Charge{
		AccountID: tx.AccountID, ID: in.objectID("ch"), Livemode: tx.Livemode, RequestID: tx.RequestID,
		Amount: in.Executed.Amount, Currency: in.Currency, Status: chargePending, CreatedAt: in.Executed.At,
		Metadata: map[string]string{}, FraudDetails: map[string]string{},
		Card: ChargedCard{Card: card, ID: id.New("card", in.Executed.At),
			Descriptor: statement(apirequest.Of(tx.Caller).StatementDescriptor, nil, nil)},
	}
	charge.insert(tx)
	answer := in.Executed.Result
	answer.Approved, answer.Reference = true, in.Authorization
	charge.applyResult(answer)
	if in.Executed.Kind == acquirer.KindSale {
		charge.capture(tx, charge.Amount)
	} else {
		charge.CaptureBefore = new(in.Executed.At.Add(authorizationTime))
	}
	charge.finalize(tx)
	event.Emit(tx, "charge.succeeded", charge.ID, charge.Render(), nil)
	return phase.OK(charge.ID, charge.Render()), nil
}

// objectID is the ID of the lost object, if the acquirer knows it.
func (in AdoptParams) objectID(prefix string) string {
	if strings.HasPrefix(in.Executed.Object, prefix+"_") {
		return in.Executed.Object
	}
	return id.New(prefix, in.Executed.At)
}

// Capture books the capture of a charge's hold.
func (in AdoptParams) Capture(tx *phase.Tx, charge *Charge) (phase.Outcome, error) {
	if charge == nil || charge.Captured || charge.AmountRefunded > 0 {
		return phase.Outcome{}, apierror.Invalid("", "No charge has the authorization %s.", in.Authorization)
	}
	if charge.PaymentIntentID != nil {
		return phase.Outcome{}, apierror.Invalid("", "Charge %s belongs to %s.", charge.ID, *charge.PaymentIntentID)
	}
	before := charge.object()
	charge.capture(tx, in.Executed.Amount)
	if rest := charge.Amount - charge.AmountCaptured; rest > 0 {
		refund := charge.recordRemainder(tx, rest)
		event.Emit(tx, "refund.created", refund.ID, refund.Render(), nil)
	}
	charge.reserve(tx)
	charge.writeCapture(tx)
	previous, err := event.Changes(before, charge.object())
	if err != nil {
		return phase.Outcome{}, err
	}
	event.Emit(tx, "charge.captured", charge.ID, charge.Render(), previous)
	return phase.OK(charge.ID, charge.Render()), nil
}

// Refund books a refund, or the void of a hold.
func (in AdoptParams) Refund(tx *phase.Tx, charge *Charge) (phase.Outcome, error) {
	amount, kind := in.Executed.Amount, refundOfMoney
	if in.Executed.Kind == acquirer.KindRelease {
		kind = refundOfHold
	}
	switch {
	case charge == nil || charge.Captured != (kind == refundOfMoney) || charge.refundable() < amount:
		return phase.Outcome{}, apierror.Invalid("",
			"No charge has %d left of the authorization %s.", amount, in.Authorization)
	case charge.PaymentIntentID != nil && kind == refundOfHold:
		return phase.Outcome{}, apierror.Invalid("", "Charge %s belongs to %s.", charge.ID, *charge.PaymentIntentID)
	}
	refund := Refund{
		AccountID:       tx.AccountID,
		ID:              in.objectID("re"),
		Livemode:        tx.Livemode,
		RequestID:       tx.RequestID,
		ChargeID:        charge.ID,
		PaymentIntentID: charge.PaymentIntentID,
		Amount:          amount,
		Currency:        charge.Currency,
		Status:          refundPending,
		Kind:            kind,
		Metadata:        map[string]string{},
		CreatedAt:       in.Executed.At,
	}
	refund.insert(tx)
	before := charge.object()
	charge.AmountRefunded += amount
	tx.WriteOne(reserveRefund, pgx.StrictNamedArgs{
		"account_id": tx.AccountID, "id": charge.ID, "amount": amount, "locked_by": nil,
		"fraud_details": charge.FraudDetails})
	refund.AcquirerReference = &in.Executed.Reference
	if kind == refundOfHold || in.Executed.Result.RefundStatus != refundPending {
		refund.Status = refundSucceeded
	}
	if refund.Status == refundSucceeded && kind == refundOfMoney {
		refund.post(tx, charge)
	}
	refund.finalize(tx)
	previous, err := event.Changes(before, charge.object())
	if err != nil {
		return phase.Outcome{}, err
	}
	event.Emit(tx, "refund.created", refund.ID, refund.Render(), nil)
	event.Emit(tx, "charge.refunded", charge.ID, charge.Render(), previous)
	return phase.OK(refund.ID, refund.Render()), nil
}

// supersede ends the retry of a lost request whose charge has been adopted: the
// retry's own charge, c, goes.
func (c *Charge) supersede(tx *phase.Tx, adopted *Charge) error {
	// The function drops a pending charge whose call an adoption has taken over, and no other.
	const dropSuperseded = `SELECT drop_superseded_charge(@account_id, @id)`
	tx.Write(dropSuperseded, pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": c.ID})
	return adopted.describeAs(tx, c)
}

// describeAs gives an adopted charge what only its client knows of it.
func (c *Charge) describeAs(tx *phase.Tx, retried *Charge) error {
	const describeAdopted = `
	UPDATE charges
	SET payment_intent_id = @payment_intent_id, customer_id = @customer_id, card = @card, description = @description,
	    metadata = @metadata, receipt_email = @receipt_email, shipping = @shipping,
	    statement_descriptor = @statement_descriptor, statement_descriptor_suffix = @statement_descriptor_suffix,
	    transfer_group = @transfer_group
	WHERE account_id = @account_id AND id = @id`
	before := c.object()
	c.PaymentIntentID, c.CustomerID, c.Card = retried.PaymentIntentID, retried.CustomerID, retried.Card
	c.Description, c.Metadata = retried.Description, retried.Metadata
	c.ReceiptEmail, c.Shipping = retried.ReceiptEmail, retried.Shipping
	c.StatementDescriptor, c.StatementDescriptorSuffix = retried.StatementDescriptor, retried.StatementDescriptorSuffix
	c.TransferGroup = retried.TransferGroup
	tx.WriteOne(describeAdopted, pgx.StrictNamedArgs{
		"account_id": tx.AccountID, "id": c.ID, "payment_intent_id": c.PaymentIntentID, "customer_id": c.CustomerID,
		"card":        c.Card,
		"description": c.Description, "metadata": c.Metadata, "receipt_email": c.ReceiptEmail, "shipping": c.Shipping,
		"statement_descriptor": c.StatementDescriptor, "statement_descriptor_suffix": c.StatementDescriptorSuffix,
		"transfer_group": c.TransferGroup,
	})
	previous, err := event.Changes(before, c.object())
	if err != nil {
		return err
	}
	event.Emit(tx, "charge.updated", c.ID, c.Render(), previous)
	return nil
}

// takeAdopted pays an intent with the charge that was adopted in its place. It returns
// the objects that it has changed besides the intent.
func (s *Attempt) takeAdopted(
	ctx context.Context, tx *phase.Tx, intent *PaymentIntent, adopted *Charge,
) ([]resource.Renderer, error) {
	retried := intent.pendingCharge(tx, s.Method)
	retried.applyResult(s.Result)
	if err := adopted.describeAs(tx, retried); err != nil {
		return nil, err
	}
	intent.LatestCharge = &adopted.ID
	kind := "payment_intent.succeeded"
	if adopted.Captured {
		intent.Status, intent.AmountReceived = IntentSucceeded, adopted.AmountCaptured
	} else {
		intent.Status, intent.AmountCapturable = IntentNeedsCapture, adopted.Amount
		kind = "payment_intent.amount_capturable_updated"
	}
	method, err := s.consumeMethod(ctx, tx, intent)
	if err != nil {
		return nil, err
	}
	intent.conclude(tx)
	event.Emit(tx, kind, intent.ID, intent.Render(), nil)
	return []resource.Renderer{adopted, method}, nil
}

// adoptedRefund finds the refund that was adopted in place of this request's, or nil.
func (c *Charge) adoptedRefund(ctx context.Context, tx *phase.Tx) (*Refund, error) {
	if c.AmountRefunded == 0 {
		return nil, nil
	}
	const refundOfAdoption = selectRefunds + ` AND charge_id = @charge
		AND request_id = (SELECT q.id FROM requests q
		                  WHERE q.account_id = @account_id AND q.livemode = @livemode AND q.key = @key
		                    AND q.flow = 'refund.adopt')`
	args := resource.PrincipalOf(tx.Caller).Args()
	args["charge"], args["key"] = c.ID, acquirer.AdoptionKey(tx.CallKey(refundAnswered))
	return resource.QueryOne[Refund](ctx, tx, refundOfAdoption, args)
}
