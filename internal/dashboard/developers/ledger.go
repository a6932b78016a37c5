package developers

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/inspect"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

// sums are a ledger account's two sides.
type sums struct {
	Currency string
	Account  string
	Debit    int64
	Credit   int64
	Debits   int64 // how many entries
	Credits  int64
}

// Balance is what is left on the heavier side.
func (t sums) Balance() int64 {
	if t.Debit >= t.Credit {
		return t.Debit - t.Credit
	}
	return t.Credit - t.Debit
}

// Side is "debit" or "credit", whichever sum is larger. Equal sums are a debit of zero.
func (t sums) Side() string {
	if t.Debit >= t.Credit {
		return "debit"
	}
	return "credit"
}

const selectSums = `
	SELECT currency, account::text AS account, debit, credit, debits, credits
	FROM ledger_totals
	WHERE account_id = @account_id AND livemode = @livemode
	ORDER BY currency, ledger_totals.account`

// entry is one side of one leg.
type entry struct {
	PostingID string
	Currency  string
	Account   string
	Side      string
	Amount    int64
	Kind      string
	Source    string
}

// The newest of each account and side: as many as a T has room for. A side that
// never had one is not looked for, which would take reading the whole book.
const selectNewest = `
	SELECT e.posting_id, t.currency, t.account::text AS account, s.side, e.amount, e.kind, e.source
	FROM ledger_totals t
	CROSS JOIN LATERAL (VALUES ('debit', t.debits), ('credit', t.credits)) s (side, entries)
	CROSS JOIN LATERAL (
		SELECT p.id AS posting_id, l.amount, p.kind, p.source
		FROM ledger_postings p CROSS JOIN LATERAL unnest(p.debits, p.credits, p.amounts) WITH ORDINALITY AS l (debit,
		    credit, amount, leg)
		WHERE p.book_id = t.book_id AND CASE s.side WHEN 'debit' THEN l.debit ELSE l.credit END = t.account
		ORDER BY p.id DESC, l.leg LIMIT least(s.entries, 6)) e
	WHERE t.account_id = @account_id AND t.livemode = @livemode AND t.currency = @currency`

// line is what one posting did to one account.
type line struct {
	PostingID string
	Currency  string
	Debit     int64
	Credit    int64
	Kind      string
	Source    string
	RequestID string
	CreatedAt time.Time
}

const (
	linesOfTheBook = theBook + ` CROSS JOIN LATERAL (
		SELECT p.id AS posting_id, b.currency, p.kind, p.source, p.request_id, p.created_at, s.debit, s.credit
		FROM ledger_postings p
		CROSS JOIN LATERAL (
			SELECT coalesce(sum(l.amount) FILTER (WHERE l.debit::text = @account), 0)::bigint AS debit,
			       coalesce(sum(l.amount) FILTER (WHERE l.credit::text = @account), 0)::bigint AS credit
			FROM unnest(p.debits, p.credits, p.amounts) AS l (debit, credit, amount)) s
		WHERE p.book_id = b.id AND (s.debit, s.credit) <> (0, 0)`
	linesDown = `SELECT t.* FROM ` + linesOfTheBook + ` AND (@before = '' OR p.id < @before) AND p.id >= @edge
		ORDER BY p.id DESC LIMIT @limit) t ORDER BY posting_id DESC`
	linesUp = `SELECT t.* FROM ` + linesOfTheBook + ` AND p.id > @after AND p.id <= @edge
		ORDER BY p.id LIMIT @limit) t ORDER BY posting_id`

	theBook = `(SELECT id, currency FROM ledger_books
		WHERE account_id = @account_id AND livemode = @livemode AND currency = @currency) b`
	linesEdgeDown = `SELECT t.id FROM ` + theBook + ` CROSS JOIN LATERAL (
		SELECT p.id FROM ledger_postings p WHERE p.book_id = b.id AND (@before = '' OR p.id < @before)
		ORDER BY p.id DESC OFFSET @over LIMIT 1) t`
	linesEdgeUp = `SELECT t.id FROM ` + theBook + ` CROSS JOIN LATERAL (
		SELECT p.id FROM ledger_postings p WHERE p.book_id = b.id AND p.id > @after
		ORDER BY p.id OFFSET @over LIMIT 1) t`
)

var lines = ui.Lister[line]{Down: linesDown, Up: linesUp, ID: func(l line) string { return l.PostingID },
	Edge: ui.Edge{Down: linesEdgeDown, Up: linesEdgeUp, Args: []string{"livemode", "currency"}}}

// tAccount is an account as a bookkeeper draws it.
type tAccount struct {
	sums
	Left, Right []entry // the newest of each side
	Href        string
}

// MoreLeft is how many debits a T has no room for.
func (t tAccount) MoreLeft() int { return int(t.Debits) - len(t.Left) }

// MoreRight is how many credits a T has no room for.
func (t tAccount) MoreRight() int { return int(t.Credits) - len(t.Right) }

