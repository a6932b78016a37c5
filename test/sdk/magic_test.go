//go:build unix

package sdk_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stripe/stripe-go/v85"

	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// checked is what the issuer says of a card that it accepts.
type checked struct{ code, line1, zip, risk string }

// remarkable are the cards that pay and are remarked upon. All others are plain.
var (
	plain      = checked{code: "pass", risk: "normal"}
	remarkable = map[string]checked{
		"riskLevelElevated": {"pass", "", "", "elevated"},
		"cvcCheckFail":      {"fail", "", "", "normal"},
		"avsZipFail":        {"pass", "pass", "fail", "normal"},
		"avsLine1Fail":      {"pass", "fail", "pass", "normal"},
		"avsFail":           {"pass", "fail", "fail", "normal"},
		"avsUnchecked":      {"pass", "unchecked", "unchecked", "normal"},
	}
)

// authenticated are the cards whose holder has to agree. A charge has no way to ask.
var authenticated = []string{
	"authenticationRequired", "authenticationRequiredOnSetup", "authenticationRequiredSetupForOffSession",
	"authenticationRequiredChargeDeclinedInsufficientFunds", "threeDSecure2Required",
	"threeDSecureRequiredChargeDeclined", "threeDSecureRequiredProcessingError",
}

func TestEveryTestCard(t *testing.T) {
	inTurn(t)
	in := install(t)
	for _, card := range testcard.All() {
		first, _ := testcard.ByName(card.Name)
		declined := slices.ContainsFunc(declines, func(d decline) bool {
			named, _ := testcard.ByToken(d.token)
			return named == card
		})
		switch {
		case card != first: // the token means the first card of its name
		case slices.Contains(authenticated, card.Name):
			t.Run("tok_"+card.Name+" needs its holder", func(t *testing.T) {
				inTurn(t)
				_, err := in.account(t).V1Charges.Create(t.Context(), order(1000, "tok_"+card.Name))
				refused(t, err, refusal{
					Status:      http.StatusPaymentRequired,
					Type:        stripe.ErrorTypeCard,
					Code:        "authentication_required",
					DeclineCode: "authentication_required",
				})
			})
		case !declined: // TestDeclines has the others
			t.Run("tok_"+card.Name+" pays, and so does pm_card_"+card.Name, func(t *testing.T) {
				inTurn(t)
				a := in.account(t)
				for _, prefix := range []string{"tok_", "pm_card_"} {
					pays(t, a.charge(order(1000, prefix+card.Name)), card)
				}
			})
		}
	}
}

func pays(t *testing.T, charge *stripe.Charge, card testcard.Card) {
	t.Helper()
	equal(t, "state", []any{charge.Paid, charge.Captured, charge.Status},
		[]any{true, true, stripe.ChargeStatusSucceeded})
	c := charge.Source.Card
	equal(t, "card", []string{string(c.Brand), c.Last4, string(c.Funding), c.Country},
		[]string{card.DisplayBrand, card.Last4, card.Funding, card.Country})
	equal(t, "brand", string(charge.PaymentMethodDetails.Card.Brand), card.Brand)
	want, is := remarkable[card.Name]
	if !is {
		want = plain
	}
	checks := charge.PaymentMethodDetails.Card.Checks
	equal(t, "checks",
		checked{string(checks.CVCCheck), string(checks.AddressLine1Check), string(checks.AddressPostalCodeCheck),
			charge.Outcome.RiskLevel}, want)
}
