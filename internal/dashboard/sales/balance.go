package sales

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
)

// movement is what changed a merchant's balance: what Stripe calls a balance transaction.
type movement struct {
	ID          string
	Kind        string
	Source      string
	Currency    string
	Amount      int64
	Fee         int64
	Net         int64
	AvailableOn time.Time
	CreatedAt   time.Time
	Available   bool
}

// movementTable is a table of movements. Those of a payout are all available: it shows when they were created instead.
type movementTable struct {
	Rows    []movement
	PaidOut bool
}

const movementsOfEachBook = ` ledger_books k CROSS JOIN LATERAL (
		SELECT id, kind, source, currency, amount, fee, net, available_on, created_at, net < 0
		    OR available_on <= account_time(account_id, livemode) AS available
		FROM balance_transactions
		WHERE account_id = @account_id AND livemode = @livemode AND book_id = k.id`

// A page is taken of each book, whose index has its order, and then of those.
const (
	movementsDown = `SELECT t.* FROM` + movementsOfEachBook + ` AND (@before = '' OR id < @before)
		ORDER BY id DESC LIMIT @limit` +
		ofTheirAccount + ` ORDER BY id DESC LIMIT @limit`
	movementsUp = `SELECT t.* FROM` + movementsOfEachBook + ` AND id > @after ORDER BY id LIMIT @limit` +
		ofTheirAccount + ` ORDER BY id LIMIT @limit`
	ofTheirAccount = `) AS t WHERE k.account_id = @account_id AND k.livemode = @livemode`
)

var movements = ui.Lister[movement]{Down: movementsDown, Up: movementsUp, Prefix: "txn_",
	ID: func(m movement) string { return m.ID }}

// halves are the two sums a balance is made of, and when the pending half comes free.
type halves struct {
	Balance
	Next      *time.Time
	InTransit int64 // left for the bank, and not arrived
}

const selectHalves = `
	WITH t AS MATERIALIZED (SELECT account_time(@account_id, @livemode) AS now)
	    -- one look at the clock, and not one for every book
	SELECT b.currency, m.available, m.pending,
	       coalesce((SELECT sum(s.credit - s.debit)::bigint FROM ledger_totals s
	           WHERE s.book_id = b.id AND s.account = 'payouts_in_transit'), 0) AS in_transit,
	       (SELECT min(p.available_on) FROM ledger_postings p
	           WHERE p.book_id = b.id AND p.kind = 'charge' AND p.available_on > t.now) AS next
	FROM ledger_books b CROSS JOIN t CROSS JOIN LATERAL ledger_balance(b.id, t.now) m
	WHERE b.account_id = @account_id AND b.livemode = @livemode
	ORDER BY b.currency`

// selectSchedule is when the worker pays the balance out.
const selectSchedule = `
	SELECT a.id AS account_id, @livemode::boolean AS livemode, coalesce(s.frequency, 'manual') AS frequency,
	       coalesce(s.days, '{}') AS days
	FROM accounts a
	LEFT JOIN payout_schedules s ON s.account_id = a.id AND s.livemode = @livemode
	WHERE a.id = @account_id`

// schedule is the payout schedule of an account's mode, and the form that changes it.
type schedule struct {
	AccountID string
	Frequency string
	Days      []int16
	Livemode  bool
	Key       string `db:"-"`
}

// weekdays are the days on which a weekly schedule can pay out; the first is number 1.
var weekdays = []string{"monday", "tuesday", "wednesday", "thursday", "friday"}

// On tells whether a weekly schedule pays out on a day.
func (s schedule) On(day string) bool {
	return s.Frequency == "weekly" && slices.ContainsFunc(s.Days, func(n int16) bool { return weekdays[n-1] == day })
}

// Weekdays are the choices of the form.
func (s schedule) Weekdays() []string { return weekdays }

// MonthDays are the days of a monthly schedule, as they are typed: "1, 15".
func (s schedule) MonthDays() string {
	if s.Frequency != "monthly" {
		return ""
	}
	return s.list(func(day int16) string { return strconv.Itoa(int(day)) })
}

func (s schedule) list(name func(int16) string) string {
	var names []string
	for _, day := range s.Days {
		names = append(names, name(day))
	}
	return strings.Join(names, ", ")
}

// Said is the schedule in words.
func (s schedule) Said() string {
	switch s.Frequency {
	case "daily":
		return "Paid out daily"
	case "weekly":
		return "Paid out weekly: " + s.list(func(day int16) string { return time.Weekday(day).String() })
	case "monthly":
		return "Paid out monthly: day " + s.MonthDays()
	}
	return "Paid out manually"
}

// postSchedule changes the payout schedule through the API.
func (s Pages) postSchedule(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	const at = "payments[payouts][schedule]"
	params := url.Values{at + "[interval]": {r.PostFormValue("frequency")}}
	switch r.PostFormValue("frequency") {
	case "weekly":
		params[at+"[weekly_payout_days][]"] = r.PostForm["weekday"]
	case "monthly":
		for _, day := range strings.Fields(strings.ReplaceAll(r.PostFormValue("days"), ",", " ")) {
			params.Add(at+"[monthly_payout_days][]", day)
		}
	}
	a, err := s.Call(r, of.AccountID, of.Livemode, http.MethodPost, "/v1/balance_settings", r.PostFormValue("key"),
		params)
	return ui.RespondTo(a, err, "Payout schedule saved.", "/dashboard/balance")
}

type balancePage struct {
	Schedule  *schedule
	Balances  []halves
	Movements movementTable
	Pager     ui.Pager
	CSV       string
	Dates     ui.Dates
}

func (s Pages) balance(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	page := balancePage{CSV: ui.FileOf(r), Dates: ui.DatesOf(r)}
	page.Balances, err = ui.Read[halves](r.Context(), s.Pool, selectHalves, of.Args(nil))
	if err != nil {
		return nil, err
	}
	page.Schedule, err = ui.ReadOne[schedule](r.Context(), s.Pool, selectSchedule, of.Args(nil))
	if err != nil {
		return nil, err
	}
	page.Schedule.Key = ui.NewIdempotencyKey("schedule")
	page.Movements.Rows, page.Pager, err = movements.Page(s.Env, r, of.Args(nil))
	if err != nil {
		return nil, err
	}
	return s.OnClock(r, of, ui.List(of, "dashboard/balance", "balance", "Balance", page))
}

// Balance is what a merchant has in one currency.
type Balance struct {
	Currency  string
	Available int64
	Pending   int64 // will be available later
}

// Total is what the merchant's account in the ledger says.
func (b Balance) Total() int64 { return b.Available + b.Pending }

const selectBalances = `
	WITH t AS MATERIALIZED (SELECT account_time(@account_id, @livemode) AS now)
	SELECT b.currency, m.available, m.pending
	FROM ledger_books b CROSS JOIN t CROSS JOIN LATERAL ledger_balance(b.id, t.now) m
	WHERE b.account_id = @account_id AND b.livemode = @livemode
	ORDER BY b.currency`

// Balances reads an account's balance in each of its currencies.
func Balances(d *ui.Env, r *http.Request, of ui.Scope) ([]Balance, error) {
	return ui.Read[Balance](r.Context(), d.Pool, selectBalances, of.Args(nil))
}
