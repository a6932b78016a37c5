//go:build unix

package sdk_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85"
)

// workTwice starts two workers, because every job has to be safe to run twice at once.
func (in *installation) workTwice(t *testing.T) {
	t.Helper()
	in.work(t)
	in.work(t)
}

// earn makes money available at once, and returns how much: the charge less the fee.
func (a *account) earn(amount int64) int64 {
	a.t.Helper()
	before := a.available()
	a.charge(order(amount, "tok_bypassPending"))
	return a.available() - before
}

func (a *account) payOut(params *stripe.PayoutCreateParams) *stripe.Payout {
	a.t.Helper()
	payout, err := a.V1Payouts.Create(a.t.Context(), params)
	noError(a.t, err)
	return payout
}

func dollars(amount int64) *stripe.PayoutCreateParams {
	return &stripe.PayoutCreateParams{Amount: stripe.Int64(amount), Currency: stripe.String("usd")}
}

func (a *account) retrievePayout(id string) *stripe.Payout {
	a.t.Helper()
	payout, err := a.V1Payouts.Retrieve(a.t.Context(), id, nil)
	noError(a.t, err)
	return payout
}

// cancelPayout goes around a mistake of the SDK, whose Cancel asks for a top-up.
func (a *account) cancelPayout(id string) (*stripe.Payout, error) {
	payout := &stripe.Payout{}
	err := a.backend.Call(http.MethodPost, "/v1/payouts/"+id+"/cancel", a.key, &stripe.PayoutCancelParams{}, payout)
	return payout, err
}

