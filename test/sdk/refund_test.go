//go:build unix

package sdk_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

func TestRefunds(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("a refund gives everything back unless it is told how much", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		charge := a.sell(2000)
		made := a.refund(&stripe.RefundCreateParams{
			Charge:   &charge.ID,
			Reason:   stripe.String("requested_by_customer"),
			Metadata: map[string]string{"ticket": "9"},
			Expand:   stripe.StringSlice([]string{"balance_transaction", "charge"}),
		})
		equal(t, "money", []int64{made.Amount, made.BalanceTransaction.Amount, made.BalanceTransaction.Fee},
			[]int64{2000, -2000, 0})
		equal(t, "kind", made.BalanceTransaction.Type, stripe.BalanceTransactionTypeRefund)
		equal(t, "charge", []any{made.Charge.ID, made.Charge.Refunded, made.Charge.AmountRefunded},
			[]any{charge.ID, true, int64(2000)})

		read, err := a.V1Refunds.Retrieve(t.Context(), made.ID, nil)
		noError(t, err)
		equal(t, "refund", []any{read.Amount, read.Status, read.Reason, read.Metadata["ticket"], read.Charge.ID},
			[]any{int64(2000), stripe.RefundStatusSucceeded, stripe.RefundReasonRequestedByCustomer, "9", charge.ID})
		equal(t, "balance, the fee is not given back", a.pending()+a.available(), int64(-88))
	})

	t.Run("a charge is refunded in parts, but never beyond its amount", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		charge := a.sell(1000)
		refund := func(amount int64) error {
			_, err := a.V1Refunds.Create(t.Context(), &stripe.RefundCreateParams{Charge: &charge.ID, Amount: &amount})
			return err
		}
		refused(t, refund(10_000),
			invalid("", "amount", "Refund amount ($100.00) is greater than charge amount ($10.00)"))
		noError(t, refund(500))
		half := a.retrieveCharge(charge.ID)
		equal(t, "charge", []any{half.AmountRefunded, half.Refunded}, []any{int64(500), false})
		refused(t, refund(2000),
			invalid("", "amount", "Refund amount ($20.00) is greater than unrefunded amount on charge ($5.00)"))
		noError(t, refund(500))
		gone := invalid("charge_already_refunded", "", fmt.Sprintf("Charge %s has already been refunded.", charge.ID))
		refused(t, refund(1), gone)
		_, err := a.V1Refunds.Create(t.Context(), &stripe.RefundCreateParams{Charge: &charge.ID})
		refused(t, err, gone)
		whole := a.retrieveCharge(charge.ID, "refunds")
		equal(t, "charge", []any{whole.AmountRefunded, whole.Refunded, len(whole.Refunds.Data)},
			[]any{int64(1000), true, 2})
	})

	t.Run("a hold is let go whole or not at all, and then cannot be captured", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		charge := a.hold(1000)
		_, err := a.V1Refunds.Create(t.Context(),
			&stripe.RefundCreateParams{Charge: &charge.ID, Amount: stripe.Int64(400)})
		refused(t, err,
			invalid("", "amount",
				"You cannot partially refund an uncaptured charge. Instead, capture the charge for an amount less "+
					"than the original amount"))
		void := a.refund(&stripe.RefundCreateParams{Charge: &charge.ID})
		equal(t, "void", []any{void.Amount, void.Status, void.DestinationDetails.Card.Type},
			[]any{int64(1000), stripe.RefundStatusSucceeded, stripe.RefundDestinationDetailsCardTypeReversal})
		if void.BalanceTransaction != nil {
			t.Errorf("no money moved, and yet there is %s", void.BalanceTransaction.ID)
		}
		_, err = a.V1Charges.Capture(t.Context(), charge.ID, nil)
		refused(t, err,
			invalid("charge_already_refunded", "", fmt.Sprintf("Charge %s has already been refunded.", charge.ID)))
		equal(t, "pending balance", a.pending(), int64(0))
	})

	t.Run("only the metadata of a refund can be changed", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		refund := a.refund(&stripe.RefundCreateParams{Charge: &a.sell(1000).ID, Metadata: map[string]string{"a": "1"}})
		updated, err := a.V1Refunds.Update(t.Context(), refund.ID,
			&stripe.RefundUpdateParams{Metadata: map[string]string{"a": "", "b": "2"}})
		noError(t, err)
		equal(t, "metadata", updated.Metadata, map[string]string{"b": "2"})
		more := &stripe.RefundUpdateParams{}
		more.AddExtra("amount", "1")
		_, err = a.V1Refunds.Update(t.Context(), refund.ID, more)
		refused(t, err, invalid("parameter_unknown", "amount", "Received unknown parameter: amount"))
	})

	t.Run("a refund of a fraud says so on the charge", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		charge := a.sell(1000)
		a.refund(&stripe.RefundCreateParams{Charge: &charge.ID, Reason: stripe.String("fraudulent")})
		equal(t, "report", a.retrieveCharge(charge.ID).FraudDetails.UserReport, stripe.ChargeFraudUserReportFraudulent)
		equal(t, "before", a.onlyEvent("charge.refunded").Data.PreviousAttributes, map[string]any{
			"amount_refunded": float64(0), "fraud_details": map[string]any{"user_report": nil}, "refunded": false})
	})

	t.Run("a refund of more than was captured is told how much that was", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		held := a.confirmed("pm_card_visa", "manual")
		_, err := a.V1PaymentIntents.Capture(t.Context(), held.ID,
			&stripe.PaymentIntentCaptureParams{AmountToCapture: stripe.Int64(1500)})
		noError(t, err)
		_, err = a.V1Refunds.Create(t.Context(),
			&stripe.RefundCreateParams{PaymentIntent: &held.ID, Amount: stripe.Int64(1501)})
		refused(t, err,
			invalid("", "amount", "Refund amount ($15.01) is greater than unrefunded amount on charge ($15.00)"))
	})

	t.Run("refunds are listed by charge, newest first", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		charge := a.sell(1000)
		var made []string
		for range 5 {
			made = append(made, a.refund(&stripe.RefundCreateParams{Charge: &charge.ID, Amount: stripe.Int64(100)}).ID)
		}
		newestFirst := sortByAge(made)
		a.refund(&stripe.RefundCreateParams{Charge: &a.sell(1000).ID})
		list := func(params *stripe.RefundListParams) []string {
			return ids(collect(t, a.V1Refunds.List(t.Context(), params)), func(r *stripe.Refund) string { return r.ID })
		}
		equal(t, "of the charge",
			list(&stripe.RefundListParams{Charge: &charge.ID, ListParams: stripe.ListParams{Limit: stripe.Int64(2)}}),
			newestFirst)
		equal(t, "all", len(list(nil)), 6)
		equal(t, "of a PaymentIntent",
			list(&stripe.RefundListParams{PaymentIntent: &a.pay("pm_card_visa", "automatic").ID}), []string{})
	})

	t.Run("a refund has to say of what", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		_, err := a.V1Refunds.Create(t.Context(), nil)
		refused(t, err,
			invalid("parameter_missing", "",
				"One of the following params should be provided for this request: payment_intent or charge."))
		_, err = a.V1Refunds.Create(t.Context(), &stripe.RefundCreateParams{Charge: stripe.String("ch_nobody")})
		refused(t, err, missing("charge", "No such charge: 'ch_nobody'"))
		_, err = a.V1Refunds.Create(t.Context(), &stripe.RefundCreateParams{PaymentIntent: stripe.String("pi_1")})
		refused(t, err, invalid("resource_missing", "payment_intent", "No such payment_intent: 'pi_1'"))
		_, err = a.V1Refunds.Retrieve(t.Context(), "re_nobody", nil)
		refused(t, err, missing("refund", "No such refund: 're_nobody'"))
	})
}

