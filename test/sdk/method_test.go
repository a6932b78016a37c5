//go:build unix

package sdk_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

func (a *account) attach(method, customer string) *stripe.PaymentMethod {
	a.t.Helper()
	attached, err := a.V1PaymentMethods.Attach(a.t.Context(), method,
		&stripe.PaymentMethodAttachParams{Customer: &customer})
	noError(a.t, err)
	return attached
}

func TestPaymentMethods(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("a customer's card pays again and again, and is gone when it is detached", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		customer := a.customer(nil)
		card := a.attach("pm_card_visa", customer.ID)
		for range 2 {
			paid := a.intent(&stripe.PaymentIntentCreateParams{
				Customer:      &customer.ID,
				PaymentMethod: &card.ID,
				Confirm:       stripe.Bool(true),
				OffSession:    stripe.Bool(true),
			})
			equal(t, "state", paid.Status, stripe.PaymentIntentStatusSucceeded)
		}
		detached, err := a.V1PaymentMethods.Detach(t.Context(), card.ID, nil)
		noError(t, err)
		if detached.Customer != nil {
			t.Errorf("it still belongs to %s", detached.Customer.ID)
		}
		_, err = a.V1PaymentMethods.Attach(t.Context(), card.ID,
			&stripe.PaymentMethodAttachParams{Customer: &customer.ID})
		refused(t, err, invalid("", "", ""))
	})

	t.Run("a customer's source pays intents under its own ID, until it is deleted", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		customer := a.customer(nil)
		card := a.keep(customer.ID, "tok_visa")
		pay := func(customer *string) (*stripe.PaymentIntent, error) {
			return a.V1PaymentIntents.Create(t.Context(), &stripe.PaymentIntentCreateParams{
				Amount:             stripe.Int64(2000),
				Currency:           stripe.String("usd"),
				Customer:           customer,
				PaymentMethod:      &card.ID,
				PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
				Confirm:            stripe.Bool(true),
				Expand:             stripe.StringSlice([]string{"payment_method", "latest_charge"}),
			})
		}
		for range 2 {
			paid, err := pay(&customer.ID)
			noError(t, err)
			equal(t, "state", paid.Status, stripe.PaymentIntentStatusSucceeded)
			equal(t, "method", paid.PaymentMethod.ID+" "+string(paid.PaymentMethod.Type), card.ID+" card")
			equal(t, "method of the charge", paid.LatestCharge.PaymentMethod, card.ID)
		}
		_, err := pay(nil)
		refused(t, err, invalid("", "payment_method", ""))
		_, err = pay(&a.customer(nil).ID)
		refused(t, err, invalid("", "payment_method", ""))

		method, err := a.V1PaymentMethods.Retrieve(t.Context(), card.ID, nil)
		noError(t, err)
		equal(t, "customer", method.Customer.ID, customer.ID)
		equal(t, "attached", a.attach(card.ID, customer.ID).ID, card.ID)
		_, err = a.V1PaymentMethods.Attach(t.Context(), card.ID,
			&stripe.PaymentMethodAttachParams{Customer: &a.customer(nil).ID})
		refused(t, err, invalid("", "", "The payment method you provided has already been attached to a customer."))
		_, err = a.V1PaymentMethods.Detach(t.Context(), card.ID, nil)
		refused(t, err, invalid("", "payment_method", ""))
		_, err = a.V1PaymentMethods.Update(t.Context(), card.ID, &stripe.PaymentMethodUpdateParams{})
		refused(t, err, invalid("", "payment_method", ""))
		_, err = a.V1TestHelpersConfirmationTokens.Create(t.Context(),
			&stripe.TestHelpersConfirmationTokenCreateParams{PaymentMethod: &card.ID})
		refused(t, err, invalid("", "payment_method", ""))

		updated, err := a.V1Customers.Update(t.Context(), customer.ID, &stripe.CustomerUpdateParams{
			InvoiceSettings: &stripe.CustomerUpdateInvoiceSettingsParams{DefaultPaymentMethod: &card.ID}})
		noError(t, err)
		equal(t, "default", updated.InvoiceSettings.DefaultPaymentMethod.ID, card.ID)
		_, err = a.V1PaymentSources.Delete(t.Context(), card.ID,
			&stripe.PaymentSourceDeleteParams{Customer: &customer.ID})
		noError(t, err)
		if left := a.retrieveCustomer(customer.ID).InvoiceSettings.DefaultPaymentMethod; left != nil {
			t.Errorf("the default is still %s", left.ID)
		}
		_, err = pay(&customer.ID)
		refused(t, err, invalid("resource_missing", "payment_method", ""))
	})

	t.Run("a source whose holder was authenticated once pays in the holder's absence", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		customer := a.customer(nil)
		card := a.keep(customer.ID, "tok_authenticationRequiredOnSetup")
		first := a.intent(&stripe.PaymentIntentCreateParams{
			Customer:         &customer.ID,
			PaymentMethod:    &card.ID,
			Confirm:          stripe.Bool(true),
			SetupFutureUsage: stripe.String("off_session"),
		})
		equal(t, "state", first.Status, stripe.PaymentIntentStatusRequiresAction)
		page := in.challenge(t, first.ID)
		if body := visit(t, page, nil).body; !strings.Contains(body, card.Last4) {
			t.Errorf("the bank's page does not show the card: %s", body)
		}
		visit(t, page, url.Values{"result": {"pass"}})
		equal(t, "after the bank's page", a.retrieveIntent(first.ID).Status, stripe.PaymentIntentStatusSucceeded)
		later := a.intent(&stripe.PaymentIntentCreateParams{
			Customer:      &customer.ID,
			PaymentMethod: &card.ID,
			Confirm:       stripe.Bool(true),
			OffSession:    stripe.Bool(true),
		})
		equal(t, "off session", later.Status, stripe.PaymentIntentStatusSucceeded)
	})

	t.Run("a card that paid without a customer is spent", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		loose, err := a.V1PaymentMethods.Create(t.Context(), &stripe.PaymentMethodCreateParams{
			Type: stripe.String("card"), Card: &stripe.PaymentMethodCreateCardParams{Token: stripe.String("tok_visa")}})
		noError(t, err)
		a.intent(&stripe.PaymentIntentCreateParams{PaymentMethod: &loose.ID, Confirm: stripe.Bool(true)})
		_, err = a.V1PaymentIntents.Create(t.Context(), &stripe.PaymentIntentCreateParams{
			Amount:        stripe.Int64(2000),
			Currency:      stripe.String("usd"),
			PaymentMethod: &loose.ID,
		})
		refused(t, err, invalid("", "payment_method", ""))
		_, err = a.V1PaymentMethods.Attach(t.Context(), loose.ID,
			&stripe.PaymentMethodAttachParams{Customer: &a.customer(nil).ID})
		refused(t, err,
			invalid("", "",
				"This PaymentMethod was previously used without being attached to a Customer or was detached from a "+
					"Customer, and may not be used again."))
	})

	t.Run("a card is kept when the merchant wants to use it again", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		customer := a.customer(nil)
		a.intent(&stripe.PaymentIntentCreateParams{
			Customer:         &customer.ID,
			PaymentMethod:    stripe.String("pm_card_mastercard"),
			Confirm:          stripe.Bool(true),
			SetupFutureUsage: stripe.String("off_session"),
		})
		kept := collect(t,
			a.V1PaymentMethods.List(t.Context(), &stripe.PaymentMethodListParams{Customer: &customer.ID}))
		equal(t, "cards", ids(kept, func(m *stripe.PaymentMethod) string { return m.Card.Last4 }), []string{"4444"})
	})

	t.Run("an address that is unset is gone, and the rest of the billing details stays", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		card := a.attach("pm_card_visa", a.customer(nil).ID)
		_, err := a.V1PaymentMethods.Update(t.Context(),
			card.ID, &stripe.PaymentMethodUpdateParams{BillingDetails: &stripe.PaymentMethodUpdateBillingDetailsParams{
				Name:    stripe.String("Ada"),
				Address: &stripe.AddressParams{City: stripe.String("Bern"), Line1: stripe.String("Gasse 1")},
			}})
		noError(t, err)
		unset := &stripe.PaymentMethodUpdateParams{}
		unset.AddExtra("billing_details[address]", "")
		updated, err := a.V1PaymentMethods.Update(t.Context(), card.ID, unset)
		noError(t, err)
		equal(t, "billing details", []any{updated.BillingDetails.Name, *updated.BillingDetails.Address},
			[]any{"Ada", stripe.Address{}})
	})

	t.Run("a billing address is in a country", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		in := func(country string) *stripe.PaymentMethodCreateParams {
			return &stripe.PaymentMethodCreateParams{
				Type: stripe.String("card"),
				Card: &stripe.PaymentMethodCreateCardParams{Token: stripe.String("tok_visa")},
				BillingDetails: &stripe.PaymentMethodCreateBillingDetailsParams{
					Address: &stripe.AddressParams{Country: &country}}}
		}
		for _, country := range []string{"US", "NO", "XK", "AX", "PR"} {
			_, err := a.V1PaymentMethods.Create(t.Context(), in(country))
			noError(t, err)
		}
		for _, country := range []string{"ZZ", "UK", "USA", "Norway"} {
			_, err := a.V1PaymentMethods.Create(t.Context(), in(country))
			refused(t, err, invalid("", "billing_details[address][country]", "Country '"+country+"' is unknown. Try "+
				"using a 2-character alphanumeric country code instead, such as 'US', 'EG', or 'GB'. A full list of "+
				"country codes is available at "+
				"https://en.wikipedia.org/wiki/ISO_3166-1_alpha-2#Officially_assigned_code_elements"))
		}
	})

	t.Run("a card is a token or a number, not both", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		both := &stripe.PaymentMethodCreateParams{
			Type: stripe.String("card"),
			Card: &stripe.PaymentMethodCreateCardParams{
				Token: stripe.String("tok_visa"), ExpMonth: stripe.Int64(12)},
		}
		_, err := a.V1PaymentMethods.Create(t.Context(), both)
		refused(t, err, invalid("parameters_exclusive", "", ""))
	})

	t.Run("another's card is refused", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		ann, bob := a.customer(nil), a.customer(nil)
		card := a.attach("pm_card_visa", ann.ID)
		for _, customer := range []*string{nil, &bob.ID} {
			_, err := a.V1PaymentIntents.Create(t.Context(), &stripe.PaymentIntentCreateParams{
				Amount:        stripe.Int64(2000),
				Currency:      stripe.String("usd"),
				PaymentMethod: &card.ID,
				Customer:      customer,
			})
			refused(t, err, invalid("", "payment_method", ""))
		}
		_, err := a.V1PaymentMethods.Attach(t.Context(), card.ID, &stripe.PaymentMethodAttachParams{Customer: &bob.ID})
		refused(t, err, invalid("", "", "The payment method you provided has already been attached to a customer."))
		equal(t, "attached again to its own", a.attach(card.ID, ann.ID).ID, card.ID)
	})

	t.Run("a test card that is retrieved can be attached, and is the same one until then", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		retrieve := func() *stripe.PaymentMethod {
			method, err := a.V1PaymentMethods.Retrieve(t.Context(), "pm_card_visa", nil)
			noError(t, err)
			return method
		}
		first := retrieve()
		equal(t, "retrieved again", retrieve().ID, first.ID)
		shopper, err := a.V1Customers.Create(t.Context(), nil)
		noError(t, err)
		attached, err := a.V1PaymentMethods.Attach(t.Context(), first.ID,
			&stripe.PaymentMethodAttachParams{Customer: &shopper.ID})
		noError(t, err)
		equal(t, "customer", attached.Customer.ID, shopper.ID)
		second := retrieve()
		equal(t, "another one once the first is used", second.ID != first.ID && second.Customer == nil, true)
		paid, err := a.V1PaymentIntents.Create(t.Context(), &stripe.PaymentIntentCreateParams{
			Amount:             stripe.Int64(2000),
			Currency:           stripe.String("usd"),
			Confirm:            stripe.Bool(true),
			PaymentMethod:      &second.ID,
			PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
		})
		noError(t, err)
		equal(t, "status", paid.Status, stripe.PaymentIntentStatusSucceeded)
		equal(t, "and another one once that is spent", retrieve().ID != second.ID, true)
	})

	t.Run("only an attached card is a customer's default, and no default outlives its card", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		customer := a.customer(nil)
		card := a.attach("pm_card_visa", customer.ID)
		updated, err := a.V1Customers.Update(t.Context(), customer.ID, &stripe.CustomerUpdateParams{
			InvoiceSettings: &stripe.CustomerUpdateInvoiceSettingsParams{DefaultPaymentMethod: &card.ID}})
		noError(t, err)
		equal(t, "default", updated.InvoiceSettings.DefaultPaymentMethod.ID, card.ID)
		_, err = a.V1PaymentMethods.Detach(t.Context(), card.ID, nil)
		noError(t, err)
		read, err := a.V1Customers.Retrieve(t.Context(), customer.ID, nil)
		noError(t, err)
		if read.InvoiceSettings.DefaultPaymentMethod != nil {
			t.Errorf("its default is still %s", read.InvoiceSettings.DefaultPaymentMethod.ID)
		}
	})

	t.Run("a deleted customer leaves no card behind", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		customer := a.customer(nil)
		card := a.attach("pm_card_visa", customer.ID)
		_, err := a.V1Customers.Delete(t.Context(), customer.ID, nil)
		noError(t, err)
		read, err := a.V1PaymentMethods.Retrieve(t.Context(), card.ID, nil)
		noError(t, err)
		if read.Customer != nil {
			t.Errorf("it still belongs to %s", read.Customer.ID)
		}
	})

	t.Run("a card that its issuer declines cannot be attached, and leaves nothing behind", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		customer := a.customer(nil)
		_, err := a.V1PaymentMethods.Attach(t.Context(), "pm_card_chargeDeclined",
			&stripe.PaymentMethodAttachParams{Customer: &customer.ID})
		refused(t, err,
			refusal{http.StatusPaymentRequired, stripe.ErrorTypeCard, "card_declined", "generic_decline",
				"try_again_later", "", "Your card was declined."})
		methods := collect(t, a.V1Customers.ListPaymentMethods(t.Context(),
			&stripe.CustomerListPaymentMethodsParams{Customer: &customer.ID}))
		equal(t, "methods of the customer", len(methods), 0)
		equal(t, "events", a.eventsOf(customer.ID), []string{"customer.created"})
		all := collect(t, a.V1Events.List(t.Context(), nil))
		equal(t, "events of everything", len(all), 1)
	})
}