// wait asks until something has come about.
func wait(t *testing.T, what string, come func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !come(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// advance makes a clock and moves it on, and waits until it is ready.
func (a *account) advance(by time.Duration) *stripe.TestHelpersTestClock {
	a.t.Helper()
	start := time.Now().Unix()
	clock, err := a.V1TestHelpersTestClocks.Create(a.t.Context(),
		&stripe.TestHelpersTestClockCreateParams{FrozenTime: &start, Name: stripe.String("later")})
	noError(a.t, err)
	then := start + int64(by.Seconds())
	clock, err = a.V1TestHelpersTestClocks.Advance(a.t.Context(), clock.ID,
		&stripe.TestHelpersTestClockAdvanceParams{FrozenTime: &then})
	noError(a.t, err)
	equal(a.t, "status of a clock that moves", clock.Status, stripe.TestHelpersTestClockStatusAdvancing)
	wait(a.t, "the clock is ready", func() bool {
		clock, err = a.V1TestHelpersTestClocks.Retrieve(a.t.Context(), clock.ID, nil)
		noError(a.t, err)
		return clock.Status == stripe.TestHelpersTestClockStatusReady
	})
	return clock
}

const twoDays = 48 * time.Hour

var tooMuch = invalid("balance_insufficient", "amount",
	"You have insufficient funds in your Stripe account for this transfer. "+
		"Your card balance is too low.  You can use the /v1/balance endpoint to view your Stripe balance (for more "+
		"details, see stripe.com/docs/api#balance).")

func TestPayout(t *testing.T) {
	inTurn(t)
	in := install(t)
	in.workTwice(t)

	t.Run("a payout takes what is available, and waits an hour before it leaves", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		had := a.earn(5000)
		a.sell(9000) // pending, and no use
		params := dollars(1000)
		params.AddExpand("balance_transaction")
		payout := a.payOut(params)
		equal(t, "status", payout.Status, stripe.PayoutStatusPending)
		equal(t, "what moved", payout.BalanceTransaction.Net, int64(-1000))
		equal(t, "type of what moved", payout.BalanceTransaction.Type, stripe.BalanceTransactionTypePayout)
		equal(t, "available", a.available(), had-1000)
		_, err := a.V1Payouts.Create(t.Context(), dollars(had-999))
		refused(t, err, tooMuch)
		a.payOut(dollars(had - 1000))
		equal(t, "available after all of it", a.available(), int64(0))
		equal(t, "events", a.eventTypes(payout.ID), []string{"payout.created"})
	})

	t.Run("a canceled payout's money is available again, once", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		had := a.earn(5000)
		payout := a.payOut(dollars(had))
		canceled, err := a.cancelPayout(payout.ID)
		noError(t, err)
		equal(t, "status", canceled.Status, stripe.PayoutStatusCanceled)
		equal(t, "available", a.available(), had)
		_, err = a.cancelPayout(payout.ID)
		refused(t, err, invalid("", "", ""))
		_, err = a.V1Payouts.Reverse(t.Context(), payout.ID, nil)
		refused(t, err, invalid("", "", ""))
		equal(t, "events", a.eventTypes(payout.ID), []string{"payout.canceled", "payout.created"})
	})

	t.Run("what the bank refuses has failed, and its money is available again", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		had := a.earn(5000)
		params := dollars(had)
		params.Destination = stripe.String("ba_us_accountClosed")
		params.AddExpand("failure_balance_transaction")
		payout := a.payOut(params)
		equal(t, "status", payout.Status, stripe.PayoutStatusFailed)
		equal(t, "why", payout.FailureCode, stripe.PayoutFailureCodeAccountClosed)
		equal(t, "what came back", payout.FailureBalanceTransaction.Net, had)
		equal(t, "as", payout.FailureBalanceTransaction.ReportingCategory,
			stripe.BalanceTransactionReportingCategoryPayoutReversal)
		equal(t, "available", a.available(), had)
		equal(t, "events", a.eventTypes(payout.ID), []string{"payout.created", "payout.failed"})
	})

	t.Run("after two days of a test clock money is available and payouts are paid", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		had := a.earn(5000)
		sale := a.sell(2000)
		equal(t, "pending", a.pending(), int64(2000-88))
		payout := a.payOut(dollars(1000))
		clock := a.advance(twoDays)
		equal(t, "pending after two days", a.pending(), int64(0))
		equal(t, "available after two days", a.available(), had+2000-88-1000)
		equal(t, "status of the payout", a.retrievePayout(payout.ID).Status, stripe.PayoutStatusPaid)
		equal(t, "events", a.eventTypes(payout.ID), []string{"payout.created", "payout.paid", "payout.updated"})
		moved, err := a.V1BalanceTransactions.Retrieve(t.Context(), sale.BalanceTransaction.ID, nil)
		noError(t, err)
		equal(t, "status of the sale's money", moved.Status, stripe.BalanceTransactionStatusAvailable)
		a.sell(1000)
		equal(t, "pending of a sale after that", a.pending(), int64(1000-59))

		reversal, err := a.V1Payouts.Reverse(t.Context(), payout.ID,
			&stripe.PayoutReverseParams{Metadata: map[string]string{"why": "mistake"}})
		noError(t, err)
		equal(t, "what is fetched back", reversal.Amount, int64(-1000))
		equal(t, "from", reversal.OriginalPayout.ID, payout.ID)
		equal(t, "the other way", a.retrievePayout(payout.ID).ReversedBy.ID, reversal.ID)
		_, err = a.V1Payouts.Reverse(t.Context(), payout.ID, nil)
		refused(t, err, invalid("", "", ""))

		gone, err := a.V1TestHelpersTestClocks.Delete(t.Context(), clock.ID, nil)
		noError(t, err)
		equal(t, "deleted", gone.Deleted, true)
		equal(t, "available with the clock gone", a.available(), had+2000-88-1000)
	})

	t.Run("behind a test clock, money that is available at once is told of at once", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		a.advance(24 * time.Hour)
		a.charge(order(2000, "tok_bypassPending"))
		equal(t, "available", a.available(), int64(1912))
		wait(t, "balance.available is told", func() bool {
			return len(collect(t,
				a.V1Events.List(t.Context(), &stripe.EventListParams{Type: stripe.String("balance.available")}))) > 0
		})
		for _, kind := range []string{"balance.available", "test_helpers.test_clock.ready"} {
			caused := *a.onlyEvent(kind).Request
			equal(t, "the request of "+kind, caused, stripe.EventRequest{})
		}
	})

	t.Run("an authorization older than seven days is voided before the test clock is ready", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		hold, intent := a.hold(2000), a.pay("pm_card_visa", "manual")
		a.advance(7*24*time.Hour + time.Minute)

		expired := a.retrieveCharge(hold.ID, "refunds")
		equal(t, "the charge", []any{expired.Refunded, expired.Captured, expired.Refunds.Data[0].Reason},
			[]any{true, false, stripe.RefundReasonExpiredUncapturedCharge})
		equal(t, "its events", a.eventsOf(hold.ID), []string{"charge.succeeded", "charge.refunded", "charge.expired"})
		_, err := a.V1Charges.Capture(t.Context(), hold.ID, nil)
		refused(t, err, invalid("charge_already_refunded", "", "Charge "+hold.ID+" has already been refunded."))

		canceled := a.retrieveIntent(intent.ID)
		equal(t, "the intent", []any{canceled.Status, canceled.CancellationReason, canceled.AmountCapturable},
			[]any{stripe.PaymentIntentStatusCanceled, stripe.PaymentIntentCancellationReasonAutomatic, int64(0)})
		equal(t, "its events", a.eventsOf(intent.ID),
			[]string{"payment_intent.created", "payment_intent.amount_capturable_updated", "payment_intent.canceled"})
		charge := a.retrieveCharge(intent.LatestCharge.ID, "refunds")
		equal(t, "its charge", []any{charge.Refunded, charge.Refunds.Data[0].Reason},
			[]any{true, stripe.RefundReasonExpiredUncapturedCharge})
		equal(t, "the events of its charge", a.eventsOf(charge.ID),
			[]string{"charge.succeeded", "charge.refunded", "charge.expired"})

		again := a.hold(1000)
		equal(t, "a hold from then on has seven days of its own", a.retrieveCharge(again.ID).Refunded, false)
	})

	t.Run("a clock never goes back", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		clock := a.advance(time.Hour)
		_, err := a.V1TestHelpersTestClocks.Advance(t.Context(), clock.ID,
			&stripe.TestHelpersTestClockAdvanceParams{FrozenTime: &clock.FrozenTime})
		refused(t, err, invalid("", "frozen_time", ""))
	})

	t.Run("payouts are listed by status, and their metadata changes", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		a.earn(5000)
		first := a.payOut(dollars(100))
		params := dollars(100)
		params.Method = stripe.String("instant")
		instant := a.payOut(params)
		equal(t, "status of an instant one", instant.Status, stripe.PayoutStatusPaid)
		list := collect(t, a.V1Payouts.List(t.Context(), &stripe.PayoutListParams{Status: stripe.String("pending")}))
		equal(t, "pending", ids(list, func(p *stripe.Payout) string { return p.ID }), []string{first.ID})
		list = collect(t,
			a.V1Payouts.List(t.Context(),
				&stripe.PayoutListParams{ArrivalDateRange: &stripe.RangeQueryParams{GreaterThan: instant.ArrivalDate}}))
		equal(t, "that arrive later", ids(list, func(p *stripe.Payout) string { return p.ID }), []string{first.ID})
		changed, err := a.V1Payouts.Update(t.Context(), first.ID,
			&stripe.PayoutUpdateParams{Metadata: map[string]string{"week": "47"}})
		noError(t, err)
		equal(t, "metadata", changed.Metadata, map[string]string{"week": "47"})
	})
}

