//go:build unix

package sdk_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
)

func (a *account) sellWith(card string, amount int64) *stripe.Charge {
	a.t.Helper()
	charge, err := a.V1Charges.Create(a.t.Context(), &stripe.ChargeCreateParams{
		Amount:   &amount,
		Currency: stripe.String("usd"),
		Source:   &stripe.PaymentSourceSourceParams{Token: stripe.String(card)},
	})
	noError(a.t, err)
	return charge
}

func (a *account) awaitRefund(id string, want stripe.RefundStatus) (r *stripe.Refund) {
	a.t.Helper()
	eventually(a.t, "the refund is "+string(want), func() bool {
		var err error
		r, err = a.V1Refunds.Retrieve(a.t.Context(), id,
			&stripe.RefundRetrieveParams{Expand: stripe.StringSlice([]string{"failure_balance_transaction"})})
		noError(a.t, err)
		return r.Status == want
	})
	return r
}

func TestRefundsThatEndLater(t *testing.T) {
	inTurn(t)
	in, _ := installNotified(t)

	t.Run("a pending refund is booked when it has succeeded", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		refund := a.refund(&stripe.RefundCreateParams{Charge: &a.sellWith("tok_pendingRefund", 2000).ID})
		equal(t, "refund", []any{refund.Status, refund.PendingReason, refund.BalanceTransaction == nil},
			[]any{stripe.RefundStatusPending, stripe.RefundPendingReasonProcessing, true})
		done := a.awaitRefund(refund.ID, stripe.RefundStatusSucceeded)
		equal(t, "booked", done.BalanceTransaction != nil, true)
		equal(t, "balance", a.pending()+a.available(), int64(-88))
		equal(t, "events", a.eventsOf(refund.ID), []string{"refund.created", "refund.updated", "charge.refund.updated"})
	})

	t.Run("a refund that fails after it succeeded gives the money back, and can be tried again", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		charge := a.sellWith("tok_refundFail", 2000)
		refund := a.refund(&stripe.RefundCreateParams{Charge: &charge.ID})
		equal(t, "refund", refund.Status, stripe.RefundStatusSucceeded)
		failed := a.awaitRefund(refund.ID, stripe.RefundStatusFailed)
		equal(t, "failed",
			[]any{failed.FailureReason, failed.FailureBalanceTransaction.Amount, failed.FailureBalanceTransaction.Type},
			[]any{stripe.RefundFailureReasonExpiredOrCanceledCard, int64(2000),
				stripe.BalanceTransactionTypeRefundFailure})
		equal(t, "balance", a.pending()+a.available(), int64(2000-88))
		again := a.retrieveCharge(charge.ID)
		equal(t, "charge", []any{again.AmountRefunded, again.Refunded}, []any{int64(0), false})
		equal(t, "events", a.eventsOf(refund.ID),
			[]string{"refund.created", "refund.failed", "refund.updated", "charge.refund.updated"})
		a.awaitRefund(a.refund(&stripe.RefundCreateParams{Charge: &charge.ID}).ID, stripe.RefundStatusFailed)
	})

	t.Run("a card's refund can be neither canceled nor expired", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		refund := a.refund(&stripe.RefundCreateParams{Charge: &a.sell(1000).ID})
		const reason = "its status is succeeded, and only a refund whose status is requires_action can be."
		_, err := a.V1Refunds.Cancel(t.Context(), refund.ID, nil)
		refused(t, err, invalid("", "", "Refund "+refund.ID+" cannot be canceled: "+reason))
		_, err = a.V1TestHelpersRefunds.Expire(t.Context(), refund.ID, nil)
		refused(t, err, invalid("", "", "Refund "+refund.ID+" cannot be expired: "+reason))
	})

	t.Run("an authorization that nobody captures in time is let go", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		charge := a.hold(1000)
		_, err := in.db.Exec(t.Context(), `
			UPDATE charges SET capture_before = now() - interval '1 second' WHERE id = $1`, charge.ID)
		noError(t, err)
		eventually(t, "it is let go", func() bool { return slices.Contains(a.eventsOf(charge.ID), "charge.expired") })
		expired := a.retrieveCharge(charge.ID, "refunds")
		equal(t, "refund", []any{len(expired.Refunds.Data), expired.Refunds.Data[0].Reason},
			[]any{1, stripe.RefundReasonExpiredUncapturedCharge})
		_, err = a.V1Charges.Capture(t.Context(), charge.ID, nil)
		refused(t, err, invalid("charge_already_refunded", "", "Charge "+charge.ID+" has already been refunded."))
		var released int
		noError(t, in.journal.QueryRow(t.Context(), `
			SELECT count(*) FROM acquirer.movements WHERE kind = 'release' AND amount = 1000`).Scan(&released))
		equal(t, "released at the acquirer", released, 1)
	})

	t.Run("so is what an intent holds, and the intent is canceled", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		intent := a.pay("pm_card_visa", "manual")
		_, err := in.db.Exec(t.Context(), `
			UPDATE charges SET capture_before = now() - interval '1 second' WHERE payment_intent_id = $1`, intent.ID)
		noError(t, err)
		eventually(t, "it is canceled", func() bool {
			intent, err = a.V1PaymentIntents.Retrieve(t.Context(), intent.ID, nil)
			noError(t, err)
			return intent.Status == stripe.PaymentIntentStatusCanceled
		})
		equal(t, "reason", intent.CancellationReason, stripe.PaymentIntentCancellationReasonAutomatic)
		equal(t, "the events of its charge", a.eventsOf(intent.LatestCharge.ID),
			[]string{"charge.succeeded", "charge.refunded", "charge.expired"})
	})

	t.Run("what cannot be let go is tried once, and left to a person", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		charge, intent := a.hold(1000), a.pay("pm_card_visa", "manual")
		for _, held := range []string{charge.ID, intent.LatestCharge.ID} {
			_, err := in.db.Exec(t.Context(), `
				UPDATE charges SET acquirer_reference = 'unheard of ' || id,
				    capture_before = now() - interval '1 second' WHERE id = $1`, held)
			noError(t, err)
			var failed *stripe.Refund
			eventually(t, "it is tried", func() bool {
				if refunds := a.retrieveCharge(held, "refunds").Refunds.Data; len(refunds) > 0 {
					failed = refunds[0]
				}
				return failed != nil && failed.Status == stripe.RefundStatusFailed
			})
			equal(t, "reason", failed.Reason, stripe.RefundReasonExpiredUncapturedCharge)
			equal(t, "its events", a.eventsOf(failed.ID), []string{"refund.created", "refund.failed"})
		}
		time.Sleep(5 * time.Second) // two more looks of the worker
		var tries int
		noError(t, in.db.QueryRow(t.Context(), `
			SELECT count(*) FROM request_calls calls
			JOIN requests r ON (r.account_id, r.id) = (calls.account_id, request_id)
			WHERE r.account_id = $1 AND r.flow IN ('charge.expire', 'payment_intent.cancel')`, a.id).Scan(&tries))
		equal(t, "tries", tries, 2)
		equal(t, "the intent", a.retrieveIntent(intent.ID).Status, stripe.PaymentIntentStatusRequiresCapture)
	})

	t.Run("what the acquirer pays is booked from what it owes to what it paid", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		charge := a.sell(2000)
		a.refund(&stripe.RefundCreateParams{Charge: &charge.ID, Amount: stripe.Int64(500)})
		var owed, paid int64
		eventually(t, "all is settled", func() bool {
			noError(t, in.db.QueryRow(t.Context(), `
				SELECT coalesce(sum(amount) FILTER (WHERE account = 'processor_receivable'), 0),
				       coalesce(sum(amount) FILTER (WHERE account = 'bank_cash'), 0)
				FROM ledger_entries e JOIN ledger_books b ON b.id = e.book_id
				WHERE b.account_id = $1`, a.id).Scan(&owed, &paid))
			return paid == 1500
		})
		equal(t, "owed", owed, int64(0))
	})
}