func TestSetupIntents(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("what belongs to a confirmation is refused without one", func(t *testing.T) {
		inTurn(t)
		_, err := in.account(t).V1SetupIntents.Create(t.Context(),
			&stripe.SetupIntentCreateParams{ReturnURL: stripe.String("https://shop.example")})
		refused(t, err,
			invalid("", "return_url",
				"The parameter `return_url` cannot be passed when creating a SetupIntent unless `confirm` is set to "+
					"true."))
	})

	t.Run("a card that is set up can be charged when its holder is not there", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		customer := a.customer(nil)
		setup, err := a.V1SetupIntents.Create(t.Context(), &stripe.SetupIntentCreateParams{
			Customer:           &customer.ID,
			Confirm:            stripe.Bool(true),
			PaymentMethod:      stripe.String("pm_card_authenticationRequiredOnSetup"),
			PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
			ReturnURL:          stripe.String("https://shop.example"),
		})
		noError(t, err)
		equal(t, "state", setup.Status, stripe.SetupIntentStatusRequiresAction)
		visit(t, setup.NextAction.RedirectToURL.URL, url.Values{"result": {"pass"}})
		setup, err = a.V1SetupIntents.Retrieve(t.Context(), setup.ID, nil)
		noError(t, err)
		equal(t, "state", setup.Status, stripe.SetupIntentStatusSucceeded)
		paid := a.intent(&stripe.PaymentIntentCreateParams{
			Customer:      &customer.ID,
			PaymentMethod: &setup.PaymentMethod.ID,
			Confirm:       stripe.Bool(true),
			OffSession:    stripe.Bool(true),
		})
		equal(t, "state of the payment", paid.Status, stripe.PaymentIntentStatusSucceeded)
	})

	t.Run("a setup that is declined or failed can be tried again", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		setup, err := a.V1SetupIntents.Create(t.Context(),
			&stripe.SetupIntentCreateParams{PaymentMethodTypes: stripe.StringSlice([]string{"card"})})
		noError(t, err)
		_, err = a.V1SetupIntents.Confirm(t.Context(), setup.ID,
			&stripe.SetupIntentConfirmParams{PaymentMethod: stripe.String("pm_card_chargeDeclined")})
		e := refused(t, err,
			refusal{http.StatusPaymentRequired, stripe.ErrorTypeCard, "card_declined", "generic_decline",
				"try_again_later", "", "Your card was declined."})
		equal(t, "the setup in the error", []any{e.SetupIntent.ID, e.SetupIntent.Status},
			[]any{setup.ID, stripe.SetupIntentStatusRequiresPaymentMethod})
		done, err := a.V1SetupIntents.Confirm(t.Context(), setup.ID,
			&stripe.SetupIntentConfirmParams{PaymentMethod: stripe.String("pm_card_visa")})
		noError(t, err)
		equal(t, "state", done.Status, stripe.SetupIntentStatusSucceeded)
		_, err = a.V1SetupIntents.Cancel(t.Context(), setup.ID, nil)
		refused(t, err, invalid("setup_intent_unexpected_state", "", ""))
		equal(t, "pending balance", a.pending(), int64(0))
	})
}
