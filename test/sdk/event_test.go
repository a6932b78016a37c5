//go:build unix

package sdk_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

func TestEvents(t *testing.T) {
	inTurn(t)
	in := install(t)
	ctx := t.Context

	// The events of each change. Events of one request have no order among themselves.
	for what, c := range map[string]struct {
		change func(t *testing.T, a *account)
		want   []string
	}{
		"a customer that comes and goes": {func(t *testing.T, a *account) {
			c := a.customer(nil)
			_, err := a.V1Customers.Update(ctx(), c.ID, &stripe.CustomerUpdateParams{Name: stripe.String("Ada")})
			noError(t, err)
			_, err = a.V1Customers.Delete(ctx(), c.ID, nil)
			noError(t, err)
		}, []string{"customer.created", "customer.updated", "customer.deleted"}},
		"a card that is kept, changed and removed": {func(t *testing.T, a *account) {
			c := a.customer(nil)
			card := a.keep(c.ID, "tok_visa")
			_, err := a.V1PaymentSources.Update(ctx(), card.ID,
				&stripe.PaymentSourceUpdateParams{Customer: &c.ID, Name: stripe.String("Ada")})
			noError(t, err)
			_, err = a.V1PaymentSources.Delete(ctx(), card.ID, &stripe.PaymentSourceDeleteParams{Customer: &c.ID})
			noError(t, err)
		}, []string{"customer.created", "customer.source.created", "customer.source.updated",
			"customer.source.deleted"}},
		"a charge that is held, captured, changed and refunded": {func(t *testing.T, a *account) {
			charge := a.hold(1000)
			_, err := a.V1Charges.Capture(ctx(), charge.ID, nil)
			noError(t, err)
			_, err = a.V1Charges.Update(ctx(), charge.ID, &stripe.ChargeUpdateParams{Description: stripe.String("x")})
			noError(t, err)
			refund := a.refund(&stripe.RefundCreateParams{Charge: &charge.ID})
			_, err = a.V1Refunds.Update(ctx(), refund.ID,
				&stripe.RefundUpdateParams{Metadata: map[string]string{"a": "1"}})
			noError(t, err)
		}, []string{"charge.succeeded", "charge.captured", "charge.updated", "refund.created", "charge.refunded",
			"refund.updated", "charge.refund.updated"}},
		"a charge that is declined": {func(t *testing.T, a *account) {
			_, err := a.V1Charges.Create(ctx(), order(1000, "tok_chargeDeclined"))
			if err == nil {
				t.Error("it is not declined")
			}
		}, []string{"charge.failed"}},
		"a request that changes nothing": {func(t *testing.T, a *account) {
			_, err := a.V1Charges.Create(ctx(), order(1, "tok_visa"))
			if err == nil {
				t.Error("it is not refused")
			}
		}, nil},
	} {
		t.Run(what+" is told of", func(t *testing.T) {
			inTurn(t)
			a := in.account(t)
			c.change(t, a)
			emitted := ids(collect(t, a.V1Events.List(t.Context(), nil)),
				func(e *stripe.Event) string { return string(e.Type) })
			equal(t, "events", slices.Sorted(slices.Values(emitted)), slices.Sorted(slices.Values(c.want)))
		})
	}

	t.Run("an event shows the object as it was then, and what had changed", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c := a.customer(&stripe.CustomerCreateParams{
			Name:     stripe.String("Ada"),
			Metadata: map[string]string{"k": "old"},
		})
		_, err := a.V1Customers.Update(t.Context(), c.ID,
			&stripe.CustomerUpdateParams{Name: stripe.String("Eve"), Metadata: map[string]string{"k": "new"}})
		noError(t, err)
		created, updated := a.onlyEvent("customer.created"), a.onlyEvent("customer.updated")
		var then stripe.Customer
		noError(t, json.Unmarshal(created.Data.Raw, &then))
		equal(t, "at first", []any{then.ID, then.Name, then.Metadata["k"]}, []any{c.ID, "Ada", "old"})
		noError(t, json.Unmarshal(updated.Data.Raw, &then))
		equal(t, "later", []any{then.Name, then.Metadata["k"]}, []any{"Eve", "new"})
		equal(t, "before", updated.Data.PreviousAttributes,
			map[string]any{"name": "Ada", "metadata": map[string]any{"k": "old"}})
		if created.Data.PreviousAttributes != nil {
			t.Errorf("a customer was something before it was created: %v", created.Data.PreviousAttributes)
		}
	})

	t.Run("an update names only the changed keys of a hash, and null for those that are new", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c := a.customer(&stripe.CustomerCreateParams{Metadata: map[string]string{
			"stays":   "a",
			"changes": "b",
			"goes":    "c",
		},
			Address: &stripe.AddressParams{City: stripe.String("Bern"), Line1: stripe.String("Gasse 1")}})
		_, err := a.V1Customers.Update(t.Context(), c.ID, &stripe.CustomerUpdateParams{
			Metadata: map[string]string{"changes": "B", "goes": "", "comes": "d"},
			Address:  &stripe.AddressParams{City: stripe.String("Thun"), Line1: stripe.String("Gasse 1")},
		})
		noError(t, err)
		equal(t, "customer", a.onlyEvent("customer.updated").Data.PreviousAttributes, map[string]any{
			"metadata": map[string]any{"changes": "b", "goes": "c", "comes": nil},
			"address":  map[string]any{"city": "Bern"},
		})

		a.refund(&stripe.RefundCreateParams{Charge: &a.sell(1000).ID, Amount: stripe.Int64(400)})
		equal(t, "a charge that is refunded in part", a.onlyEvent("charge.refunded").Data.PreviousAttributes,
			map[string]any{"amount_refunded": float64(0)})
	})

	t.Run("what a merchant thinks of a charge is told when it changes", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		_, err := a.V1Charges.Update(t.Context(), a.sell(1000).ID, &stripe.ChargeUpdateParams{
			FraudDetails: &stripe.ChargeUpdateFraudDetailsParams{UserReport: stripe.String("safe")}})
		noError(t, err)
		equal(t, "before", a.onlyEvent("charge.updated").Data.PreviousAttributes,
			map[string]any{"fraud_details": map[string]any{"user_report": nil}})
	})

	t.Run("an event names the request that caused it", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		params := order(1000, "tok_visa")
		params.SetIdempotencyKey("the key of the cause")
		charge := a.charge(params)
		event := a.onlyEvent("charge.succeeded")
		equal(t, "request", *event.Request,
			stripe.EventRequest{ID: charge.LastResponse.RequestID, IdempotencyKey: "the key of the cause"})
		read, err := a.V1Events.Retrieve(t.Context(), event.ID, nil)
		noError(t, err)
		equal(t, "object", read.GetObjectValue("id"), charge.ID)
		equal(t, "snapshot", compact(t, read.Data.Raw), compact(t, event.Data.Raw)) // a list indents it further
	})

	t.Run("events are filtered by one type, by several, and by a star", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		a.refund(&stripe.RefundCreateParams{Charge: &a.sell(1000).ID})
		a.customer(nil)
		count := func(params *stripe.EventListParams) int {
			return len(collect(t, a.V1Events.List(t.Context(), params)))
		}
		equal(t, "one", count(&stripe.EventListParams{Type: stripe.String("charge.succeeded")}), 1)
		equal(t, "a star", count(&stripe.EventListParams{Type: stripe.String("charge.*")}), 2)
		equal(t, "several",
			count(&stripe.EventListParams{Types: stripe.StringSlice([]string{"customer.created", "refund.created"})}),
			2)
		equal(t, "none", count(&stripe.EventListParams{Type: stripe.String("charge")}), 0)
		equal(t, "all", count(nil), 4)
		equal(t, "delivered", count(&stripe.EventListParams{DeliverySuccess: stripe.Bool(true)}), 4)
		equal(t, "not delivered", count(&stripe.EventListParams{DeliverySuccess: stripe.Bool(false)}), 0)
		err := a.V1Events.List(t.Context(),
			&stripe.EventListParams{Type: stripe.String("a"), Types: stripe.StringSlice([]string{"b"})}).Err()
		refused(t, err, invalid("parameters_exclusive", "types", ""))
	})
}

// onlyEvent finds the one event of a type.
func (a *account) onlyEvent(kind string) *stripe.Event {
	a.t.Helper()
	found := collect(a.t, a.V1Events.List(a.t.Context(), &stripe.EventListParams{Type: &kind}))
	if len(found) != 1 {
		a.t.Fatalf("there are %d events of the type %s", len(found), kind)
	}
	return found[0]
}

// compact is JSON without the spaces between its parts.
func compact(t *testing.T, text []byte) string {
	t.Helper()
	var out bytes.Buffer
	noError(t, json.Compact(&out, text))
	return out.String()
}
