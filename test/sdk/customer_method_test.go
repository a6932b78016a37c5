//go:build unix

package sdk_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85"
)

func TestCustomersThatBringAMethod(t *testing.T) {
	inTurn(t)
	in := install(t)
	create := func(a *account, method, byDefault string) (*stripe.Customer, error) {
		params := &stripe.CustomerCreateParams{PaymentMethod: &method, Email: stripe.String("jenny@example.com")}
		if byDefault != "" {
			params.InvoiceSettings = &stripe.CustomerCreateInvoiceSettingsParams{DefaultPaymentMethod: &byDefault}
		}
		return a.V1Customers.Create(a.t.Context(), params)
	}

	t.Run("the method is attached, and may be the default", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		made, err := a.V1PaymentMethods.Create(t.Context(), &stripe.PaymentMethodCreateParams{
			Type: stripe.String("card"), Card: &stripe.PaymentMethodCreateCardParams{Token: stripe.String("tok_visa")}})
		noError(t, err)
		for _, method := range []string{made.ID, "pm_card_mastercard"} {
			customer, err := create(a, method, method)
			noError(t, err)
			methods := collect(t,
				a.V1Customers.ListPaymentMethods(t.Context(),
					&stripe.CustomerListPaymentMethodsParams{Customer: &customer.ID}))
			equal(t, "methods of the customer", ids(methods, func(m *stripe.PaymentMethod) string { return m.ID }),
				[]string{customer.InvoiceSettings.DefaultPaymentMethod.ID})
			equal(t, "events", a.eventsOf(methods[0].ID), []string{"payment_method.attached"})
			equal(t, "events", a.eventsOf(customer.ID), []string{"customer.created"})
		}
		_, err = create(a, made.ID, "")
		refused(t, err, invalid("", "", "The payment method you provided has already been attached to a customer."))
	})

	t.Run("a card that its issuer declines makes no customer", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		_, err := create(a, "pm_card_chargeDeclined", "")
		refused(t, err,
			refusal{http.StatusPaymentRequired, stripe.ErrorTypeCard, "card_declined", "generic_decline",
				"try_again_later", "", "Your card was declined."})
		_, err = create(a, "pm_nobody", "")
		refused(t, err, invalid("resource_missing", "payment_method", ""))
		_, err = create(a, "pm_card_visa", "pm_card_mastercard")
		refused(t, err, invalid("", "invoice_settings[default_payment_method]", ""))
		equal(t, "customers", len(collect(t, a.V1Customers.List(t.Context(), nil))), 0)
		equal(t, "events", len(collect(t, a.V1Events.List(t.Context(), nil))), 0)
	})
}

func TestCustomersOfATestClock(t *testing.T) {
	inTurn(t)
	a := install(t).account(t)
	clock, err := a.V1TestHelpersTestClocks.Create(t.Context(),
		&stripe.TestHelpersTestClockCreateParams{FrozenTime: stripe.Int64(time.Now().Unix())})
	noError(t, err)
	params := &stripe.CustomerCreateParams{TestClock: &clock.ID, PaymentMethod: stripe.String("pm_card_visa")}
	params.AddExpand("test_clock")
	customer := a.customer(params)
	equal(t, "the clock of the customer", []any{customer.TestClock.ID, customer.TestClock.Status},
		[]any{clock.ID, stripe.TestHelpersTestClockStatusReady})
	other := a.customer(&stripe.CustomerCreateParams{})
	if other.TestClock != nil {
		t.Errorf("a customer of no clock has %s", other.TestClock.ID)
	}
	list := func(clock *string) []string {
		return ids(collect(t, a.V1Customers.List(t.Context(), &stripe.CustomerListParams{TestClock: clock})),
			func(c *stripe.Customer) string { return c.ID })
	}
	equal(t, "customers", list(nil), []string{other.ID})
	equal(t, "customers of the clock", list(&clock.ID), []string{customer.ID})
	_, err = a.V1Customers.Create(t.Context(), &stripe.CustomerCreateParams{TestClock: stripe.String("clock_nobody")})
	refused(t, err, invalid("resource_missing", "test_clock", ""))

	_, err = a.V1TestHelpersTestClocks.Delete(t.Context(), clock.ID, nil)
	noError(t, err)
	equal(t, "the customer is deleted with its clock", a.retrieveCustomer(customer.ID).Deleted, true)
	equal(t, "its events", a.eventsOf(customer.ID), []string{"customer.created", "customer.deleted"})
	equal(t, "another is not", a.retrieveCustomer(other.ID).Deleted, false)
	_, err = a.V1Customers.Create(t.Context(), &stripe.CustomerCreateParams{TestClock: &clock.ID})
	refused(t, err, invalid("resource_missing", "test_clock", ""))
}

func TestBalanceAvailableEvent(t *testing.T) {
	inTurn(t)
	in := install(t)
	in.workTwice(t)
	a := in.account(t)
	emitted := func() (available []any) {
		for _, e := range collect(t,
			a.V1Events.List(t.Context(), &stripe.EventListParams{Type: stripe.String("balance.available")})) {
			equal(t, "its object", e.Data.Object["object"], any("balance"))
			available = append(available, e.Data.Object["available"].([]any)[0].(map[string]any)["amount"])
		}
		slices.Reverse(available)
		return available
	}
	a.sell(2000)
	had := a.earn(5000)
	eventually(t, "it is told what is available at once", func() bool { return len(emitted()) > 0 })
	a.advance(twoDays)
	equal(t, "what was told when the clock is ready", emitted(), []any{float64(had), float64(had + 2000 - 88)})

	// Money that is available at once is so by the clock's time, too.
	more := a.earn(3000)
	eventually(t, "an event is sent for what is earned behind the clock", func() bool { return len(emitted()) > 2 })
	equal(t, "what was told last", emitted()[2:], []any{float64(had + 2000 - 88 + more)})
}