func TestDailyPayout(t *testing.T) {
	inTurn(t)
	in := install(t)
	a := in.account(t)
	had := a.earn(5000)
	sale := a.sell(2000)
	a.schedule(&stripe.BalanceSettingsUpdatePaymentsPayoutsScheduleParams{Interval: stripe.String("daily")})
	in.workTwice(t)

	automatic := func() []*stripe.Payout {
		return collect(t, a.V1Payouts.List(t.Context(), &stripe.PayoutListParams{}))
	}
	wait(t, "today's payout", func() bool { return len(automatic()) > 0 && a.available() == 0 })
	first := automatic()[0]
	equal(t, "automatic", first.Automatic, true)
	equal(t, "amount", first.Amount, had)
	var err error
	wait(t, "nobody else is at the payout", func() bool {
		_, err = a.cancelPayout(first.ID)
		var refusal *stripe.Error
		return !errors.As(err, &refusal) || refusal.HTTPStatusCode != http.StatusTooManyRequests
	})
	refused(t, err, invalid("", "", ""))

	a.advance(twoDays) // over two midnights: another day, with the sale's money
	wait(t, "the payout of another day", func() bool { return len(automatic()) == 2 })
	second := automatic()[0]
	equal(t, "amount of the next", second.Amount, int64(2000-88))
	consists := collect(t,
		a.V1BalanceTransactions.List(t.Context(), &stripe.BalanceTransactionListParams{Payout: &second.ID}))
	of := ids(consists, func(b *stripe.BalanceTransaction) string { return b.ID })
	equal(t, "what it consists of", sortByAge(of),
		sortByAge([]string{sale.BalanceTransaction.ID, second.BalanceTransaction.ID}))
	wait(t, "the first arrives", func() bool { return a.retrievePayout(first.ID).Status == stripe.PayoutStatusPaid })
	equal(t, "events", a.eventTypes(first.ID),
		[]string{"payout.created", "payout.paid", "payout.reconciliation_completed", "payout.updated"})
}

