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
	inTurn(t)
	in := install(t)

	t.Run("a typed card becomes a token that shows all of it but the number and the code", func(t *testing.T) {
		inTurn(t)
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
		inTurn(t)
		a := in.account(t)
		first, again, other := a.token(typed(t, "visa")), a.token(typed(t, "visa")), a.token(typed(t, "mastercard"))
		equal(t, "fingerprint", again.Card.Fingerprint, first.Card.Fingerprint)
		if other.Card.Fingerprint == first.Card.Fingerprint || again.ID == first.ID {
			t.Error("what should differ does not")
		}
	})

	t.Run("a token is spent once", func(t *testing.T) {
		inTurn(t)
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
		inTurn(t)
		a := in.account(t)
		for range 2 {
			a.sell(700)
			token, err := a.V1Tokens.Retrieve(t.Context(), "tok_visa", nil)
			noError(t, err)
			equal(t, "token", []any{token.ID, token.Used, token.Card.Last4}, []any{"tok_visa", false, "4242"})
		}
	})

	t.Run("no token is a payment method, not even a magic one", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		for _, token := range []string{"tok_visa", a.token(typed(t, "visa")).ID} {
			noMethod := invalid("resource_missing", "payment_method",
				"No such PaymentMethod: '"+token+"'; It's possible this PaymentMethod exists on one of your connected "+
					"accounts, in which case you should retry this request on that connected account. Learn more at "+
					"https://stripe.com/docs/connect/authentication")
			_, err := a.V1PaymentIntents.Create(t.Context(), &stripe.PaymentIntentCreateParams{
				Amount: stripe.Int64(2000), Currency: stripe.String("usd"), PaymentMethod: &token})
			refused(t, err, noMethod)
			_, err = a.V1SetupIntents.Create(t.Context(), &stripe.SetupIntentCreateParams{PaymentMethod: &token})
			refused(t, err, noMethod)
			noMethod.Status = http.StatusNotFound
			_, err = a.V1PaymentMethods.Attach(t.Context(), token,
				&stripe.PaymentMethodAttachParams{Customer: &a.customer(nil).ID})
			refused(t, err, noMethod)
			_, err = a.V1PaymentMethods.Retrieve(t.Context(), token, nil)
			refused(t, err, noMethod)
		}
	})

	t.Run("a token that is not there is a wrong parameter, not a wrong address", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		_, err := a.V1Tokens.Retrieve(t.Context(), "tok_nobody", nil)
		refused(t, err, invalid("resource_missing", "token", "No such token: 'tok_nobody'"))
		_, err = a.V1Charges.Create(t.Context(), order(700, "tok_nobody"))
		refused(t, err, invalid("resource_missing", "source", "No such token: 'tok_nobody'"))
	})

	t.Run("a token of nothing is refused", func(t *testing.T) {
		inTurn(t)
		_, err := in.account(t).V1Tokens.Create(t.Context(), nil)
		refused(t, err, invalid("parameter_missing", "", ""))
	})
}

