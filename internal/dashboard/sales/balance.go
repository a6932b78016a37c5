package sales

import (
	"net/http"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/postgres"
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

// selectSchedule is when the worker pays the balance out: daily, or manual for never.
const selectSchedule = `SELECT id AS account_id, payout_schedule AS schedule FROM accounts WHERE id = @account_id`

// schedule is an account's payout schedule. The owner of the database changes it: the API may not change accounts.
type schedule struct{ AccountID, Schedule string }

// Other is the schedule that the account could have instead.
func (s schedule) Other() string {
	if s.Schedule == "daily" {
		return "manual"
	}
	return "daily"
}

// Command changes the schedule.
func (s schedule) Command() string {
	return "ratchet payouts --account " + s.AccountID + " --schedule " + s.Other()
}

type balancePage struct {
	Schedule  *schedule
	Balances  []halves
	Movements []movement
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
	page.Schedule, err = ui.ReadOne[schedule](r.Context(), s.Pool, selectSchedule,
		postgres.Args{"account_id": of.AccountID})
	if err != nil {
		return nil, err
	}
	page.Movements, page.Pager, err = movements.Page(s.Env, r, of.Args(nil))
	if err != nil {
		return nil, err
	}
	return ui.List(of, "dashboard/balance", "balance", "Balance", page), nil
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