// schedule sets when the account is paid out.
func (a *account) schedule(s *stripe.BalanceSettingsUpdatePaymentsPayoutsScheduleParams) *stripe.BalanceSettings {
	a.t.Helper()
	settings, err := a.V1BalanceSettings.Update(a.t.Context(), &stripe.BalanceSettingsUpdateParams{
		Payments: &stripe.BalanceSettingsUpdatePaymentsParams{
			Payouts: &stripe.BalanceSettingsUpdatePaymentsPayoutsParams{Schedule: s}}})
	noError(a.t, err)
	return settings
}

func TestPayoutSchedule(t *testing.T) {
	inTurn(t)
	const day = 24 * time.Hour
	today := time.Now().UTC().Truncate(day)
	weekday := today.Add(4 * day)
	for weekday.Weekday() == time.Saturday || weekday.Weekday() == time.Sunday {
		weekday = weekday.Add(day)
	}
	// The 31st, or the last day of a shorter month. Close to it, the 15th of the next month.
	monthDay, monthOn := int64(31), time.Date(today.Year(), today.Month()+1, 0, 0, 0, 0, 0, time.UTC)
	if monthOn.Sub(today) < 2*day {
		monthDay, monthOn = 15, monthOn.Add(15*day)
	}
	for name, test := range map[string]struct {
		schedule stripe.BalanceSettingsUpdatePaymentsPayoutsScheduleParams
		on       time.Time
	}{
		"weekly": {stripe.BalanceSettingsUpdatePaymentsPayoutsScheduleParams{Interval: stripe.String("weekly"),
			WeeklyPayoutDays: stripe.StringSlice([]string{strings.ToLower(weekday.Weekday().String())})}, weekday},
		"monthly": {stripe.BalanceSettingsUpdatePaymentsPayoutsScheduleParams{
			Interval: stripe.String("monthly"), MonthlyPayoutDays: []*int64{&monthDay}}, monthOn},
	} {
		t.Run(name, func(t *testing.T) {
			inTurn(t)
			in := install(t)
			a := in.account(t)
			had := a.earn(5000)
			settings := a.schedule(&test.schedule)
			equal(t, "interval", string(settings.Payments.Payouts.Schedule.Interval), *test.schedule.Interval)
			in.workTwice(t)
			// To the evening before, and one and a half days later to a day on which the payout is late.
			a.advance(time.Until(test.on.Add(-time.Hour)))
			time.Sleep(3 * time.Second)
			equal(t, "paid out before the day", had-a.available(), int64(0))
			a.advance(time.Until(test.on.Add(35 * time.Hour)))
			wait(t, "the payout", func() bool { return a.available() == 0 })
			var on time.Time
			noError(t, in.db.QueryRow(t.Context(), `SELECT automatic_on FROM payouts WHERE account_id = $1`,
				a.id).Scan(&on))
			equal(t, "day of the payout", on, test.on)
		})
	}
}

// TestPayoutsAtOnce has many clients take out of one balance while it changes.
func TestPayoutsAtOnce(t *testing.T) {
	inTurn(t)
	in := install(t)
	a := in.account(t)
	had := a.earn(10_000)
	var paid, no atomic.Int64
	var clients sync.WaitGroup
	for client := range 24 {
		clients.Go(func() {
			amount := int64(60 + client)
			for no.Load() == 0 { // until it is known to be too little for one of them
				_, err := a.V1Payouts.Create(t.Context(), dollars(amount))
				var e *stripe.Error
				switch {
				case err == nil:
					paid.Add(amount)
				case errors.As(err, &e) && e.Code == stripe.ErrorCodeBalanceInsufficient:
					no.Add(1)
				case errors.As(err, &e) && e.Code == stripe.ErrorCodeLockTimeout: // nothing was done
				default:
					t.Errorf("a payout of %d: %v", amount, err)
					return
				}
			}
		})
	}
	clients.Wait()
	if paid.Load() < had/2 {
		t.Errorf("%d were refused with %d of %d paid", no.Load(), paid.Load(), had)
	}
	equal(t, "paid and left", paid.Load()+a.available(), had)
	var sent int64
	noError(t, in.journal.QueryRow(t.Context(), `
		SELECT sum(amount) FROM acquirer.movements WHERE kind = 'payout'`).Scan(&sent))
	equal(t, "sent by the bank", sent, paid.Load())
}

// eventTypes are the types of an object's events, sorted.
func (a *account) eventTypes(object string) []string {
	a.t.Helper()
	types := []string{}
	for _, event := range collect(a.t, a.V1Events.List(a.t.Context(), &stripe.EventListParams{})) {
		if event.Data.Object["id"] == object {
			types = append(types, string(event.Type))
		}
	}
	slices.Sort(types)
	return types
}
