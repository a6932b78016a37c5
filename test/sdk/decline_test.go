//go:build unix

package sdk_test

import (
	"net/http"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

// decline is what a card's issuer says, and how a charge shows it.
type decline struct {
	token                                string
	code, declineCode, adviceCode, param string
	message                              string
	outcome, risk                        string
}

var declines = []decline{
	{"tok_chargeDeclined", "card_declined", "generic_decline", "try_again_later", "", "Your card was declined.",
		"issuer_declined", "normal"},
	{"tok_visa_chargeDeclined", "card_declined", "generic_decline", "try_again_later", "", "Your card was declined.",
		"issuer_declined", "normal"},
	{"tok_chargeCustomerFail", "card_declined", "generic_decline", "try_again_later", "", "Your card was declined.",
		"issuer_declined", "normal"},
	{"tok_visa_chargeDeclinedInsufficientFunds", "card_declined", "insufficient_funds", "try_again_later", "",
		"Your card has insufficient funds.", "issuer_declined", "normal"},
	{"tok_visa_chargeDeclinedLostCard", "card_declined", "lost_card", "do_not_try_again", "",
		"Your card was declined.", "issuer_declined", "normal"},
	{"tok_visa_chargeDeclinedStolenCard", "card_declined", "stolen_card", "do_not_try_again", "",
		"Your card was declined.", "issuer_declined", "normal"},
	{"tok_visa_chargeDeclinedVelocityLimitExceeded", "card_declined", "card_velocity_exceeded", "", "",
		"Your card was declined for making repeated attempts too frequently or exceeding its amount limit.",
		"issuer_declined", "normal"},
	{"tok_chargeDeclinedExpiredCard", "expired_card", "expired_card", "confirm_card_data", "exp_month",
		"Your card has expired.", "issuer_declined", "normal"},
	{"tok_chargeDeclinedIncorrectCvc", "incorrect_cvc", "incorrect_cvc", "confirm_card_data", "cvc",
		"Your card's security code is incorrect.", "issuer_declined", "normal"},
	{"tok_chargeDeclinedProcessingError", "processing_error", "processing_error", "try_again_later", "",
		"An error occurred while processing your card. Try again in a little bit.", "issuer_declined", "normal"},
	{"tok_chargeDeclinedFraudulent", "card_declined", "fraudulent", "", "", "Your card was declined.", "blocked",
		"highest"},
	{"tok_radarBlock", "card_declined", "fraudulent", "", "", "Your card was declined.", "blocked", "highest"},
	{"tok_riskLevelHighest", "card_declined", "fraudulent", "", "", "Your card was declined.", "blocked", "highest"},
	{"tok_authenticationRequired", "authentication_required", "authentication_required", "", "",
		"Your card was declined. This transaction requires authentication.", "issuer_declined", "normal"},
}

func TestDeclines(t *testing.T) {
	inTurn(t)
	in := install(t)
	for _, d := range declines {
		t.Run(d.token+" is declined, and the charge that failed says why", func(t *testing.T) {
			inTurn(t)
			a := in.account(t)
			_, err := a.V1Charges.Create(t.Context(), order(4200, d.token))
			e := refused(t, err,
				refusal{http.StatusPaymentRequired, stripe.ErrorTypeCard, d.code, d.declineCode, d.adviceCode, d.param,
					d.message})
			failed := a.retrieveCharge(e.ChargeID)
			equal(t, "state", []any{failed.Status, failed.Paid, failed.Captured, failed.AmountCaptured},
				[]any{stripe.ChargeStatusFailed, false, false, int64(0)})
			equal(t, "failure", []string{failed.FailureCode, failed.FailureMessage}, []string{d.code, d.message})
			equal(t, "outcome",
				[]string{failed.Outcome.Type, failed.Outcome.RiskLevel, string(failed.Outcome.AdviceCode)},
				[]string{d.outcome, d.risk, d.adviceCode})
			equal(t, "pending balance", a.pending(), int64(0))
		})
	}

	t.Run("nothing can be done with a charge that failed", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		_, err := a.V1Charges.Create(t.Context(), order(4200, "tok_chargeDeclined"))
		failed := refused(t, err,
			refusal{http.StatusPaymentRequired, stripe.ErrorTypeCard, "card_declined", "generic_decline",
				"try_again_later", "", ""}).ChargeID
		_, err = a.V1Charges.Capture(t.Context(), failed, nil)
		refused(t, err, invalid("", "", ""))
		_, err = a.V1Refunds.Create(t.Context(), &stripe.RefundCreateParams{Charge: &failed})
		refused(t, err, invalid("", "", ""))
	})

	t.Run("a check that fails does not decline", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		charge := a.charge(order(4200, "tok_cvcCheckFail"))
		equal(t, "the code's check", charge.PaymentMethodDetails.Card.Checks.CVCCheck,
			stripe.ChargePaymentMethodDetailsCardChecksCVCCheckFail)
	})
}
