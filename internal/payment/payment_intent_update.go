package payment

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// UpdatePaymentIntentParams are what POST /v1/payment_intents/{intent} takes.
type UpdatePaymentIntentParams struct {
	ID            string        `path:"intent"`
	Amount        *int64        `form:"amount"`
	Currency      string        `form:"currency"`
	CaptureMethod string        `form:"capture_method" enum:"automatic,automatic_async,manual"`
	Metadata      form.Metadata `form:"metadata"`
	Expand        form.Expand   `form:"expand"`
	PaymentIntentParams
}

const intentUpdated = "payment_intent_updated"

// UpdatePaymentIntent changes what was sent and leaves the rest. What concerns
// the money can be changed as long as none has been asked for.
var UpdatePaymentIntent = phase.Define("payment_intent.update", 1,
	phase.Atomic(intentUpdated, changeIntent),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdatePaymentIntentParams) error {
	intent, err := readIntent(ctx, db, resource.PrincipalOfCheck(caller), in.ID, "")
	if err != nil {
		return err
	}
	if in.Currency != "" {
		if in.Currency, err = money.Parse(in.Currency); err != nil {
			return err
		}
	}
	customer := in.Customer
	if customer == "" {
		customer = resource.Deref(intent.CustomerID)
	}
	if err := in.Check(ctx, db, caller); err != nil {
		return err
	}
	return in.CheckUse(customer)
})

func changeIntent(ctx context.Context, tx *phase.Tx, in UpdatePaymentIntentParams, _ *struct{}) (phase.Outcome, error) {
	intent, err := LockIntent(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if refusal := in.refuse(intent); refusal != nil {
		return phase.Outcome{}, refusal
	}
	if intent.isBeingCreated() {
		return phase.Outcome{}, apierror.Locked()
	}
	amount, currency := intent.Amount, intent.Currency
	if in.Amount != nil {
		intent.Amount = *in.Amount
	}
	if in.Currency != "" {
		intent.Currency = in.Currency
	}
	if intent.Amount != amount || intent.Currency != currency {
		intent.Authenticated = false // the cardholder agreed to something else
	}
	if err := money.Check(intent.Amount, intent.Currency); err != nil {
		return phase.Outcome{}, err
	}
	if in.CaptureMethod != "" {
		intent.CaptureMethod = in.CaptureMethod
	}
	if intent.Status == IntentNeedsAction && (in.Amount != nil || in.Currency != "") {
		// What the cardholder was asked to agree to is no longer what is to be paid.
		intent.Status, intent.NextAction = IntentNeedsConfirmation, nil
	}
	if err := intent.apply(in.PaymentIntentParams, in.Metadata); err != nil {
		return phase.Outcome{}, err
	}
	if err := in.Insert(ctx, tx); err != nil {
		return phase.Outcome{}, err
	}
	intent.LastPaymentError = nil // as at Stripe, after any change; the failed charge still shows it
	intent.Update(tx)
	return replyWithIntent(ctx, tx, in.Expand, intent, in.Fresh()...)
}

// refuse says why the intent cannot be changed like this any more, or nil.
func (in *UpdatePaymentIntentParams) refuse(intent *PaymentIntent) error {
	for _, change := range [...]struct {
		field string
		sent  bool
	}{
		{"amount", in.Amount != nil}, {"currency", in.Currency != ""}, {"payment_method", in.Method() != nil},
		{"capture_method", in.CaptureMethod != ""},
		{"customer", in.Customer != "" && in.Customer != resource.Deref(intent.CustomerID)},
		{"setup_future_usage", in.SetupFutureUsage != nil},
	} {
		if !change.sent {
			continue
		}
		if refusal := intent.refuseDirectly("update"); refusal != nil {
			return refusal
		}
		if refusal := intent.refuseChange(change.field); refusal != nil {
			return refusal
		}
	}
	if in.Customer != "" && intent.CustomerID != nil && *intent.CustomerID != in.Customer {
		return apierror.Invalid("customer",
			"You cannot change the customer of PaymentIntent %s: it already belongs to %s.", intent.ID,
			*intent.CustomerID)
	}
	return nil
}