// What the test delivers itself: while the relay is held the acquirer's own
// deliveries come to nothing.
func TestNotificationsInAnyOrder(t *testing.T) {
	inTurn(t)
	in, r := installNotified(t, "RATCHET_ACQUIRER_FAULT=late_notifications")
	a := in.account(t)

	r.hold(true)
	charge := a.sellWith("tok_createDispute", 2000)
	var opened letter
	eventually(t, "the acquirer tells that the dispute is open", func() bool {
		found := r.letters(acquirer.DisputeOpened)
		if len(found) > 0 {
			opened = found[0]
		}
		return len(found) > 0
	})
	early := bytes.Replace(opened.body, []byte(acquirer.DisputeOpened), []byte(acquirer.DisputeClosed), 1)
	early = bytes.Replace(early, []byte(`"id":"`), []byte(`"outcome":"won","id":"early_`), 1)
	state := func(event string) (state string) {
		noError(t, in.db.QueryRow(t.Context(), `
			SELECT coalesce((SELECT state FROM inbox WHERE event_id LIKE $1), 'unknown')`, event).Scan(&state))
		return state
	}
	sign := func(body []byte) letter { return letter{body, acquirer.Sign(notificationSecret, body, time.Now())} }

	equal(t, "a decision that comes before the dispute is kept", r.deliver(sign(early)), http.StatusOK)
	equal(t, "it", state("early_%"), "waiting")
	var answers []int
	for range 3 {
		answers = append(answers, r.deliver(sign(opened.body)))
	}
	equal(t, "the same message three times", answers, []int{200, 200, 200})
	contradiction := bytes.Replace(opened.body, []byte(`"amount":2000`), []byte(`"amount":1`), 1)
	equal(t, "another message with its id", []int{r.deliver(sign(contradiction)), r.deliver(sign(contradiction))},
		[]int{http.StatusConflict, http.StatusConflict})

	var d *stripe.Dispute
	eventually(t, "the early decision takes effect", func() bool {
		all := collect(t, a.V1Disputes.List(t.Context(), &stripe.DisputeListParams{Charge: &charge.ID}))
		if len(all) == 0 {
			return false
		}
		d = all[0]
		return d.Status == stripe.DisputeStatusWon
	})
	equal(t, "money", moved(d), []int64{-2000, 1500, 2000, -1500})
	equal(t, "balance", a.pending()+a.available(), int64(2000-88))
	var contradictions, alarms int
	noError(t, in.db.QueryRow(t.Context(), `
		SELECT (SELECT count(*) FROM inbox_contradictions),
		       (SELECT count(*) FROM audit_events
		           WHERE operation = 'inbox.contradiction')`).Scan(&contradictions, &alarms))
	equal(t, "kept and raised once", []int{contradictions, alarms}, []int{1, 1})

	poison := []byte(`{"id":"note_poison","kind":"moon.risen","authorization":"x"}`)
	equal(t, "what nobody understands is acknowledged", r.deliver(sign(poison)), http.StatusOK)
	equal(t, "and set aside", state("note_poison"), "set_aside")
	for flag, others := range map[string]bool{"--all=false": false, "--all": true} {
		listed := in.operate(t, "inbox", "list", flag)
		equal(t, "the contradicted, the set aside and those that were applied are listed with "+flag,
			[]bool{strings.Contains(listed, "contradicted by 1 others"), strings.Contains(listed, "note_poison"),
				strings.Contains(listed, "early_")}, []bool{true, true, others})
	}

	for name, l := range map[string]letter{
		"unsigned":        {opened.body, ""},
		"changed":         {contradiction, sign(opened.body).signature},
		"by another":      {opened.body, acquirer.Sign("another", opened.body, time.Now())},
		"of an hour ago":  {opened.body, acquirer.Sign(notificationSecret, opened.body, time.Now().Add(-time.Hour))},
		"in an hour":      {opened.body, acquirer.Sign(notificationSecret, opened.body, time.Now().Add(time.Hour))},
		"without a digit": {opened.body, "t=,v1="},
	} {
		equal(t, name, r.deliver(l), http.StatusUnauthorized)
	}
	equal(t, "without an id", r.deliver(sign([]byte(`{"kind":"x"}`))), http.StatusBadRequest)
	equal(t, "too long", r.deliver(sign(bytes.Repeat([]byte("x"), 257<<10))), http.StatusRequestEntityTooLarge)
	var kept int
	noError(t, in.db.QueryRow(t.Context(), `SELECT count(*) FROM inbox`).Scan(&kept))
	equal(t, "messages kept", kept, 3)
}

