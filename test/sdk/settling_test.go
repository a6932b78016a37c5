//go:build unix

package sdk_test

import (
	"net/url"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

// With automatic_async, Stripe's default, a charge does not show its balance
// transaction before its money has come.
func TestChargesThatSettleLater(t *testing.T) {
	inTurn(t)
	in, r := installNotified(t)
	r.hold(true)
	a := in.account(t)
	intent := func(params *stripe.PaymentIntentCreateParams) *stripe.PaymentIntent {
		params.Amount, params.Currency = stripe.Int64(2000), stripe.String("usd")
		params.PaymentMethodTypes, params.Confirm = stripe.StringSlice([]string{"card"}), stripe.Bool(true)
		params.Expand = stripe.StringSlice([]string{"latest_charge.balance_transaction"})
		made, err := a.V1PaymentIntents.Create(t.Context(), params)
		noError(t, err)
		return made
	}

	later := intent(&stripe.PaymentIntentCreateParams{PaymentMethod: stripe.String("pm_card_visa")})
	equal(t, "capture_method of a bare intent", later.CaptureMethod, stripe.PaymentIntentCaptureMethodAutomaticAsync)
	equal(t, "it is paid", []any{later.Status, later.LatestCharge.Captured},
		[]any{stripe.PaymentIntentStatusSucceeded, true})
	asked := intent(&stripe.PaymentIntentCreateParams{
		PaymentMethod: stripe.String("pm_card_authenticationRequired"),
		ReturnURL:     stripe.String("https://shop.example.com/"),
	})
	visit(t, in.challenge(t, asked.ID), url.Values{"result": {"pass"}})
	asked, err := a.V1PaymentIntents.Retrieve(t.Context(), asked.ID,
		&stripe.PaymentIntentRetrieveParams{Expand: stripe.StringSlice([]string{"latest_charge"})})
	noError(t, err)
	for what, p := range map[string]*stripe.PaymentIntent{"paid at once": later, "after 3-D Secure": asked} {
		equal(t, what, p.Status, stripe.PaymentIntentStatusSucceeded)
		equal(t, "the charge "+what+" hides its balance transaction", p.LatestCharge.BalanceTransaction == nil, true)
	}
	equal(t, "the money is booked all the same", a.pending(), int64(2*1912))

	atOnce := intent(&stripe.PaymentIntentCreateParams{
		PaymentMethod: stripe.String("pm_card_visa"),
		CaptureMethod: stripe.String("automatic"),
	})
	equal(t, "with capture_method=automatic it is there", atOnce.LatestCharge.BalanceTransaction.Net, int64(1912))

	refund := a.refund(&stripe.RefundCreateParams{PaymentIntent: &later.ID, Amount: stripe.Int64(500)})
	equal(t, "a charge that still settles can be refunded", refund.BalanceTransaction != nil, true)

	r.hold(false)
	for _, id := range []string{later.LatestCharge.ID, asked.LatestCharge.ID} {
		eventually(t, "the acquirer pays and the charge tells", func() bool {
			return a.retrieveCharge(id).BalanceTransaction != nil
		})
		charge := a.retrieveCharge(id, "balance_transaction")
		equal(t, "balance transaction", []any{charge.BalanceTransaction.Amount, charge.BalanceTransaction.Source.ID},
			[]any{int64(2000), id})
		said := collect(t, a.V1Events.List(t.Context(), &stripe.EventListParams{Type: stripe.String("charge.updated")}))
		var updates []*stripe.Event
		for _, e := range said {
			if e.Data.Object["id"] == id {
				updates = append(updates, e)
			}
		}
		equal(t, "charge.updated", len(updates), 1)
		previous, named := updates[0].Data.PreviousAttributes["balance_transaction"]
		equal(t, "what it says",
			[]any{updates[0].Data.Object["balance_transaction"], named, previous,
				len(updates[0].Data.PreviousAttributes)},
			[]any{charge.BalanceTransaction.ID, true, nil, 1})
	}
	for _, e := range collect(t,
		a.V1Events.List(t.Context(), &stripe.EventListParams{Type: stripe.String("charge.succeeded")})) {
		if e.Data.Object["id"] == later.LatestCharge.ID {
			equal(t, "charge.succeeded showed none", e.Data.Object["balance_transaction"], nil)
		}
	}
	eventually(t, "everything is paid", func() bool {
		var paid int
		noError(t, in.db.QueryRow(t.Context(), `SELECT count(*) FROM settlements WHERE account_id = $1`, a.id).
			Scan(&paid))
		return paid == 4
	})
	equal(t, "a charge that hid nothing has nothing to tell", a.eventsOf(atOnce.LatestCharge.ID),
		[]string{"charge.succeeded"})
}

// Without notifications, nothing would ever report it.
func TestNothingSettlesLaterWithoutNews(t *testing.T) {
	inTurn(t)
	a := install(t).account(t)
	made, err := a.V1PaymentIntents.Create(t.Context(), &stripe.PaymentIntentCreateParams{
		Amount:             stripe.Int64(2000),
		Currency:           stripe.String("usd"),
		PaymentMethod:      stripe.String("pm_card_visa"),
		Confirm:            stripe.Bool(true),
		PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
		Expand:             stripe.StringSlice([]string{"latest_charge.balance_transaction"}),
	})
	noError(t, err)
	equal(t, "it is shown at once", []any{made.CaptureMethod, made.LatestCharge.BalanceTransaction.Net},
		[]any{stripe.PaymentIntentCaptureMethodAutomaticAsync, int64(1912)})
}
