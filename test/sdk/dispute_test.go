//go:build unix

package sdk_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

// disputed charges a card whose holder complains. The dispute is there when the charge is.
func (a *account) disputed(card string, amount int64) *stripe.Dispute {
	a.t.Helper()
	charge, err := a.V1Charges.Create(a.t.Context(), &stripe.ChargeCreateParams{
		Amount:   &amount,
		Currency: stripe.String("usd"),
		Source:   &stripe.PaymentSourceSourceParams{Token: stripe.String(card)},
	})
	noError(a.t, err)
	found := collect(a.t, a.V1Disputes.List(a.t.Context(), &stripe.DisputeListParams{Charge: &charge.ID}))
	if len(found) == 0 {
		a.t.Fatalf("charge %s has no dispute", charge.ID)
	}
	return found[0]
}

func (a *account) dispute(id string) *stripe.Dispute {
	a.t.Helper()
	d, err := a.V1Disputes.Retrieve(a.t.Context(), id, nil)
	noError(a.t, err)
	return d
}

// answer submits a text, which is what the bank decides by.
func (a *account) answer(id, text string) *stripe.Dispute {
	a.t.Helper()
	d, err := a.V1Disputes.Update(a.t.Context(), id,
		&stripe.DisputeUpdateParams{Evidence: &stripe.DisputeUpdateEvidenceParams{UncategorizedText: &text}})
	noError(a.t, err)
	return d
}

func (a *account) awaitStatus(id string, want stripe.DisputeStatus) *stripe.Dispute {
	a.t.Helper()
	var d *stripe.Dispute
	eventually(a.t, fmt.Sprintf("dispute %s is %s", id, want), func() bool {
		d = a.dispute(id)
		return d.Status == want
	})
	return d
}

// eventsOf are the types of the events about an object, oldest first.
func (a *account) eventsOf(object string) (types []string) {
	a.t.Helper()
	for _, e := range collect(a.t, a.V1Events.List(a.t.Context(), nil)) {
		if e.Data.Object["id"] == object {
			types = append(types, string(e.Type))
		}
	}
	slices.Reverse(types)
	return types
}

// pay confirms an intent of 2000 usd.
func (a *account) pay(method, capture string) *stripe.PaymentIntent {
	a.t.Helper()
	intent, err := a.V1PaymentIntents.Create(a.t.Context(), &stripe.PaymentIntentCreateParams{
		Amount:             stripe.Int64(2000),
		Currency:           stripe.String("usd"),
		PaymentMethod:      &method,
		Confirm:            stripe.Bool(true),
		CaptureMethod:      &capture,
		PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
	})
	noError(a.t, err)
	return intent
}

func moved(d *stripe.Dispute) (amounts []int64) {
	for _, b := range d.BalanceTransactions {
		amounts = append(amounts, b.Amount, b.Fee)
	}
	return amounts
}