// While the relay is held, a dispute can only come with the answer that caused it.
func TestDisputesComeWithTheAnswer(t *testing.T) {
	inTurn(t)
	in, r := installNotified(t)
	a := in.account(t)
	opened := []string{"charge.dispute.created", "charge.dispute.funds_withdrawn"}
	disputeOf := func(charge string) []*stripe.Dispute {
		return collect(t, a.V1Disputes.List(t.Context(), &stripe.DisputeListParams{Charge: &charge}))
	}
	r.hold(true)

	confirmed := a.pay("pm_card_createDispute", "automatic").LatestCharge.ID
	held := a.pay("pm_card_createDispute", "manual")
	equal(t, "disputes of a hold", len(disputeOf(held.LatestCharge.ID)), 0)
	_, err := a.V1PaymentIntents.Capture(t.Context(), held.ID, nil)
	noError(t, err)
	charged := a.sellWith("tok_createDispute", 2000).ID
	for _, charge := range []string{confirmed, held.LatestCharge.ID, charged} {
		disputes := disputeOf(charge)
		equal(t, "disputes", len(disputes), 1)
		equal(t, "events", a.eventsOf(disputes[0].ID), opened)
	}

	// The answer does not fail with its notification, which the acquirer posts as well.
	script(t, in, "ALTER TABLE inbox ADD CONSTRAINT full_for_a_test CHECK (false) NOT VALID")
	refused := a.sellWith("tok_createDispute", 2000).ID
	equal(t, "disputes that could not be taken", len(disputeOf(refused)), 0)
	script(t, in, "ALTER TABLE inbox DROP CONSTRAINT full_for_a_test")

	r.hold(false)
	eventually(t, "the acquirer has posted everything, repetitions included", func() bool {
		var left int
		noError(t, in.journal.QueryRow(t.Context(),
			"SELECT count(*) FROM acquirer.outbox WHERE acknowledged_at IS NULL").Scan(&left))
		return left == 0
	})
	for _, charge := range []string{confirmed, held.LatestCharge.ID, charged, refused} {
		disputes := disputeOf(charge)
		equal(t, "disputes after their deliveries", len(disputes), 1)
		equal(t, "events after their deliveries", a.eventsOf(disputes[0].ID), opened)
	}
}

func script(t *testing.T, in *installation, sql string) {
	t.Helper()
	_, err := in.db.Exec(t.Context(), sql)
	noError(t, err)
}
