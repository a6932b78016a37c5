//go:build unix

package sdk_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

func TestCardsOfACustomer(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("the first card becomes the default, the second does not", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c := a.customer(nil)
		first := a.keep(c.ID, "tok_visa")
		equal(t, "owner", first.Customer.ID, c.ID)
		a.keep(c.ID, "tok_mastercard")
		equal(t, "default", a.retrieveCustomer(c.ID).DefaultSource.ID, first.ID)
	})

	t.Run("the merchant chooses another default, but only among the customer's cards", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c, other := a.customerWith("tok_visa"), a.customerWith("tok_visa")
		second := a.keep(c.ID, "tok_mastercard")
		updated, err := a.V1Customers.Update(t.Context(), c.ID, &stripe.CustomerUpdateParams{DefaultSource: &second.ID})
		noError(t, err)
		equal(t, "default", updated.DefaultSource.ID, second.ID)
		_, err = a.V1Customers.Update(t.Context(), c.ID,
			&stripe.CustomerUpdateParams{DefaultSource: &other.DefaultSource.ID})
		refused(t, err,
			invalid("resource_missing", "default_source", fmt.Sprintf("No such source: '%s'", other.DefaultSource.ID)))
	})

	t.Run("a card given with an update becomes the default at once", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c := a.customerWith("tok_visa")
		updated, err := a.V1Customers.Update(t.Context(), c.ID,
			&stripe.CustomerUpdateParams{Source: stripe.String("tok_amex")})
		noError(t, err)
		if updated.DefaultSource.ID == c.DefaultSource.ID {
			t.Error("the default is still the first card")
		}
	})

	t.Run("a card that its issuer declines is not kept", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c := a.customer(nil)
		create := func(token string) error {
			_, err := a.V1Customers.Create(t.Context(), &stripe.CustomerCreateParams{Source: &token})
			return err
		}
		update := func(token string) error {
			_, err := a.V1Customers.Update(t.Context(), c.ID,
				&stripe.CustomerUpdateParams{Source: &token, Name: stripe.String("Jenny Rosen")})
			return err
		}
		add := func(token string) error {
			_, err := a.V1PaymentSources.Create(t.Context(),
				&stripe.PaymentSourceCreateParams{Customer: &c.ID, Source: source(token)})
			return err
		}
		for _, keep := range []func(token string) error{create, update, add} {
			refused(t, keep("tok_chargeDeclined"), refusal{http.StatusPaymentRequired, stripe.ErrorTypeCard,
				"card_declined", "generic_decline", "try_again_later", "", "Your card was declined."})
			refused(t, keep("tok_chargeDeclinedIncorrectCvc"), refusal{http.StatusPaymentRequired,
				stripe.ErrorTypeCard, "incorrect_cvc", "incorrect_cvc", "confirm_card_data", "cvc",
				"Your card's security code is incorrect."})
		}
		equal(t, "customers", len(collect(t, a.V1Customers.List(t.Context(), nil))), 1)
		left := a.retrieveCustomer(c.ID)
		equal(t, "the customer", []any{left.Name, left.DefaultSource == nil}, []any{"", true})
		equal(t, "cards", len(collect(t,
			a.V1PaymentSources.List(t.Context(), &stripe.PaymentSourceListParams{Customer: &c.ID}))), 0)
		equal(t, "events", a.eventsOf(c.ID), []string{"customer.created"})
	})

	t.Run("a card whose charges will fail is kept, because its issuer says that it is good", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		kept := a.keep(a.customer(nil).ID, "tok_chargeCustomerFail")
		equal(t, "card", kept.Last4, "0341")
	})

	t.Run("a kept card shows what its issuer compared", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		card := typed(t, "visa")
		card.CVC = stripe.String("123")
		kept := a.keep(a.customer(nil).ID, a.token(card).ID)
		equal(t, "security code", kept.CVCCheck, stripe.CardCVCCheckPass)
	})

	t.Run("a token is used up by the issuer's no", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		token := a.token(typed(t, "visa_chargeDeclined")).ID
		_, err := a.V1Customers.Create(t.Context(), &stripe.CustomerCreateParams{Source: &token})
		refused(t, err, refusal{http.StatusPaymentRequired, stripe.ErrorTypeCard, "card_declined", "generic_decline",
			"try_again_later", "", ""})
		_, err = a.V1Customers.Create(t.Context(), &stripe.CustomerCreateParams{Source: &token})
		refused(t, err, invalid("token_already_used", "", ""))
	})

	t.Run("what is wrong with the rest is said before the issuer is asked", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c, token := a.customer(nil), a.token(typed(t, "visa")).ID
		_, err := a.V1Customers.Update(t.Context(), c.ID,
			&stripe.CustomerUpdateParams{Source: &token, DefaultSource: stripe.String("card_nobody")})
		refused(t, err, invalid("resource_missing", "default_source", ""))
		_, err = a.V1Customers.Create(t.Context(),
			&stripe.CustomerCreateParams{Source: &token, PaymentMethod: stripe.String("pm_card_visa")})
		refused(t, err, invalid("parameters_exclusive", "", ""))
		a.keep(c.ID, token) // which is still good
	})

	t.Run("a card is read and changed where it is kept", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c := a.customer(nil)
		card := a.keep(c.ID, "tok_visa")
		updated, err := a.V1PaymentSources.Update(t.Context(), card.ID, &stripe.PaymentSourceUpdateParams{
			Customer: &c.ID, Name: stripe.String("Ada"), ExpMonth: stripe.String("3"), ExpYear: stripe.String(year(4)),
			AddressZip: stripe.String("0150"), Metadata: map[string]string{"drawer": "top"}})
		noError(t, err)
		read, err := a.V1PaymentSources.Retrieve(t.Context(), card.ID,
			&stripe.PaymentSourceRetrieveParams{Customer: &c.ID})
		noError(t, err)
		for _, s := range []*stripe.Card{updated.Card, read.Card} {
			equal(t, "card",
				[]any{s.ID, s.Name, s.ExpMonth, strconv.FormatInt(s.ExpYear, 10), s.AddressZip, s.AddressZipCheck,
					s.Metadata["drawer"]},
				[]any{card.ID, "Ada", int64(3), year(4), "0150", stripe.CardAddressZipCheckUnchecked, "top"})
		}
	})

	t.Run("a card's new expiry is one that a card can have", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c := a.customer(nil)
		card, method := a.keep(c.ID, "tok_visa"), a.attach("pm_card_visa", c.ID)
		_, err := a.V1PaymentSources.Update(t.Context(), card.ID,
			&stripe.PaymentSourceUpdateParams{Customer: &c.ID, ExpMonth: stripe.String("13")})
		refused(t, err, refusal{
			Status: http.StatusPaymentRequired,
			Type:   stripe.ErrorTypeCard,
			Code:   "invalid_expiry_month",
			Param:  "exp_month",
		})
		_, err = a.V1PaymentMethods.Update(t.Context(), method.ID,
			&stripe.PaymentMethodUpdateParams{Card: &stripe.PaymentMethodUpdateCardParams{ExpYear: stripe.Int64(2001)}})
		refused(t, err, refusal{
			Status: http.StatusPaymentRequired,
			Type:   stripe.ErrorTypeCard,
			Code:   "invalid_expiry_year",
			Param:  "exp_year",
		})
		renewed, err := a.V1PaymentMethods.Update(t.Context(), method.ID, &stripe.PaymentMethodUpdateParams{
			Card: &stripe.PaymentMethodUpdateCardParams{ExpMonth: stripe.Int64(5), ExpYear: stripe.Int64(50)}})
		noError(t, err)
		equal(t, "expiry", []int64{renewed.Card.ExpMonth, renewed.Card.ExpYear}, []int64{5, 2050})
	})

	t.Run("a card is found with its own customer only", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c, other := a.customerWith("tok_visa"), a.customer(nil)
		card := c.DefaultSource.ID
		gone := missing("id", fmt.Sprintf("No such source: '%s'", card))
		_, err := a.V1PaymentSources.Retrieve(t.Context(), card,
			&stripe.PaymentSourceRetrieveParams{Customer: &other.ID})
		refused(t, err, gone)
		_, err = a.V1PaymentSources.Update(t.Context(), card,
			&stripe.PaymentSourceUpdateParams{Customer: &other.ID, Name: stripe.String("Eve")})
		refused(t, err, gone)
		_, err = a.V1PaymentSources.Delete(t.Context(), card, &stripe.PaymentSourceDeleteParams{Customer: &other.ID})
		refused(t, err, gone)
	})

	t.Run("cards are listed newest first and paged through", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c := a.customer(nil)
		var made []string
		for range 5 {
			made = append(made, a.keep(c.ID, "tok_visa").ID)
		}
		newestFirst := sortByAge(made)
		listed := collect(t, a.V1PaymentSources.List(t.Context(), &stripe.PaymentSourceListParams{
			Customer: &c.ID, Object: stripe.String("card"), ListParams: stripe.ListParams{Limit: stripe.Int64(2)}}))
		equal(t, "cards", ids(listed, func(s *stripe.PaymentSource) string { return s.ID }), newestFirst)
	})

	t.Run("when the default card is removed, the newest of the others takes its place", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c := a.customerWith("tok_visa")
		second, third := a.keep(c.ID, "tok_mastercard"), a.keep(c.ID, "tok_amex")
		for _, step := range []struct{ removed, heir string }{{c.DefaultSource.ID, third.ID}, {third.ID, second.ID}} {
			removed, err := a.V1PaymentSources.Delete(t.Context(), step.removed,
				&stripe.PaymentSourceDeleteParams{Customer: &c.ID})
			noError(t, err)
			equal(t, "deleted", removed.Deleted, true)
			equal(t, "default", a.retrieveCustomer(c.ID).DefaultSource.ID, step.heir)
		}
		_, err := a.V1PaymentSources.Delete(t.Context(), second.ID, &stripe.PaymentSourceDeleteParams{Customer: &c.ID})
		noError(t, err)
		if left := a.retrieveCustomer(c.ID).DefaultSource; left != nil {
			t.Errorf("a customer without cards has the default %s", left.ID)
		}
		_, err = a.V1PaymentSources.Retrieve(t.Context(), second.ID,
			&stripe.PaymentSourceRetrieveParams{Customer: &c.ID})
		refused(t, err, missing("id", fmt.Sprintf("No such source: '%s'", second.ID)))
	})
}
