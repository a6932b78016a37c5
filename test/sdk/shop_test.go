//go:build unix

package sdk_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85"

	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// What shops do all day, in one line each. They fail the test if it is refused.

func (a *account) customer(params *stripe.CustomerCreateParams) *stripe.Customer {
	a.t.Helper()
	customer, err := a.V1Customers.Create(a.t.Context(), params)
	noError(a.t, err)
	return customer
}

// customerWith makes a customer with the card of a token.
func (a *account) customerWith(token string) *stripe.Customer {
	a.t.Helper()
	return a.customer(&stripe.CustomerCreateParams{Source: stripe.String(token)})
}

// keep adds the card of a token to a customer's.
func (a *account) keep(customer, token string) *stripe.Card {
	a.t.Helper()
	kept, err := a.V1PaymentSources.Create(a.t.Context(),
		&stripe.PaymentSourceCreateParams{Customer: stripe.String(customer), Source: source(token)})
	noError(a.t, err)
	return kept.Card
}

func (a *account) charge(params *stripe.ChargeCreateParams) *stripe.Charge {
	a.t.Helper()
	charge, err := a.V1Charges.Create(a.t.Context(), params)
	noError(a.t, err)
	return charge
}

// sell charges a card that works.
func (a *account) sell(amount int64) *stripe.Charge {
	a.t.Helper()
	return a.charge(order(amount, "tok_visa"))
}

// hold authorizes an amount without taking it.
func (a *account) hold(amount int64) *stripe.Charge {
	a.t.Helper()
	params := order(amount, "tok_visa")
	params.Capture = stripe.Bool(false)
	return a.charge(params)
}

func (a *account) refund(params *stripe.RefundCreateParams) *stripe.Refund {
	a.t.Helper()
	refund, err := a.V1Refunds.Create(a.t.Context(), params)
	noError(a.t, err)
	return refund
}

func (a *account) retrieveCharge(id string, expand ...string) *stripe.Charge {
	a.t.Helper()
	charge, err := a.V1Charges.Retrieve(a.t.Context(), id,
		&stripe.ChargeRetrieveParams{Expand: stripe.StringSlice(expand)})
	noError(a.t, err)
	return charge
}

func (a *account) retrieveCustomer(id string) *stripe.Customer {
	a.t.Helper()
	customer, err := a.V1Customers.Retrieve(a.t.Context(), id, nil)
	noError(a.t, err)
	return customer
}

// order asks for the amount, in US cents, from the card of a token.
func order(amount int64, token string) *stripe.ChargeCreateParams {
	return &stripe.ChargeCreateParams{
		Amount:   stripe.Int64(amount),
		Currency: stripe.String("usd"),
		Source:   source(token),
	}
}

func source(token string) *stripe.PaymentSourceSourceParams {
	return &stripe.PaymentSourceSourceParams{Token: stripe.String(token)}
}

// typed is a card as a customer types it into a form.
func typed(t *testing.T, name string) *stripe.CardParams {
	t.Helper()
	card, known := testcard.ByName(name)
	if !known {
		t.Fatalf("no test card is called %s", name)
	}
	return &stripe.CardParams{
		Number:   stripe.String(card.Number()),
		ExpMonth: stripe.String("8"),
		ExpYear:  stripe.String(year(3)),
		CVC:      stripe.String("123"),
	}
}

// year is the year that lies so many years from now.
func year(from int) string { return strconv.Itoa(time.Now().UTC().Year() + from) }
