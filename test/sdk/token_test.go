//go:build unix

package sdk_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	in := install(t)

	t.Run("a typed card becomes a token that shows all of it but the number and the code", func(t *testing.T) {
		t.Parallel()
		a := in.account(t)
		card := typed(t, "visa")
		card.Name, card.AddressZip = stripe.String("Ada Lovelace"), stripe.String("0150")
		made := a.token(card)
		token, err := a.V1Tokens.Retrieve(t.Context(), made.ID, nil)
		noError(t, err)
		c := token.Card
		equal(t, "card",
			[]any{c.Brand, c.Last4, c.ExpMonth, strconv.FormatInt(c.ExpYear, 10), c.Funding, c.Country, c.Name,
				c.AddressZip},
			[]any{stripe.CardBrandVisa, "4242", int64(8), year(3), stripe.CardFundingCredit, "US", "Ada Lovelace",
				"0150"})
		equal(t, "the code's check", c.CVCCheck, stripe.CardCVCCheckUnchecked)
		equal(t, "type", token.Type, stripe.TokenTypeCard)
		equal(t, "used", token.Used, false)
	})

	t.Run("two tokens of one card share its fingerprint, those of another do not", func(t *testing.T) {
		t.Parallel()
		a := in.account(t)
		first, again, other := a.token(typed(t, "visa")), a.token(typed(t, "visa")), a.token(typed(t, "mastercard"))
		equal(t, "fingerprint", again.Card.Fingerprint, first.Card.Fingerprint)
		if other.Card.Fingerprint == first.Card.Fingerprint || again.ID == first.ID {
			t.Error("what should differ does not")
		}
	})

	t.Run("a token is spent once", func(t *testing.T) {
		t.Parallel()
		a := in.account(t)
		token := a.token(typed(t, "visa"))
		charge := a.charge(order(700, token.ID))
		equal(t, "card charged", charge.Source.ID, token.Card.ID)
		spent, err := a.V1Tokens.Retrieve(t.Context(), token.ID, nil)
		noError(t, err)
		equal(t, "used", spent.Used, true)

		again := invalid("token_already_used", "",
			fmt.Sprintf("You cannot use a Stripe token more than once: %s.", token.ID))
		_, err = a.V1Charges.Create(t.Context(), order(700, token.ID))
		refused(t, err, again)
		_, err = a.V1Customers.Create(t.Context(), &stripe.CustomerCreateParams{Source: &token.ID})
		refused(t, err, again)
		equal(t, "charges", len(collect(t, a.V1Charges.List(t.Context(), nil))), 1)
	})

	t.Run("a magic token is never used up", func(t *testing.T) {
		t.Parallel()
		a := in.account(t)
		for range 2 {
			a.sell(700)
			token, err := a.V1Tokens.Retrieve(t.Context(), "tok_visa", nil)
			noError(t, err)
			equal(t, "token", []any{token.ID, token.Used, token.Card.Last4}, []any{"tok_visa", false, "4242"})
		}
	})

	t.Run("a token that is not there is a wrong parameter, not a wrong address", func(t *testing.T) {
		t.Parallel()
		a := in.account(t)
		_, err := a.V1Tokens.Retrieve(t.Context(), "tok_nobody", nil)
		refused(t, err, invalid("resource_missing", "token", "No such token: 'tok_nobody'"))
		_, err = a.V1Charges.Create(t.Context(), order(700, "tok_nobody"))
		refused(t, err, invalid("resource_missing", "source", "No such token: 'tok_nobody'"))
	})

	t.Run("a token of nothing is refused", func(t *testing.T) {
		t.Parallel()
		_, err := in.account(t).V1Tokens.Create(t.Context(), nil)
		refused(t, err, invalid("parameter_missing", "", ""))
	})
}

func TestCardsThatAreMistyped(t *testing.T) {
	t.Parallel()
	in := install(t)
	number := *typed(t, "visa").Number
	for what, c := range map[string]struct {
		mistype func(*stripe.CardParams)
		want    refusal
	}{
		"a number with a wrong digit": {
			func(c *stripe.CardParams) { c.Number = stripe.String(number[:15] + "1") },
			refusal{Code: "incorrect_number", Param: "number", Message: "Your card number is incorrect."}},
		"a month that no year has": {
			func(c *stripe.CardParams) { c.ExpMonth = stripe.String("13") },
			refusal{
				Code:    "invalid_expiry_month",
				Param:   "exp_month",
				Message: "Your card's expiration month is invalid.",
			}},
		"a year that is over": {
			func(c *stripe.CardParams) { c.ExpYear = stripe.String(year(-1)) },
			refusal{
				Code:    "invalid_expiry_year",
				Param:   "exp_year",
				Message: "Your card's expiration year is invalid.",
			}},
		"a code that is too short": {
			func(c *stripe.CardParams) { c.CVC = stripe.String("99") },
			refusal{Code: "invalid_cvc", Param: "cvc", Message: "Your card's security code is invalid."}},
		"a number that may be somebody's": {
			func(c *stripe.CardParams) { c.Number = stripe.String("4012888888881881") },
			refusal{Code: "card_declined", DeclineCode: "test_mode_live_card"}},
	} {
		t.Run(what+" is refused", func(t *testing.T) {
			t.Parallel()
			a := in.account(t)
			card := typed(t, "visa")
			c.mistype(card)
			_, err := a.V1Tokens.Create(t.Context(), &stripe.TokenCreateParams{Card: card})
			c.want.Status, c.want.Type = http.StatusPaymentRequired, stripe.ErrorTypeCard
			refused(t, err, c.want)
		})
	}
}

func (a *account) token(card *stripe.CardParams) *stripe.Token {
	a.t.Helper()
	token, err := a.V1Tokens.Create(a.t.Context(), &stripe.TokenCreateParams{Card: card})
	noError(a.t, err)
	return token
}
