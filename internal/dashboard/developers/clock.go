package developers

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

// clock is a test clock: it moves its account's test mode ahead in time.
type clock struct {
	ID         string
	Name       *string
	Status     string
	StartedAt  time.Time
	FrozenTime time.Time
	CreatedAt  time.Time
}

// Ahead is how far the clock was moved, in days and hours.
func (c clock) Ahead() string { return spoken(c.FrozenTime.Sub(c.StartedAt)) }

// spoken writes a time span in days and hours: 1 day 3 hours.
func spoken(d time.Duration) string {
	said := ""
	for _, part := range []struct {
		n    int
		unit string
	}{{int(d.Hours()) / 24, "day"}, {int(d.Hours()) % 24, "hour"}} {
		if part.n > 0 {
			said += fmt.Sprintf(" %d %s%s", part.n, part.unit, map[bool]string{true: "s"}[part.n > 1])
		}
	}
	return cmp.Or(strings.TrimSpace(said), "less than an hour")
}

const selectClocks = `
	SELECT id, name, status, started_at, frozen_time, created_at FROM test_clocks
	WHERE account_id = @account_id AND livemode = @livemode AND deleted_at IS NULL
	ORDER BY id DESC LIMIT 100`

const selectTime = `
	SELECT account_time(@account_id, @livemode) AS now,
	       extract(epoch FROM account_ahead(@account_id, @livemode))::float8 AS ahead`

// dueEvents are the events of what the worker does when its time has come, and what the page calls each.
var dueEvents = map[string]string{
	"balance.available":        "Pending money became available",
	"charge.expired":           "Hold expired, and the amount was released",
	"checkout.session.expired": "Checkout session expired",
	"payout.created":           "Payout created by the schedule",
	"payout.failed":            "Payout failed",
	"payout.paid":              "Payout arrived at the bank",
	"payout.updated":           "Payout left for the bank",
}

// dueRow is one thing that became due when a clock was advanced.
type dueRow struct {
	EventID  string
	Type     string
	ObjectID string
	Amount   int64
	Currency string // "": the event is not about an amount
}

// Text says what happened.
func (d dueRow) Text() string { return dueEvents[d.Type] }

// Href is the page of the object.
func (d dueRow) Href() string { return cmp.Or(web.Href(d.ObjectID), "/dashboard/balance") }

// dueShown is how many of them the page lists.
const dueShown = 50

// selectDue reads what the worker has done since a clock was last advanced.
const selectDue = `
	SELECT e.id AS event_id, e.type, e.object_id, coalesce((e.data->'object'->>'amount')::bigint, 0) AS amount,
	       coalesce(e.data->'object'->>'currency', '') AS currency
	FROM events e JOIN requests r ON r.account_id = e.account_id AND r.id = e.request_id
	WHERE e.account_id = @account_id AND e.livemode = @livemode AND e.type = ANY (@types::text[])
	  AND e.id > (SELECT id FROM events
	      WHERE account_id = @account_id AND type = 'test_helpers.test_clock.advancing' ORDER BY id DESC LIMIT 1)
	  AND (r.method = 'JOB' OR r.path LIKE '/worker/%')
	ORDER BY e.id DESC LIMIT @limit`

type clockPage struct {
	Clocks   []clock
	Advanced bool // at least once
	Due      []dueRow
	Now      time.Time
	Ahead    float64 // seconds
	Livemode bool
	Key      string
}

// IsAhead is how far the account is, in days and hours, or "" where it is not.
func (p clockPage) IsAhead() string {
	if p.Ahead < 1 {
		return ""
	}
	return spoken(time.Duration(p.Ahead * float64(time.Second)))
}

func (s Pages) clock(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	page := clockPage{Livemode: of.Livemode, Key: ui.NewIdempotencyKey("clock")}
	if page.Clocks, err = ui.Read[clock](r.Context(), s.Pool, selectClocks, of.Args(nil)); err != nil {
		return nil, err
	}
	now, err := ui.Read[struct {
		Now   time.Time
		Ahead float64
	}](r.Context(), s.Pool, selectTime, of.Args(nil))
	if err != nil {
		return nil, err
	}
	page.Now, page.Ahead = now[0].Now, now[0].Ahead
	page.Advanced = slices.ContainsFunc(page.Clocks, func(c clock) bool { return c.FrozenTime.After(c.StartedAt) })
	if page.Advanced {
		page.Due, err = ui.Read[dueRow](r.Context(), s.Pool, selectDue,
			of.Args(postgres.Args{"types": slices.Sorted(maps.Keys(dueEvents)), "limit": dueShown}))
		if err != nil {
			return nil, err
		}
	}
	return ui.List(of, "dashboard/clock", "clock", "Test clock", page), nil
}

// postClock makes a clock that begins now.
func (s Pages) postClock(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	a, err := s.Call(r, of.AccountID, of.Livemode, http.MethodPost, "/v1/test_helpers/test_clocks",
		r.PostFormValue("key"),
		url.Values{"frozen_time": {strconv.FormatInt(time.Now().Unix(), 10)}, "name": {"Created in the dashboard"}})
	return ui.RespondTo(a, err, "Test clock created.", "/dashboard/clock")
}

// steps are how far one press of a button moves a clock, in seconds.
var steps = map[string]int64{"day": 24 * 3600, "week": 7 * 24 * 3600, "month": 30 * 24 * 3600}

const selectClock = `
	SELECT id, name, status, started_at, frozen_time, created_at FROM test_clocks
	WHERE account_id = @account_id AND id = @id`

// postAdvance moves a clock. The new time is reckoned from the one the page has
// shown, so a form that is sent twice moves it once.
func (s Pages) postAdvance(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	found, err := ui.Read[clock](r.Context(), s.Pool, selectClock,
		postgres.Args{"account_id": of.AccountID, "id": r.PathValue("id")})
	if err != nil {
		return nil, err
	}
	from, wrong := strconv.ParseInt(r.PostFormValue("from"), 10, 64)
	step := steps[r.PostFormValue("step")]
	if len(found) == 0 || step == 0 || wrong != nil {
		return nil, ui.ErrNotFound
	}
	a, err := s.Call(r, of.AccountID, of.Livemode, http.MethodPost,
		"/v1/test_helpers/test_clocks/"+found[0].ID+"/advance", r.PostFormValue("key")+"-"+r.PostFormValue("step"),
		url.Values{"frozen_time": {strconv.FormatInt(from+step, 10)}})
	return ui.RespondTo(a, err, "Test time advanced by "+spoken(time.Duration(step)*time.Second)+".",
		"/dashboard/clock")
}
