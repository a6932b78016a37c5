package payment

import (
	"context"
	"fmt"
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

// Adoption books a movement that the acquirer executed and that this database has lost,
// after an old backup was restored. Each movement is one request and one transaction.
// The request's idempotency key names the key of the lost call, so a movement is adopted
// once, and a retry of the lost request finds what was adopted under its own call key.

// AdoptParams are the movement to adopt, and the authorization that it belongs to.
type AdoptParams struct {
	Authorization string
	Card          string
	Currency      string
	Executed      acquirer.Executed
}

// AdoptionKey is the idempotency key of the adoption of what was executed under a call key.
func AdoptionKey(callKey string) string { return "adopt " + callKey }

// AdoptCharge, AdoptCapture and AdoptRefund book one movement each, if no request here
// has called under its key. AdoptRefund also books a void.
var (
	AdoptCharge  = adoption("charge.adopt", "charge_adopted", adoptCharge)
	AdoptCapture = adoption("charge.adopt_capture", "capture_adopted", adoptCapture)
	AdoptRefund  = adoption("refund.adopt", "refund_adopted", adoptRefund)
)

type adoptFunc func(ctx context.Context, tx *phase.Tx, in AdoptParams, charge *Charge) (phase.Outcome, error)

const (
	lockAuthorized = SelectCharges + ` AND acquirer_reference = @reference FOR NO KEY UPDATE`

	// The charge is locked before this statement reads: a request that announced its call
	// under the same lock is seen.
	isCalledHere = `
	SELECT EXISTS (SELECT FROM runs WHERE account_id = @account_id AND @key = ANY (call_keys))
	    OR EXISTS (SELECT FROM answers WHERE account_id = @account_id AND cardinality(call_keys) > 0 AND call_keys[1] = @key) AS here`
)

func adoption(name, point string, adopt adoptFunc) *phase.Flow[AdoptParams, struct{}] {
	return phase.Define(name, 1, phase.Atomic(point, func(ctx context.Context, tx *phase.Tx, in AdoptParams, _ *struct{}) (phase.Outcome, error) {
		charge, err := authorizedCharge(ctx, tx, in.Authorization)
		if err != nil {
			return phase.Outcome{}, err
		}
		called, err := resource.QueryOne[struct{ Here bool }](ctx, tx, isCalledHere,
			pgx.StrictNamedArgs{"account_id": tx.AccountID, "key": in.Executed.Key})
		switch {
		case err != nil:
			return phase.Outcome{}, fmt.Errorf("look for the call: %w", err)
		case called.Here:
			return phase.Outcome{}, apierror.Invalid("", "A request here has called the acquirer under %s.", in.Executed.Key)
		case charge != nil && charge.BusyWith != nil:
			return phase.Outcome{}, apierror.Locked()
		}
		return adopt(ctx, tx, in, charge)
	}))
}

// authorizedCharge locks the charge that has an authorization. It returns nil if there is none.
func authorizedCharge(ctx context.Context, tx *phase.Tx, reference string) (*Charge, error) {
	args := resource.PrincipalOf(tx.Caller).Args()
	args["reference"] = reference
	return resource.QueryOne[Charge](ctx, tx, lockAuthorized, args)
}

func adoptCharge(_ context.Context, tx *phase.Tx, in AdoptParams, there *Charge) (phase.Outcome, error) {
	if there != nil {
		return phase.Outcome{}, apierror.Invalid("", "Charge %s has the authorization %s.", there.ID, in.Authorization)
	}
	card, known := customer.VaultCard(in.Card, tx.KeyFor(secret.Cards), in.Executed.At)
	if !known {
		return phase.Outcome{}, apierror.Invalid("", "The card %s is not known here.", in.Card)
	}
	charge := &Charge{
		AccountID: tx.AccountID, ID: in.objectID("ch"), Livemode: tx.Livemode, RequestID: tx.RequestID,
		Amount: in.Executed.Amount, Currency: in.Currency, Status: chargePending, Metadata: map[string]string{}, FraudDetails: map[string]string{},
		Card:      ChargedCard{Card: card, ID: id.New("card", in.Executed.At), Descriptor: statement(apirequest.Of(tx.Caller).StatementDescriptor, nil, nil)},
		CreatedAt: in.Executed.At,
	}
	charge.insert(tx)
	answer := in.Executed.Answer
	answer.Approved, answer.Reference = true, in.Authorization
	charge.heard(answer)
	if in.Executed.Kind == acquirer.KindSale {
		charge.capture(tx, charge.Amount)
	} else {
		lapses := in.Executed.At.Add(authorizationTime)
		charge.CaptureBefore = &lapses
	}
	charge.settle(tx)
	event.Emit(tx, "charge.succeeded", charge.ID, charge.Render(), nil)
	return phase.OK(charge.ID, charge.Render()), nil
}

// objectID is the ID of the lost object, if the acquirer was told it.
func (in AdoptParams) objectID(prefix string) string {
	if strings.HasPrefix(in.Executed.Object, prefix+"_") {
		return in.Executed.Object
	}
	return id.New(prefix, in.Executed.At)
}

func adoptCapture(_ context.Context, tx *phase.Tx, in AdoptParams, charge *Charge) (phase.Outcome, error) {
	if charge == nil || charge.Captured || charge.AmountRefunded > 0 {
		return phase.Outcome{}, apierror.Invalid("", "No charge here holds the authorization %s.", in.Authorization)
	}
	if charge.PaymentIntentID != nil {
		return phase.Outcome{}, apierror.Invalid("", "Charge %s belongs to %s.", charge.ID, *charge.PaymentIntentID)
	}
	before := charge.object()
	charge.capture(tx, in.Executed.Amount)
	if rest := charge.Amount - charge.AmountCaptured; rest > 0 {
		refund := charge.letGo(tx, rest)
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

func adoptRefund(_ context.Context, tx *phase.Tx, in AdoptParams, charge *Charge) (phase.Outcome, error) {
	amount, kind := in.Executed.Amount, refundOfMoney
	if in.Executed.Kind == acquirer.KindRelease {
		kind = refundOfHold
	}
	switch {
	case charge == nil || charge.Captured != (kind == refundOfMoney) || charge.refundable() < amount:
		return phase.Outcome{}, apierror.Invalid("", "No charge here has %d left of the authorization %s.", amount, in.Authorization)
	case charge.PaymentIntentID != nil && kind == refundOfHold:
		return phase.Outcome{}, apierror.Invalid("", "Charge %s belongs to %s.", charge.ID, *charge.PaymentIntentID)
	}
	refund := Refund{
		AccountID: tx.AccountID, ID: in.objectID("re"), Livemode: tx.Livemode, RequestID: tx.RequestID, ChargeID: charge.ID,
		PaymentIntentID: charge.PaymentIntentID, Amount: amount, Currency: charge.Currency, Status: refundPending, Kind: kind,
		Metadata: map[string]string{}, CreatedAt: in.Executed.At,
	}
	refund.insert(tx)
	before := charge.object()
	charge.AmountRefunded += amount
	tx.WriteOne(reserveRefund, pgx.StrictNamedArgs{
		"account_id": tx.AccountID, "id": charge.ID, "amount": amount, "busy_with": nil, "fraud_details": charge.FraudDetails})
	refund.AcquirerReference = &in.Executed.Reference
	if kind == refundOfHold || in.Executed.Answer.RefundStatus != refundPending {
		refund.Status = refundSucceeded
	}
	if refund.Status == refundSucceeded && kind == refundOfMoney {
		refund.post(tx, charge)
	}
	refund.settle(tx)
	previous, err := event.Changes(before, charge.object())
	if err != nil {
		return phase.Outcome{}, err
	}
	event.Emit(tx, "refund.created", refund.ID, refund.Render(), nil)
	event.Emit(tx, "charge.refunded", charge.ID, charge.Render(), previous)
	return phase.OK(refund.ID, refund.Render()), nil
}

const (
	// The schema lets a pending charge go whose call an adoption has taken over, and no other.
	deleteSuperseded = `DELETE FROM charges WHERE account_id = @account_id AND id = @id AND status = 'pending'`

	describeAdopted = `
	UPDATE charges
	SET payment_intent_id = @payment_intent_id, customer_id = @customer_id, card = @card, description = @description, metadata = @metadata, receipt_email = @receipt_email,
	    shipping = @shipping, statement_descriptor = @statement_descriptor, statement_descriptor_suffix = @statement_descriptor_suffix
	WHERE account_id = @account_id AND id = @id`
)

// supersede ends the retry of a lost request whose charge has been adopted: the
// retry's own charge, c, goes.
func (c *Charge) supersede(tx *phase.Tx, adopted *Charge) error {
	tx.WriteOne(deleteSuperseded, pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": c.ID})
	return adopted.describeAs(tx, c)
}

// describeAs gives an adopted charge what only its client knows of it.
func (c *Charge) describeAs(tx *phase.Tx, retried *Charge) error {
	before := c.object()
	c.PaymentIntentID, c.CustomerID, c.Card, c.ReceiptEmail = retried.PaymentIntentID, retried.CustomerID, retried.Card, retried.ReceiptEmail
	c.Description, c.Metadata, c.Shipping = retried.Description, retried.Metadata, retried.Shipping
	c.StatementDescriptor, c.StatementDescriptorSuffix = retried.StatementDescriptor, retried.StatementDescriptorSuffix
	tx.WriteOne(describeAdopted, pgx.StrictNamedArgs{
		"account_id": tx.AccountID, "id": c.ID, "payment_intent_id": c.PaymentIntentID, "customer_id": c.CustomerID, "card": c.Card,
		"description": c.Description, "metadata": c.Metadata, "receipt_email": c.ReceiptEmail, "shipping": c.Shipping,
		"statement_descriptor": c.StatementDescriptor, "statement_descriptor_suffix": c.StatementDescriptorSuffix,
	})
	previous, err := event.Changes(before, c.object())
	if err != nil {
		return err
	}
	event.Emit(tx, "charge.updated", c.ID, c.Render(), previous)
	return nil
}

// takeAdopted pays an intent with the charge that was adopted in its place. It returns
// what is known of the intent's references.
func (s *Attempt) takeAdopted(tx *phase.Tx, intent *PaymentIntent, adopted *Charge) ([]any, error) {
	retried := intent.pendingCharge(tx, s.Method)
	retried.heard(s.Answer)
	if err := adopted.describeAs(tx, retried); err != nil {
		return nil, err
	}
	intent.LatestCharge = &adopted.ID
	kind := "payment_intent.succeeded"
	if adopted.Captured {
		intent.Status, intent.AmountReceived = IntentSucceeded, adopted.AmountCaptured
	} else {
		intent.Status, intent.AmountCapturable = intentNeedsCapture, adopted.Amount
		kind = "payment_intent.amount_capturable_updated"
	}
	method := s.use(tx, intent)
	intent.Update(tx)
	event.Emit(tx, kind, intent.ID, intent.Render(), nil)
	return []any{adopted.Render(), method}, nil
}

const refundOfAdoption = selectRefunds + ` AND charge_id = @charge
	AND request_id = (SELECT q.id FROM requests q
	                  WHERE q.account_id = @account_id AND q.livemode = @livemode AND q.key = @key AND q.flow = 'refund.adopt')`

// adoptedRefund finds the refund that was adopted in place of this request's, or nil.
func adoptedRefund(ctx context.Context, tx *phase.Tx, charge *Charge) (*Refund, error) {
	if charge.AmountRefunded == 0 {
		return nil, nil
	}
	args := resource.PrincipalOf(tx.Caller).Args()
	args["charge"], args["key"] = charge.ID, AdoptionKey(tx.CallKey(refundAnswered))
	return resource.QueryOne[Refund](ctx, tx, refundOfAdoption, args)
}