type ledgerPage struct {
	Currency   string
	Currencies []ui.Chip
	Accounts   []tAccount
	Trial      trial
	Account    string // the one whose entries are listed; "" for all as Ts
	Lines      []line
	Pager      ui.Pager
	CSV        string // "" for all accounts, which are not a list
}

// trial is the trial balance of one currency.
type trial struct {
	Rows          []sums
	Currency      string
	Debit, Credit int64 // of the balances
}

// Difference is 0, or something is very wrong.
func (t trial) Difference() int64 { return t.Debit - t.Credit }

func (s Pages) ledger(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	all, err := ui.Read[sums](r.Context(), s.Pool, selectSums, of.Args(nil))
	if err != nil {
		return nil, err
	}
	page := ledgerPage{Account: r.FormValue("account")}
	page.Currency, page.Currencies = currencies(r, all)
	page.Trial = trialOf(all, page.Currency)
	if page.Account == "" {
		page.Accounts, err = s.tAccounts(r, of, page.Trial)
	} else {
		which := url.Values{"account": {page.Account}, "currency": {page.Currency}}
		page.CSV = "/dashboard/ledger.csv?" + which.Encode()
		err = s.lines(r, of, &page)
	}
	if err != nil {
		return nil, err
	}
	return ui.List(of, "dashboard/ledger", "ledger", "Ledger", page), nil
}

func currencies(r *http.Request, all []sums) (chosen string, choices []ui.Chip) {
	var known []string
	for _, t := range all {
		if !slices.Contains(known, t.Currency) {
			known = append(known, t.Currency)
		}
	}
	chosen = r.FormValue("currency")
	if !slices.Contains(known, chosen) && len(known) > 0 {
		chosen = known[0]
		if slices.Contains(known, "usd") {
			chosen = "usd"
		}
	}
	for _, c := range known {
		choices = append(choices, ui.Chip{Word: c, Href: ui.With(r.URL, "currency", c, "before", "after"),
			Current: c == chosen})
	}
	return chosen, choices
}

func trialOf(all []sums, currency string) trial {
	t := trial{Currency: currency}
	for _, one := range all {
		if one.Currency != currency {
			continue
		}
		t.Rows = append(t.Rows, one)
		if one.Side() == "debit" {
			t.Debit += one.Balance()
		} else {
			t.Credit += one.Balance()
		}
	}
	return t
}

func (s Pages) tAccounts(r *http.Request, of ui.Scope, trial trial) ([]tAccount, error) {
	newest, err := ui.Read[entry](r.Context(), s.Pool, selectNewest,
		of.Args(postgres.Args{"currency": trial.Currency}))
	if err != nil {
		return nil, err
	}
	var all []tAccount
	for _, row := range trial.Rows {
		t := tAccount{sums: row, Href: ui.With(r.URL, "account", row.Account)}
		for _, e := range newest {
			switch {
			case e.Account != row.Account:
			case e.Side == "debit":
				t.Left = append(t.Left, e)
			default:
				t.Right = append(t.Right, e)
			}
		}
		all = append(all, t)
	}
	return all, nil
}

func (s Pages) lines(r *http.Request, of ui.Scope, page *ledgerPage) error {
	args := of.Args(postgres.Args{"currency": page.Currency, "account": page.Account})
	var err error
	page.Lines, page.Pager, err = lines.Page(s.Env, r, args)
	return err
}

type postingPage struct {
	AccountID   string
	ID          string
	Source      string
	Kind        string
	Currency    string
	Livemode    bool
	AvailableOn time.Time
	Available   bool // by the account's own clock
	CreatedAt   time.Time
	RequestID   string
	Description *string
	Reverses    *string
	Legs        []inspect.Leg
}

// Total is the sum of the legs' amounts, in minor units. Debits and credits both add up to it.
func (p postingPage) Total() (total int64) {
	for _, l := range p.Legs {
		total += l.Amount
	}
	return total
}

const selectPosting = `
	SELECT b.account_id, p.id, p.source, p.kind, b.currency, b.livemode, p.available_on,
	       p.available_on <= account_time(b.account_id, b.livemode) AS available, p.created_at, p.request_id,
	       p.description, p.reverses,
	       (SELECT json_agg(json_build_object('purpose', l.purpose, 'debit', l.debit, 'credit', l.credit, 'amount',
	           l.amount) ORDER BY l.leg)
	          FROM ledger_legs l WHERE l.book_id = p.book_id AND l.posting_id = p.id) AS legs
	FROM ledger_books b
	CROSS JOIN LATERAL (SELECT * FROM ledger_postings WHERE book_id = b.id AND id = @id OFFSET 0) p`

func (s Pages) posting(r *http.Request) (*ui.Page, error) {
	found, err := ui.Read[postingPage](r.Context(), s.Pool, selectPosting, postgres.Args{"id": r.PathValue("id")})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ui.ErrNotFound
	}
	return ui.Show("dashboard/posting",
		web.Page{Title: "Ledger entry " + found[0].ID, Here: "ledger", Data: found[0]}), nil
}
