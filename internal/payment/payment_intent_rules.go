package payment

import (
	"slices"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// Which operation an intent allows in which state. The lists are in the order
// in which Stripe's refusals name them.
var (
	confirmable = []string{IntentNeedsConfirmation, IntentNeedsAction} // and requires_payment_method, with a method
	cancelable  = []string{IntentNeedsMethod, IntentNeedsCapture, IntentNeedsConfirmation, IntentNeedsAction,
		IntentProcessing}
	capturable = []string{IntentNeedsCapture}
	Changeable = []string{IntentNeedsMethod, IntentNeedsConfirmation, IntentNeedsAction}
)

const tooMuchToCapture = "The payment could not be captured because the requested capture amount is greater than " +
	"the amount you can capture for this charge."

// unexpected is the 400 for an operation that does not fit the intent's state.
func (p *PaymentIntent) unexpected(format string, args ...any) *apierror.Error {
	e := apierror.Invalid("", format, args...).WithCode("payment_intent_unexpected_state")
	e.PaymentIntent = p.Render()
	return e
}

// RefuseConfirm says why an intent cannot be confirmed with the method it would
// have, or nil. sent says that the method comes with the confirmation. The caller
// says who is shown the intent.
func (p *PaymentIntent) RefuseConfirm(method *customer.PaymentMethod, sent bool, in ConfirmParams) *apierror.Error {
	switch {
	case p.Status == IntentSucceeded:
		return p.unexpected("You cannot confirm this PaymentIntent because it has already succeeded after being " +
			"previously confirmed.")
	case p.Status == IntentCanceled && sent:
		return p.refuseChange("payment_method")
	case p.Status == IntentNeedsMethod && method == nil && p.CustomerID != nil:
		return p.unexpected("You cannot confirm this PaymentIntent because it's missing a payment method. To "+
			"confirm the PaymentIntent with %s, specify a payment method attached to this customer along with the "+
			"customer ID.", *p.CustomerID)
	case p.Status == IntentNeedsMethod && method == nil:
		return p.unexpected("You cannot confirm this PaymentIntent because it's missing a payment method. You can " +
			"either update the PaymentIntent with a payment method and then confirm it again, or confirm it again " +
			"directly with a payment method or ConfirmationToken.")
	case p.Status != IntentNeedsMethod && !slices.Contains(confirmable, p.Status):
		return p.unexpected("You cannot confirm this PaymentIntent because it has a status of %s. "+
			"Only a PaymentIntent with one of the following statuses may be confirmed: %s.", p.Status,
			strings.Join(confirmable, ", "))
	}
	if refusal := method.RefuseUse(resource.Deref(p.CustomerID)); refusal != nil {
		return refusal
	}
	if p.SetupFutureUsage != nil && in.offSession() {
		return offSessionSetup()
	}
	returns := in.ReturnURL != "" || in.OnPage || in.offSession() || p.Authenticated
	if !returns && p.AutomaticPaymentMethods.MayRedirect() {
		return MissingReturnURL("PaymentIntent")
	}
	return nil
}

// offSessionSetup is the refusal of a payment that is to save its card while the cardholder is absent.
func offSessionSetup() *apierror.Error {
	return apierror.Invalid("off_session",
		"You cannot confirm with `off_session=true` when `setup_future_usage` is also set on the PaymentIntent. The "+
			"customer needs to be on-session to perform the steps which may be required to set up the PaymentMethod "+
			"for future usage. Please confirm this PaymentIntent with your customer on-session.")
}

// refuseDirectly says that an intent is a checkout session's as long as that is
// open, or nil: what is paid there, and whether, is decided on its page.
func (p *PaymentIntent) refuseDirectly(verb string) *apierror.Error {
	if p.CheckoutSession == nil || !slices.Contains(Changeable, p.Status) {
		return nil
	}
	return p.unexpected("You cannot %s this PaymentIntent because it belongs to the Checkout Session %s, which is "+
		"open. It is confirmed on the session's page, and canceled when the session expires.", verb, *p.CheckoutSession)
}

// refuseCapture says why amount cannot be captured, or nil. An amount of 0 is all.
func (p *PaymentIntent) refuseCapture(amount int64) *apierror.Error {
	switch {
	case p.Status == IntentSucceeded:
		return p.unexpected("This PaymentIntent could not be captured because it has already been captured.")
	case !slices.Contains(capturable, p.Status):
		return p.unexpected("This PaymentIntent could not be captured because it has a status of %s. "+
			"Only a PaymentIntent with one of the following statuses may be captured: %s.", p.Status,
			strings.Join(capturable, ", "))
	case amount > p.AmountCapturable:
		e := apierror.Invalid("amount_to_capture", tooMuchToCapture).WithCode("amount_too_large")
		e.PaymentIntent = p.Render()
		return e
	}
	return nil
}

// refuseIncrement says why an intent cannot hold more than it does.
func (p *PaymentIntent) refuseIncrement(amount int64) *apierror.Error {
	switch {
	case !slices.Contains(capturable, p.Status):
		return p.unexpected("This PaymentIntent's authorization could not be incremented because it has a status of "+
			"%s. Only a PaymentIntent with one of the following statuses may be incremented: %s.", p.Status,
			strings.Join(capturable, ", "))
	case amount <= p.Amount:
		return apierror.Invalid("amount",
			"The amount of an incremented authorization (%s) must be greater than the amount that is authorized (%s).",
			money.Format(amount, p.Currency), money.Format(p.Amount, p.Currency))
	}
	return apierror.Invalid("", "This PaymentIntent's authorization cannot be incremented: it was not confirmed with "+
		"`payment_method_options[card][request_incremental_authorization]` set to `if_available`.")
}

// refuseCancel says why an intent cannot be canceled, or nil.
func (p *PaymentIntent) refuseCancel() *apierror.Error {
	if slices.Contains(cancelable, p.Status) {
		return nil
	}
	return p.unexpected("You cannot cancel this PaymentIntent because it has a status of %s. "+
		"Only a PaymentIntent with one of the following statuses may be canceled: %s.", p.Status,
		strings.Join(cancelable, ", "))
}

// refuseChange says why a field cannot be changed any more, or nil.
func (p *PaymentIntent) refuseChange(field string) *apierror.Error {
	if slices.Contains(Changeable, p.Status) {
		return nil
	}
	e := p.unexpected("This PaymentIntent's %s could not be updated because it has a status of %s. "+
		"You may only update the %s of a PaymentIntent with one of the following statuses: %s.", field, p.Status,
		field, strings.Join(Changeable, ", "))
	return e.WithParam(field)
}

// refuseRefund says why an intent has nothing to give back, or nil.
func (p *PaymentIntent) refuseRefund() *apierror.Error {
	switch p.Status {
	case IntentSucceeded:
		return nil
	case IntentNeedsCapture:
		return apierror.Invalid("",
			"This PaymentIntent (%s) has been authorized and not captured: there is nothing to refund yet. "+
				"Cancel the PaymentIntent to release the %s it holds.", p.ID,
			money.Format(p.AmountCapturable, p.Currency))
	}
	return apierror.Invalid("", "This PaymentIntent (%s) does not have a successful charge to refund.", p.ID)
}

// MissingReturnURL is the 400 for confirming with methods that may redirect.
func MissingReturnURL(kind string) *apierror.Error {
	return apierror.Invalid("",
		"This %s is configured to accept payment methods enabled in your Dashboard. Because some of these payment "+
			"methods might redirect your customer off of your page, you must provide a `return_url`. If you don't "+
			"want to accept redirect-based payment methods, set `automatic_payment_methods[enabled]` to `true` and "+
			"`automatic_payment_methods[allow_redirects]` to `never` when creating Setup Intents and Payment Intents.",
		kind)
}

// MayRedirect says whether a method of the intent may send the customer away.
func (a *AutomaticPaymentMethods) MayRedirect() bool {
	return a != nil && a.Enabled && a.AllowRedirects != "never"
}

// onlyWithConfirm is the 400 for a parameter of the confirmation without one.
func onlyWithConfirm(kind, param string) *apierror.Error {
	return apierror.Invalid(param,
		"The parameter `%s` cannot be passed when creating a %s unless `confirm` is set to true.", param, kind)
}
