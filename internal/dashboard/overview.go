package dashboard

import (
	"net/http"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/sales"
	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// volume is what was taken on one day in one currency.
type volume struct {
	Day      time.Time
	Currency string
	Tried    int64 // charges that were answered
	Approved int64
	Count    int64 // captured
	Amount   int64
}

// The worker has added up each day but for the charges that can still change and those that are younger than what it
// has counted (internal/daysum/daysum.go:Counter).
const selectVolume = `
	SELECT day::timestamp AS day, currency, sum(tried)::bigint AS tried, sum(approved)::bigint AS approved,
	       sum(captured)::bigint AS count, sum(amount)::bigint AS amount
	FROM (
		SELECT day, currency, tried, approved, captured, amount FROM charge_days
		WHERE account_id = @account_id AND livemode = @livemode AND day >= @first
		UNION ALL
		SELECT c.day, c.currency, c.tried, c.approved, c.captured, c.amount
		FROM charges_to_count w JOIN charge_counts c ON c.account_id = w.account_id AND c.id = w.id
		WHERE w.account_id = @account_id AND c.livemode = @livemode AND c.day >= @first
		UNION ALL
		SELECT day, currency, tried, approved, captured, amount FROM charge_counts
		WHERE account_id = @account_id AND livemode = @livemode AND day >= @first AND id >= @charges_from
	) all_charges
	GROUP BY 1, 2 ORDER BY 1, 2`

type overviewPage struct {
	Proof     proof
	Balances  []sales.Balance
	Payments  []sales.Payment
	Stuck     []stuck
	Wanting   wanting
	Chart     ui.Chart
	Default   bool // the chart has its default period
	AccountID string
}

// stuck is a request that waits for an operator.
type stuck struct {
	State string
	Count int64
}

// mostWanting is how many disputes the page counts. It shows this number as “1000 or more”.
const mostWanting = 1000

// wanting is what waits for the merchant, or for an operator.
type wanting struct {
	Disputes   int64
	Endpoints  int64
	Violations int64 // that the last run of verify found, over recent data or over everything
}

// Many tells whether there may be more disputes than were counted.
func (w wanting) Many() bool { return w.Disputes >= mostWanting }

const selectWanting = `
	SELECT (SELECT count(*) FROM (
	           SELECT FROM disputes
	           WHERE account_id = @account_id AND livemode = @livemode
	             AND status IN ('needs_response', 'warning_needs_response')
	           LIMIT @most) open) AS disputes,
	       (SELECT count(*) FROM webhook_endpoints
	           WHERE account_id = @account_id AND livemode = @livemode AND failing_since IS NOT NULL
	             AND deleted_at IS NULL) AS endpoints,
	       (SELECT coalesce(max(violations), 0)::bigint FROM verifications) AS violations`

const selectStuck = `
	SELECT state, count(*) AS count FROM runs GROUP BY state ORDER BY state`

func (s *Server) overview(r *http.Request) (*ui.Page, error) {
	of, err := s.env.Scope(r)
	if err != nil {
		return nil, err
	}
	page := overviewPage{AccountID: of.AccountID}
	if page.Proof, err = s.facts.get(r.Context()); err != nil {
		return nil, err
	}
	if page.Balances, err = sales.Balances(s.env, r, of); err != nil {
		return nil, err
	}
	if page.Payments, err = sales.Latest(s.env, r, of, 8); err != nil {
		return nil, err
	}
	if page.Stuck, err = ui.Read[stuck](r.Context(), s.Pool, selectStuck, nil); err != nil {
		return nil, err
	}
	wanting, err := ui.Read[wanting](r.Context(), s.Pool, selectWanting,
		of.Args(postgres.Args{"most": mostWanting}))
	if err != nil {
		return nil, err
	}
	page.Wanting = wanting[0]
	volume, err := s.chart(r, of)
	if err != nil {
		return nil, err
	}
	page.Chart, page.Default = volume.shown(), volume.Default()
	return ui.List(of, "dashboard/overview", "overview", "Overview", page), nil
}
