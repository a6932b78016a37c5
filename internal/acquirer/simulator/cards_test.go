package simulator

import (
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
)

func TestTestCards(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		card                                 string
		code, declineCode, advice, param     string // empty when it is approved
		networkStatus, outcome, reason, risk string
	}{
		{card: "visa", networkStatus: "approved_by_network", outcome: "authorized", risk: "normal"},
		{card: "createDispute", networkStatus: "approved_by_network", outcome: "authorized", risk: "normal"},
		{card: "threeDSecureOptional", networkStatus: "approved_by_network", outcome: "authorized", risk: "normal"},
		{
			card:          "riskLevelElevated",
			networkStatus: "approved_by_network",
			outcome:       "manual_review",
			reason:        "elevated_risk_level",
			risk:          "elevated",
		},
		{"visa_chargeDeclined", "card_declined", "generic_decline", "try_again_later", "", "declined_by_network",
			"issuer_declined", "generic_decline", "normal"},
		{"chargeDeclined", "card_declined", "generic_decline", "try_again_later", "", "declined_by_network",
			"issuer_declined", "generic_decline", "normal"},
		{"visa_chargeDeclinedLostCard", "card_declined", "lost_card", "do_not_try_again", "", "declined_by_network",
			"issuer_declined", "lost_card", "normal"},
		{"chargeDeclinedExpiredCard", "expired_card", "expired_card", "confirm_card_data", "exp_month",
			"declined_by_network", "issuer_declined", "expired_card", "normal"},
		{"chargeDeclinedIncorrectCvc", "incorrect_cvc", "incorrect_cvc", "confirm_card_data", "cvc",
			"declined_by_network", "issuer_declined", "incorrect_cvc", "normal"},
		{"chargeDeclinedProcessingError", "processing_error", "processing_error", "try_again_later", "",
			"declined_by_network", "issuer_declined", "processing_error", "normal"},
		{"visa_chargeDeclinedVelocityLimitExceeded", "card_declined", "card_velocity_exceeded", "", "",
			"declined_by_network", "issuer_declined", "card_velocity_exceeded", "normal"},
		{"radarBlock", "card_declined", "fraudulent", "", "", "not_sent_to_network", "blocked", "highest_risk_level",
			"highest"},
		{"threeDSecure2Required", "authentication_required", "authentication_required", "", "", "declined_by_network",
			"issuer_declined", "authentication_required", "normal"},
		{"a_card_nobody_knows", "card_declined", "generic_decline", "try_again_later", "", "declined_by_network",
			"issuer_declined", "generic_decline", "normal"},
	} {
		t.Run(tc.card, func(t *testing.T) {
			t.Parallel()
			got := cardNamed(tc.card).authorize(acquirer.Order{Card: tc.card, Amount: 100, Currency: "usd"})
			if got.Approved != (tc.code == "") || got.Code != tc.code || got.DeclineCode != tc.declineCode ||
				got.AdviceCode != tc.advice || got.Param != tc.param {
				t.Errorf("decided %+v, want %+v", got, tc)
			}
			if got.NetworkStatus != tc.networkStatus || got.Outcome != tc.outcome || got.Reason != tc.reason ||
				got.RiskLevel != tc.risk {
				t.Errorf("outcome %+v, want %+v", got, tc)
			}
			if got.Amount != 100 || got.Currency != "usd" || got.SellerMessage == "" ||
				(got.Message == "") != got.Approved {
				t.Errorf("incomplete: %+v", got)
			}
		})
	}

	t.Run("checks fail on the cards that are there for it", func(t *testing.T) {
		t.Parallel()
		for card, want := range map[string][3]string{
			"visa":         {"pass", "", ""},
			"cvcCheckFail": {"fail", "", ""},
			"avsFail":      {"pass", "fail", "fail"},
			"avsZipFail":   {"pass", "pass", "fail"},
			"avsLine1Fail": {"pass", "fail", "pass"},
			"avsUnchecked": {"pass", "unchecked", "unchecked"},
		} {
			got := cardNamed(card).authorize(acquirer.Order{Card: card, Amount: 1, Currency: "usd"})
			if !got.Approved || [3]string{got.CVCCheck, got.AddressLine1Check, got.PostalCodeCheck} != want {
				t.Errorf("%s: %+v, want %v", card, got, want)
			}
		}
	})

	t.Run("an authenticated cardholder is approved, or declined for a better reason", func(t *testing.T) {
		t.Parallel()
		for _, tc := range []struct {
			order acquirer.Order
			want  string
		}{
			{acquirer.Order{Card: "authenticationRequired"}, "authentication_required"},
			{acquirer.Order{Card: "authenticationRequired", Authenticated: true}, ""},
			{acquirer.Order{Card: "authenticationRequired", OffSession: true}, "authentication_required"},
			{acquirer.Order{Card: "visa", Challenge: true}, "authentication_required"},
			{acquirer.Order{Card: "visa", Challenge: true, Authenticated: true}, ""},
			{acquirer.Order{Card: "authenticationRequiredSetupForOffSession"}, "authentication_required"},
			{acquirer.Order{Card: "authenticationRequiredSetupForOffSession", OffSession: true}, ""},
			{acquirer.Order{Card: "authenticationRequiredChargeDeclinedInsufficientFunds"}, "authentication_required"},
			{acquirer.Order{Card: "authenticationRequiredChargeDeclinedInsufficientFunds", Authenticated: true},
				"insufficient_funds"},
		} {
			got := cardNamed(tc.order.Card).authorize(tc.order)
			if got.DeclineCode != tc.want || got.Approved != (tc.want == "") {
				t.Errorf("%+v: %+v", tc.order, got)
			}
		}
	})

	t.Run("a refund reports how it will go on", func(t *testing.T) {
		t.Parallel()
		for card, want := range map[string][2]string{
			"visa": {"succeeded", ""}, "pendingRefund": {"pending", "succeeded"}, "refundFail": {"succeeded", "failed"},
		} {
			b := &book{at: time.Now(), operations: map[string]*operation{}, authorizations: map[string]*authorization{}}
			sold := b.ask("sale", acquirer.Request{Verb: acquirer.VerbAuthorize,
				Order: acquirer.Order{Card: card, Amount: 9, Currency: "usd", Capture: true}})
			got := b.ask("refund", acquirer.Request{Verb: acquirer.VerbRefund,
				Order: acquirer.Order{
					Authorization: sold.operation.Result.Reference,
					Amount:        9,
					Currency:      "usd",
				}}).operation.Result
			if !got.Approved || [2]string{got.RefundStatus, got.RefundBecomes} != want {
				t.Errorf("%s: %+v, want %v", card, got, want)
			}
		}
	})
}
