package dashboard

import (
	"net/http"
	"time"

	"github.com/ratchet-pay/ratchet/web"
)

func (s *Server) list(w http.ResponseWriter, r *http.Request, of scope, name, here, title string, data any) {
	s.render(w, r, http.StatusOK, name, web.Page{Title: title, Here: here, Desk: true, Scopes: of.all, Data: data})
}

// volume is what was taken on one day in one currency.
type volume struct {
	Day      time.Time
	Currency string
	Tried    int64 // charges that were answered
	Approved int64
	Count    int64 // captured
	Amount   int64
}

const selectVolume = `
	SELECT date_trunc('day', c.created_at AT TIME ZONE 'UTC') AS day, c.currency,
	       count(*) FILTER (WHERE c.status <> 'pending') AS tried,
	       count(*) FILTER (WHERE c.status = 'succeeded') AS approved, count(*) FILTER (WHERE c.captured) AS count,
	       sum(c.amount_captured)::bigint AS amount
	FROM charges c
	WHERE c.account_id = @account_id AND c.livemode = @livemode AND c.id >= @first
	GROUP BY 1, 2 ORDER BY 1, 2`

const selectBalances = `
	WITH t AS MATERIALIZED (SELECT account_time(@account_id, @livemode) AS now)
	SELECT b.currency, m.available, m.pending
	FROM ledger_books b CROSS JOIN t CROSS JOIN LATERAL ledger_balance(b.id, t.now) m
	WHERE b.account_id = @account_id AND b.livemode = @livemode
	ORDER BY b.currency`

type balance struct {
	Currency  string
	Available int64
	Pending   int64 // will be available later
}

// Total is what the merchant's account in the ledger says.
func (b balance) Total() int64 { return b.Available + b.Pending }

type overviewPage struct {
	Proof     proof
	Balances  []balance
	Payments  []payment
	Stuck     []stuck
	Wanting   wanting
	Chart     chart
	AccountID string
}

// stuck is a request that waits for an operator.
type stuck struct {
	State string
	Count int64
}

// wanting is what waits for the merchant.
type wanting struct {
	Disputes  int64
	Endpoints int64
}

const selectWanting = `
	SELECT (SELECT count(*) FROM disputes
	       WHERE account_id = @account_id AND livemode = @livemode AND status LIKE '%needs_response') AS disputes,
	       (SELECT count(*) FROM webhook_endpoints
	           WHERE account_id = @account_id AND livemode = @livemode AND failing_since IS NOT NULL
	             AND deleted_at IS NULL) AS endpoints`

const selectStuck = `
	SELECT state, count(*) AS count FROM runs GROUP BY state ORDER BY state`

func (s *Server) overview(w http.ResponseWriter, r *http.Request) {
	of, err := s.scope(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page := overviewPage{AccountID: of.AccountID}
	if page.Proof, err = s.facts.get(r.Context()); err != nil {
		s.fail(w, r, err)
		return
	}
	if page.Balances, err = read[balance](r.Context(), s, selectBalances, of.args(nil)); err != nil {
		s.fail(w, r, err)
		return
	}
	if page.Payments, err = payments.latest(s, r, paymentFilter{}.args(of), 8); err != nil {
		s.fail(w, r, err)
		return
	}
	if page.Stuck, err = read[stuck](r.Context(), s, selectStuck, nil); err != nil {
		s.fail(w, r, err)
		return
	}
	wanting, err := read[wanting](r.Context(), s, selectWanting, of.args(nil))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page.Wanting = wanting[0]
	if page.Chart, err = s.chart(r, of); err != nil {
		s.fail(w, r, err)
		return
	}
	s.list(w, r, of, "dashboard/overview", "overview", "Overview", page)
}