func TestDisputes(t *testing.T) {
	inTurn(t)
	in, _ := installNotified(t)

	t.Run("a chargeback takes the money and a fee, and gives both back when it is won", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		d := a.disputed("tok_createDispute", 2000)
		equal(t, "dispute", []any{d.Status, d.Reason, d.Amount, d.IsChargeRefundable},
			[]any{stripe.DisputeStatusNeedsResponse, stripe.DisputeReasonFraudulent, int64(2000), false})
		equal(t, "money", moved(d), []int64{-2000, 1500})
		equal(t, "kind", []any{d.BalanceTransactions[0].Type, d.BalanceTransactions[0].ReportingCategory},
			[]any{stripe.BalanceTransactionTypeAdjustment, stripe.BalanceTransactionReportingCategoryDispute})
		equal(t, "charge", a.retrieveCharge(d.Charge.ID).Disputed, true)
		equal(t, "balance", a.pending()+a.available(), int64(2000-88-2000-1500))
		_, err := a.V1Refunds.Create(t.Context(), &stripe.RefundCreateParams{Charge: &d.Charge.ID})
		refused(t, err,
			invalid("charge_disputed", "",
				fmt.Sprintf("Charge %s has been charged back; cannot issue a refund.", d.Charge.ID)))

		sent := a.answer(d.ID, "winning_evidence")
		equal(t, "submissions",
			[]any{sent.EvidenceDetails.SubmissionCount, sent.EvidenceDetails.HasEvidence,
				sent.Evidence.UncategorizedText}, []any{int64(1), true, "winning_evidence"})
		won := a.awaitStatus(d.ID, stripe.DisputeStatusWon)
		equal(t, "money", moved(won), []int64{-2000, 1500, 2000, -1500})
		equal(t, "balance", a.pending()+a.available(), int64(2000-88))
		equal(t, "events",
			a.eventsOf(d.ID), []string{"charge.dispute.created", "charge.dispute.funds_withdrawn",
				"charge.dispute.updated", "charge.dispute.closed", "charge.dispute.funds_reinstated"})
		a.refund(&stripe.RefundCreateParams{Charge: &d.Charge.ID}) // what is won can be refunded
	})

	t.Run("a dispute that is lost, or given up, keeps the money", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		lost := a.disputed("tok_createDisputeProductNotReceived", 2000)
		equal(t, "reason", lost.Reason, stripe.DisputeReasonProductNotReceived)
		a.answer(lost.ID, "losing_evidence")
		equal(t, "money", moved(a.awaitStatus(lost.ID, stripe.DisputeStatusLost)), []int64{-2000, 1500})

		given := a.disputed("tok_createDispute", 3000)
		closed, err := a.V1Disputes.Close(t.Context(), given.ID, nil)
		noError(t, err)
		equal(t, "status", closed.Status, stripe.DisputeStatusLost)
		equal(t, "events", a.eventsOf(given.ID),
			[]string{"charge.dispute.created", "charge.dispute.funds_withdrawn", "charge.dispute.closed"})
		_, err = a.V1Disputes.Close(t.Context(), given.ID, nil)
		refused(t, err, invalid("", "", fmt.Sprintf("Dispute %s is lost and cannot be closed.", given.ID)))
	})

	t.Run("an inquiry moves no money until it is escalated", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		d := a.disputed("tok_createDisputeInquiry", 2000)
		equal(t, "inquiry",
			[]any{d.Status, d.IsChargeRefundable, len(d.BalanceTransactions), d.PaymentMethodDetails.Card.CaseType},
			[]any{stripe.DisputeStatusWarningNeedsResponse, true, 0,
				stripe.DisputePaymentMethodDetailsCardCaseTypeInquiry})
		a.answer(d.ID, "escalate_inquiry_evidence")
		real := a.awaitStatus(d.ID, stripe.DisputeStatusNeedsResponse)
		equal(t, "money", moved(real), []int64{-2000, 1500})

		other := a.disputed("tok_createDisputeInquiry", 1000)
		closed, err := a.V1Disputes.Close(t.Context(), other.ID, nil)
		noError(t, err)
		equal(t, "status", closed.Status, stripe.DisputeStatusWarningClosed)
		a.refund(&stripe.RefundCreateParams{Charge: &other.Charge.ID})
	})

	t.Run("taking back what was said does not use up the one answer there is", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		d := a.disputed("tok_createDispute", 2000)
		_, err := a.V1Disputes.Update(t.Context(), d.ID, &stripe.DisputeUpdateParams{Submit: stripe.Bool(false),
			Evidence: &stripe.DisputeUpdateEvidenceParams{
				CustomerName: stripe.String("Jenny"),
				Receipt:      stripe.String(""),
			}})
		noError(t, err)
		taken, err := a.V1Disputes.Update(t.Context(), d.ID,
			&stripe.DisputeUpdateParams{Evidence: &stripe.DisputeUpdateEvidenceParams{CustomerName: stripe.String("")}})
		noError(t, err)
		equal(t, "dispute", []any{taken.Status, taken.Evidence.CustomerName, taken.EvidenceDetails.SubmissionCount},
			[]any{stripe.DisputeStatusNeedsResponse, "", int64(0)})
		a.answer(d.ID, "winning_evidence")
	})

	t.Run("evidence can be kept first and sent later, once", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		d := a.disputed("tok_createDispute", 2000)
		kept, err := a.V1Disputes.Update(t.Context(), d.ID, &stripe.DisputeUpdateParams{
			Submit:   stripe.Bool(false),
			Metadata: map[string]string{"case": "7"},
			Evidence: &stripe.DisputeUpdateEvidenceParams{CustomerName: stripe.String("Jenny Rosen")},
		})
		noError(t, err)
		equal(t, "kept",
			[]any{kept.Status, kept.Evidence.CustomerName, kept.EvidenceDetails.SubmissionCount, kept.Metadata["case"]},
			[]any{stripe.DisputeStatusNeedsResponse, "Jenny Rosen", int64(0), "7"})
		sent, err := a.V1Disputes.Update(t.Context(), d.ID, &stripe.DisputeUpdateParams{Submit: stripe.Bool(true)})
		noError(t, err)
		equal(t, "sent", []any{sent.Status, sent.EvidenceDetails.SubmissionCount},
			[]any{stripe.DisputeStatusUnderReview, int64(1)})
		_, err = a.V1Disputes.Update(t.Context(), d.ID, &stripe.DisputeUpdateParams{Submit: stripe.Bool(true)})
		refused(t, err, invalid("", "", fmt.Sprintf("Dispute %s is under_review: it accepts no more evidence.", d.ID)))
		_, err = a.V1Disputes.Retrieve(t.Context(), "du_nobody", nil)
		refused(t, err, missing("dispute", "No such dispute: 'du_nobody'"))
	})

	t.Run("the dispute of an intent names it", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		intent := a.pay("pm_card_createDisputeInquiry", "automatic")
		var found []*stripe.Dispute
		eventually(t, "it is disputed", func() bool {
			found = collect(t, a.V1Disputes.List(t.Context(), &stripe.DisputeListParams{
				PaymentIntent: &intent.ID, Expand: stripe.StringSlice([]string{"data.payment_intent"})}))
			return len(found) == 1
		})
		equal(t, "intent", []any{found[0].PaymentIntent.ID, found[0].PaymentIntent.Status},
			[]any{intent.ID, stripe.PaymentIntentStatusSucceeded})
	})

	t.Run("a charge can be disputed twice, and the old addresses show the latest", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		first := a.disputed("tok_createMultipleDisputes", 2001)
		var both []*stripe.Dispute
		eventually(t, "both are here", func() bool {
			both = collect(t, a.V1Disputes.List(t.Context(), &stripe.DisputeListParams{Charge: &first.Charge.ID}))
			return len(both) == 2
		})
		equal(t, "amount", both[0].Amount+both[1].Amount, int64(2001))
		var latest stripe.Dispute
		address := "/v1/charges/" + first.Charge.ID + "/dispute"
		noError(t, a.backend.Call(http.MethodGet, address, a.key, nil, &latest))
		equal(t, "latest", latest.ID, both[0].ID)
		noError(t, a.backend.Call(http.MethodPost, address+"/close", a.key, nil, &latest))
		equal(t, "closed", []any{latest.ID, latest.Status}, []any{both[0].ID, stripe.DisputeStatusLost})
	})
}
