package dashboard

import (
	"encoding/csv"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/money"
)

// payment is a line of the list of payments.
type payment struct {
	ID             string
	State          string
	Amount         int64
	AmountRefunded int64
	Currency       string
	Description    *string
	CustomerID     *string
	Brand          string
	Last4          string
	FailureCode    *string
	RequestID      string
	Takeovers      int64
	CreatedAt      time.Time
}

// paymentState is a charge's state in a word. What a partial capture let go
// counts among the refunded, but was never taken.
const paymentState = `CASE
	WHEN c.status = 'failed' THEN 'failed' WHEN c.status = 'pending' THEN 'pending'
	WHEN NOT c.captured AND c.amount_refunded >= c.amount THEN 'released' WHEN NOT c.captured THEN 'uncaptured'
	WHEN c.amount_refunded >= c.amount THEN 'refunded' WHEN c.amount_refunded > c.amount - c.amount_captured THEN 'partly_refunded'
	ELSE 'succeeded' END`

const selectPayments = `
	SELECT c.id, p.state, c.amount, c.amount_refunded, c.currency, c.description, c.customer_id, c.card->>'brand' AS brand, c.card->>'last4' AS last4,
	       c.failure_code, c.request_id, c.created_at,
	       (SELECT count(*) FROM takeovers t WHERE t.account_id = c.account_id AND t.request_id = c.request_id AND t.was = 'running') AS takeovers
	FROM charges c
	CROSS JOIN LATERAL (SELECT ` + paymentState + ` AS state) p
	WHERE c.account_id = @account_id AND c.livemode = @livemode
	  AND (@state = '' OR p.state = @state)
	  AND (@customer = '' OR c.customer_id = @customer)
	  AND (@ends_in = '' OR c.card->>'last4' = @ends_in)
	  AND (@since::timestamptz IS NULL OR c.created_at >= @since)
	  AND (@until::timestamptz IS NULL OR c.created_at < @until)
	  AND (NOT @crashed::boolean OR EXISTS (
	      SELECT FROM takeovers t WHERE t.account_id = c.account_id AND t.request_id = c.request_id AND t.was = 'running'))`

const (
	paymentsDown = selectPayments + ` AND (@before = '' OR c.id < @before) ORDER BY c.id DESC LIMIT @limit`
	paymentsUp   = selectPayments + ` AND c.id > @after ORDER BY c.id LIMIT @limit`
)

// paymentFilter is what the address asks for.
type paymentFilter struct {
	State, Customer, Last4, From, To string
	Crashed                          bool
}

func paymentFilterOf(r *http.Request) paymentFilter {
	field := func(name string) string { return strings.TrimSpace(r.FormValue(name)) }
	return paymentFilter{State: field("state"), Customer: field("customer"), Last4: field("last4"), From: field("from"), To: field("to"),
		Crashed: field("crashed") == "yes"}
}

// Any tells whether something is filtered away.
func (f paymentFilter) Any() bool { return f != paymentFilter{} }

func (f paymentFilter) args(of scope, limit int) pgx.StrictNamedArgs {
	args := of.args(pgx.StrictNamedArgs{"state": f.State, "customer": f.Customer, "ends_in": f.Last4, "crashed": f.Crashed, "limit": limit,
		"since": (*time.Time)(nil), "until": (*time.Time)(nil)})
	if day, err := time.Parse(time.DateOnly, f.From); err == nil {
		args["since"] = &day
	}
	if day, err := time.Parse(time.DateOnly, f.To); err == nil {
		next := day.AddDate(0, 0, 1)
		args["until"] = &next
	}
	return args
}

type paymentsPage struct {
	Payments []payment
	Filter   paymentFilter
	States   []chip
	Pager    pager
	CSV      string
	Newest   bool // the first page: what arrives appears on it
}

func (s *Server) payments(w http.ResponseWriter, r *http.Request) {
	of, err := s.scope(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	filter, k := paymentFilterOf(r), keysetOf(r)
	args, sql := filter.args(of, pageSize+1), paymentsDown
	if k.backwards() {
		sql, args["after"] = paymentsUp, k.After
	} else {
		args["before"] = k.Before
	}
	found, err := read[payment](r.Context(), s, sql, args)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page := paymentsPage{Filter: filter, Newest: k == keyset{}, CSV: strings.Replace(with(r.URL, "before", "", "after"), "/payments", "/payments.csv", 1)}
	page.Payments, page.Pager = turn(r, k, found, func(p payment) string { return p.ID })
	page.States = chips(r, "state", [2]string{"", "All"}, [2]string{"succeeded", "Succeeded"}, [2]string{"uncaptured", "Uncaptured"},
		[2]string{"partly_refunded", "Partly refunded"}, [2]string{"refunded", "Refunded"}, [2]string{"failed", "Failed"}, [2]string{"pending", "Pending"})
	s.list(w, r, of, "dashboard/payments", "payments", "Payments", page)
}

// csvLimit bounds a download: whoever needs more asks by date.
const csvLimit = 50_000

// paymentsCSV is the same list as a file, all pages of it.
func (s *Server) paymentsCSV(w http.ResponseWriter, r *http.Request) {
	of, err := s.scope(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	args := paymentFilterOf(r).args(of, csvLimit)
	args["before"] = ""
	found, err := read[payment](r.Context(), s, paymentsDown, args)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="payments.csv"`)
	out := csv.NewWriter(w)
	_ = out.Write([]string{"id", "created (UTC)", "state", "amount", "currency", "minor units", "refunded minor units", "customer", "card", "description", "failure", "request"})
	for _, p := range found {
		_ = out.Write([]string{p.ID, p.CreatedAt.UTC().Format(time.RFC3339), p.State, decimal(p.Amount, p.Currency), p.Currency,
			strconv.FormatInt(p.Amount, 10), strconv.FormatInt(p.AmountRefunded, 10), harmless(p.CustomerID), p.Brand + " " + p.Last4,
			harmless(p.Description), harmless(p.FailureCode), p.RequestID})
	}
	out.Flush()
}

// harmless keeps a spreadsheet from running what a customer wrote as a formula.
func harmless(text *string) string {
	if text == nil {
		return ""
	}
	if strings.ContainsRune("=+-@\t\r", rune((*text + " ")[0])) {
		return "'" + *text
	}
	return *text
}

// decimal writes an amount as a number: 20.00.
func decimal(amount int64, currency string) string {
	exponent := money.Exponent(currency)
	digits := strconv.FormatInt(amount, 10)
	if exponent == 0 {
		return digits
	}
	if missing := exponent + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	return digits[:len(digits)-exponent] + "." + digits[len(digits)-exponent:]
}