func TestCardsThatAreMistyped(t *testing.T) {
	inTurn(t)
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
			inTurn(t)
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

func TestConfirmationTokens(t *testing.T) {
	inTurn(t)
	in := install(t)
	enter := func(t *testing.T, a *account, params *stripe.TestHelpersConfirmationTokenCreateParams,
	) *stripe.ConfirmationToken {
		t.Helper()
		token, err := a.V1TestHelpersConfirmationTokens.Create(t.Context(), params)
		noError(t, err)
		return token
	}
	visa := func() *stripe.TestHelpersConfirmationTokenCreateParams {
		return &stripe.TestHelpersConfirmationTokenCreateParams{
			PaymentMethod: stripe.String("pm_card_visa"), ReturnURL: stripe.String("https://example.com/back")}
	}
	retrieve := func(t *testing.T, a *account, id string) *stripe.ConfirmationToken {
		t.Helper()
		token, err := a.V1ConfirmationTokens.Retrieve(t.Context(), id, nil)
		noError(t, err)
		return token
	}

	t.Run("what a customer entered confirms a payment, once", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		params := visa()
		params.PaymentMethod = nil
		params.PaymentMethodData = &stripe.TestHelpersConfirmationTokenCreatePaymentMethodDataParams{
			Type: stripe.String("card")}
		params.AddExtra("payment_method_data[card][token]", "tok_mastercard")
		params.AddExtra("payment_method_data[billing_details][name]", "Jenny Rosen")
		params.SetupFutureUsage = stripe.String("off_session")
		params.Shipping = &stripe.TestHelpersConfirmationTokenCreateShippingParams{Name: stripe.String("Jenny Rosen"),
			Address: &stripe.AddressParams{Line1: stripe.String("510 Townsend St")}}
		token := enter(t, a, params)
		preview := token.PaymentMethodPreview
		equal(t, "preview", []any{preview.Card.Brand, preview.BillingDetails.Name, token.PaymentIntent},
			[]any{"mastercard", "Jenny Rosen", ""})
		equal(t, "life", token.ExpiresAt-token.Created, int64(12*60*60))

		intent := a.intent(&stripe.PaymentIntentCreateParams{})
		confirm := &stripe.PaymentIntentConfirmParams{ConfirmationToken: &token.ID}
		confirm.AddExpand("payment_method")
		paid, err := a.V1PaymentIntents.Confirm(t.Context(), intent.ID, confirm)
		noError(t, err)
		equal(t, "intent", []any{paid.Status, paid.PaymentMethod.Card.Brand, paid.PaymentMethod.BillingDetails.Name,
			paid.SetupFutureUsage, paid.Shipping.Name, paid.Shipping.Address.Line1},
			[]any{stripe.PaymentIntentStatusSucceeded, stripe.PaymentMethodCardBrandMastercard, "Jenny Rosen",
				stripe.PaymentIntentSetupFutureUsageOffSession, "Jenny Rosen", "510 Townsend St"})
		equal(t, "the token names it", retrieve(t, a, token.ID).PaymentIntent, intent.ID)

		again := a.intent(&stripe.PaymentIntentCreateParams{})
		_, err = a.V1PaymentIntents.Confirm(t.Context(), again.ID, confirm)
		refused(t, err, invalid("", "confirmation_token", "The ConfirmationToken "+token.ID+
			" has already been used to confirm an intent, and cannot be used again."))
	})

	t.Run("a payment is created and confirmed with one, and a setup, too", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		params := &stripe.PaymentIntentCreateParams{Amount: stripe.Int64(2000), Currency: stripe.String("usd"),
			ConfirmationToken: &enter(t, a, visa()).ID}
		_, err := a.V1PaymentIntents.Create(t.Context(), params)
		refused(t, err, invalid("", "confirmation_token", ""))
		params.Confirm = stripe.Bool(true)
		paid, err := a.V1PaymentIntents.Create(t.Context(), params)
		noError(t, err)
		equal(t, "payment", paid.Status, stripe.PaymentIntentStatusSucceeded)

		token := enter(t, a, visa())
		setup, err := a.V1SetupIntents.Create(t.Context(), &stripe.SetupIntentCreateParams{})
		noError(t, err)
		setup, err = a.V1SetupIntents.Confirm(t.Context(), setup.ID,
			&stripe.SetupIntentConfirmParams{ConfirmationToken: &token.ID})
		noError(t, err)
		equal(t, "setup", setup.Status, stripe.SetupIntentStatusSucceeded)
		equal(t, "the token names it", retrieve(t, a, token.ID).SetupIntent, setup.ID)
		made, err := a.V1SetupIntents.Create(t.Context(), &stripe.SetupIntentCreateParams{
			Confirm: stripe.Bool(true), ConfirmationToken: &enter(t, a, visa()).ID})
		noError(t, err)
		equal(t, "setup", made.Status, stripe.SetupIntentStatusSucceeded)
	})

	t.Run("a decline uses it up, and a refusal does not", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		params := visa()
		params.PaymentMethod, params.ReturnURL = stripe.String("pm_card_chargeDeclined"), nil
		token := enter(t, a, params)
		intent, err := a.V1PaymentIntents.Create(t.Context(),
			&stripe.PaymentIntentCreateParams{Amount: stripe.Int64(2000), Currency: stripe.String("usd")})
		noError(t, err)
		confirm := &stripe.PaymentIntentConfirmParams{ConfirmationToken: &token.ID}
		_, err = a.V1PaymentIntents.Confirm(t.Context(), intent.ID, confirm) // without a return_url
		refused(t, err, invalid("", "", ""))
		equal(t, "used", retrieve(t, a, token.ID).PaymentIntent, "")
		confirm.ReturnURL = stripe.String("https://example.com/back")
		_, err = a.V1PaymentIntents.Confirm(t.Context(), intent.ID, confirm)
		refused(t, err, refusal{http.StatusPaymentRequired, stripe.ErrorTypeCard, "card_declined", "generic_decline",
			"try_again_later", "", ""})
		_, err = a.V1PaymentIntents.Confirm(t.Context(), intent.ID, confirm)
		refused(t, err, invalid("", "confirmation_token", ""))
	})

	t.Run("it expires, and no other account can use it", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		token, intent := enter(t, a, visa()), a.intent(&stripe.PaymentIntentCreateParams{})
		other := in.account(t)
		_, err := other.V1ConfirmationTokens.Retrieve(t.Context(), token.ID, nil)
		if e := refused(t, err, refusal{http.StatusNotFound, stripe.ErrorTypeInvalidRequest, "resource_missing", "", "",
			"confirmation_token", ""}); e == nil {
			t.Error("another account reads it")
		}
		theirs := other.intent(&stripe.PaymentIntentCreateParams{})
		confirm := &stripe.PaymentIntentConfirmParams{ConfirmationToken: &token.ID}
		_, err = other.V1PaymentIntents.Confirm(t.Context(), theirs.ID, confirm)
		refused(t, err, invalid("resource_missing", "confirmation_token", ""))

		both := &stripe.PaymentIntentConfirmParams{ConfirmationToken: &token.ID,
			PaymentMethod: stripe.String("pm_card_visa")}
		_, err = a.V1PaymentIntents.Confirm(t.Context(), intent.ID, both)
		refused(t, err, invalid("parameters_exclusive", "", ""))
		_, err = in.db.Exec(t.Context(), `UPDATE confirmation_tokens SET expires_at = now() WHERE id = $1`, token.ID)
		noError(t, err)
		_, err = a.V1PaymentIntents.Confirm(t.Context(), intent.ID, confirm)
		refused(t, err, invalid("", "confirmation_token",
			"The ConfirmationToken "+token.ID+" has expired. Create another one to confirm with."))
	})
}
