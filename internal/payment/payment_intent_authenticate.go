package payment

import (
	"context"
	"net/http"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// AuthenticateParams are what the cardholder decided on a challenge's page.
type AuthenticateParams struct {
	Intent    string
	Challenge string
	Passed    bool
}

// AuthenticationRecorded is the recovery point at which the cardholder's decision is stored. After a crash, the request
// continues from there with the same decision.
const AuthenticationRecorded = "authentication_recorded"

// AuthenticatePayment moves an intent on after its cardholder has passed or
// failed the challenge. Passed, the payment is made at once; with
// confirmation_method=manual it waits for the merchant's server.
//
//	(nothing) ──▶ authentication_recorded ──▶ payment_answered ──▶ payment_finalized
//
// The challenge's name is its idempotency key: no matter how often and in how many tabs the
// cardholder clicks, the first decision counts.
var AuthenticatePayment = phase.Define("payment_intent.authenticate", 2,
	phase.Atomic(AuthenticationRecorded, recordAuthentication),
	phase.Foreign(PaymentAnswered, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ AuthenticateParams, s *Attempt,
	) error {
		return s.Send(ctx, call)
	}),
	phase.Atomic(PaymentFinalized, func(
		ctx context.Context, tx *phase.Tx, _ AuthenticateParams, s *Attempt,
	) (phase.Outcome, error) {
		return s.finalize(ctx, tx, nil)
	}),
).AbandonUnsentAfter(AbandonChargeAfter, func(
	ctx context.Context, tx *phase.Tx, _ AuthenticateParams, s *Attempt,
) (phase.Outcome, error) {
	return s.abandon(ctx, tx, nil)
})

func recordAuthentication(ctx context.Context, tx *phase.Tx, in AuthenticateParams, s *Attempt) (phase.Outcome, error) {
	intent, err := LockIntent(ctx, tx, in.Intent)
	if err != nil {
		return phase.Outcome{}, err
	}
	if intent.Status != IntentNeedsAction || resource.Deref(intent.Challenge) != in.Challenge {
		return phase.Outcome{}, ChallengeOver()
	}
	method, refused, err := customer.LockToUse(ctx, tx, resource.Deref(intent.PaymentMethodID),
		resource.Deref(intent.CustomerID))
	if err != nil {
		return phase.Outcome{}, err
	}
	if !in.Passed && method != nil {
		refused = AuthenticationFailed("payment_intent_authentication_failure", method)
	}
	intent.NextAction = nil
	switch {
	case refused != nil:
		if intent.LastPaymentError, err = refused.Remember(); err != nil {
			return phase.Outcome{}, err
		}
		intent.Status, intent.PaymentMethodID = IntentNeedsMethod, nil
		event.Emit(tx, "payment_intent.payment_failed", intent.ID, intent.Render(), nil)
	case intent.ConfirmationMethod == "manual":
		intent.Authenticated, intent.Status = true, IntentNeedsConfirmation
	default:
		intent.Authenticated = true
		s.reserve(tx, intent, method, false)
		intent.Update(tx)
		return phase.Next, nil
	}
	intent.Update(tx)
	return replyWithIntent(ctx, tx, nil, intent)
}

// ChallengeOver is the refusal of a decision that comes too late.
func ChallengeOver() *apierror.Error {
	return apierror.Invalid("", "This authentication has ended, because the status of the payment has changed.").
		WithCode("payment_intent_unexpected_state")
}

// AuthenticationFailed is what an intent remembers of a challenge that was not passed.
func AuthenticationFailed(code string, method *customer.PaymentMethod) *apierror.Error {
	e := apierror.Invalid("",
		"The provided PaymentMethod has failed authentication. You can provide payment_method_data or a new "+
			"PaymentMethod to attempt to fulfill this PaymentIntent again.").WithCode(code)
	e.Status, e.PaymentMethod = http.StatusPaymentRequired, method.Render()
	return e
}