// The SDK has dropped the addresses below a charge, but integrations have not.
func TestRefundsBelowTheirCharge(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("one address answers with the refund, lists it and finds it", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		charge, other := a.sell(1000), a.sell(1000)
		var made, found stripe.Refund
		var list stripe.RefundList
		noError(t, a.backend.Call(http.MethodPost, "/v1/charges/"+charge.ID+"/refunds", a.key,
			&stripe.RefundParams{Amount: stripe.Int64(300)}, &made))
		noError(t, a.backend.Call(http.MethodGet, "/v1/charges/"+charge.ID+"/refunds", a.key, nil, &list))
		noError(t, a.backend.Call(http.MethodGet, "/v1/charges/"+charge.ID+"/refunds/"+made.ID, a.key, nil, &found))
		equal(t, "refund", []any{made.Amount, made.Charge.ID, found.ID}, []any{int64(300), charge.ID, made.ID})
		equal(t, "list", ids(list.Data, func(r *stripe.Refund) string { return r.ID }), []string{made.ID})
		noted := &stripe.RefundUpdateParams{Metadata: map[string]string{"ticket": "43"}}
		noError(t, a.backend.Call(http.MethodPost, "/v1/charges/"+charge.ID+"/refunds/"+made.ID, a.key, noted, &found))
		equal(t, "refund that was changed", []any{found.ID, found.Metadata},
			[]any{made.ID, map[string]string{"ticket": "43"}})
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			err := a.backend.Call(method, "/v1/charges/"+other.ID+"/refunds/"+made.ID, a.key, nil, &found)
			refused(t, err, missing("refund", fmt.Sprintf("No such refund: '%s'", made.ID)))
		}
	})

	t.Run("the older one answers with the charge", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		var charge stripe.Charge
		noError(t, a.backend.Call(http.MethodPost, "/v1/charges/"+a.sell(1000).ID+"/refund", a.key,
			&stripe.RefundParams{}, &charge))
		equal(t, "charge", []any{charge.Object, charge.Refunded, charge.AmountRefunded},
			[]any{"charge", true, int64(1000)})
	})

	t.Run("the events of a refund are listed in the order in which they were told", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		charge := a.sell(2000)
		_, err := a.V1Refunds.Create(t.Context(), &stripe.RefundCreateParams{Charge: &charge.ID})
		noError(t, err)
		emitted := collect(t, a.V1Events.List(t.Context(), nil))
		equal(t, "events, newest first", ids(emitted, func(e *stripe.Event) string { return string(e.Type) }),
			[]string{"charge.refunded", "refund.created", "charge.succeeded"})
	})
}
