package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

type chartsPage struct {
	Charts []ui.Chart
}

// charts shows every chart for the period that the address names. Nothing refreshes this page,
// so its statements run only when a reader opens it.
func (s *Server) charts(r *http.Request) (*ui.Page, error) {
	of, err := s.env.Scope(r)
	if err != nil {
		return nil, err
	}
	volume, err := s.chart(r, of)
	if err != nil {
		return nil, err
	}
	webhooks, err := s.webhookChart(r, of)
	if err != nil {
		return nil, err
	}
	recovery, err := s.recoveryChart(r, of)
	if err != nil {
		return nil, err
	}
	return ui.List(of, "dashboard/charts", "charts", "Charts",
		chartsPage{[]ui.Chart{volume.shown(), webhooks, recovery}}), nil
}

// sent is how one day's webhook attempts ended.
type sent struct {
	Day          time.Time
	Tried        int64
	Acknowledged int64
}

// mark is how far the worker has counted an account.
type mark struct {
	ChargesBefore  string
	AttemptsBefore time.Time
}

const selectMark = `
	SELECT charges_before, greatest(attempts_before, '1970-01-01') AS attempts_before
	FROM counted WHERE account_id = @account_id`

// readCounted runs a statement that adds counted and uncounted rows. The mark between both comes from the same
// snapshot.
func readCounted[T any](
	ctx context.Context, pool *pgxpool.Pool, sql string, of ui.Scope, args func(mark) postgres.Args,
) (found []T, err error) {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, pool, options, func(tx pgx.Tx) error {
		marks, err := ui.ReadIn[mark](ctx, tx, selectMark, postgres.Args{"account_id": of.AccountID})
		if err != nil {
			return err
		}
		var m mark // of an account that was not counted yet
		if len(marks) > 0 {
			m = marks[0]
		}
		found, err = ui.ReadIn[T](ctx, tx, sql, of.Args(args(m)))
		return err
	})
	return found, err
}

// The sums are of webhook endpoints: attempts of the Stripe CLI are not counted.
const selectSent = `
	SELECT day::timestamp AS day, sum(tried)::bigint AS tried, sum(acknowledged)::bigint AS acknowledged
	FROM (
		SELECT day, tried, acknowledged FROM attempt_days
		WHERE account_id = @account_id AND livemode = @livemode AND day >= @first
		UNION ALL
		SELECT t.day, 1, t.acknowledged
		FROM attempts_to_count w JOIN attempt_counts t ON t.account_id = w.account_id AND t.event_id = w.event_id
		    AND t.endpoint_id = w.endpoint_id AND t.attempt = w.attempt
		WHERE w.account_id = @account_id AND t.livemode = @livemode AND t.day >= @first AND t.final
		UNION ALL
		SELECT day, 1, acknowledged FROM attempt_counts
		WHERE account_id = @account_id AND livemode = @livemode AND day >= @first AND final AND attempt > 0
		  AND started_at >= @attempts_from
	) all_attempts
	GROUP BY 1 ORDER BY 1`

func (s *Server) webhookChart(r *http.Request, of ui.Scope) (ui.Chart, error) {
	p := ui.PeriodOf(r)
	found, err := readCounted[sent](r.Context(), s.Pool, selectSent, of, func(m mark) postgres.Args {
		return postgres.Args{"first": p.Before(), "attempts_from": m.AttemptsBefore}
	})
	if err != nil {
		return ui.Chart{}, err
	}
	return drawSent(p, found), nil
}

// rate is a share in percent, with one digit, and never 100 unless it is all of them.
func rate(part, of int64) string {
	if of == 0 {
		return "–"
	}
	if part == of {
		return "100%"
	}
	return strconv.FormatFloat(min(float64(100*part)/float64(of), 99.9), 'f', 1, 64) + "%"
}

func drawSent(p ui.Period, found []sent) ui.Chart {
	days, now, before := map[string]sent{}, sent{}, sent{}
	for _, v := range found {
		sum := &now
		if v.Day.Before(p.First) {
			sum = &before
		}
		sum.Tried, sum.Acknowledged = sum.Tried+v.Tried, sum.Acknowledged+v.Acknowledged
		days[v.Day.Format(time.DateOnly)] = v
	}
	c := ui.Chart{
		ID:      "webhooks",
		Title:   "Webhook success",
		Chips:   [][]ui.Chip{p.Chips},
		Value:   rate(now.Acknowledged, now.Tried),
		About:   fmt.Sprintf("of %d attempts in %d days, UTC", now.Tried, p.Days),
		Axis:    [3]string{"100%", "50%", "0%"},
		Columns: []string{"Attempts", "Acknowledged", "Success"},
		Note: "An attempt succeeds if the endpoint answers with 2xx. A retry is another attempt. " +
			"Attempts to deleted endpoints are included.",
	}
	if before.Tried > 0 {
		c.About += fmt.Sprintf(" · %s in the %d days before", rate(before.Acknowledged, before.Tried), p.Days)
	}
	c.Label = fmt.Sprintf("Webhook success by day: %s of %d attempts in %d days.", c.Value, now.Tried, p.Days)
	for i := range p.Days {
		v := days[p.Day(i).Format(time.DateOnly)]
		b := ui.NewBar(i, p.Day(i), v.Acknowledged, v.Tried)
		b.Tip = b.Day + ": no attempts"
		if v.Tried > 0 {
			share := rate(v.Acknowledged, v.Tried)
			b.Tip = fmt.Sprintf("%s: %s, %d of %d attempts", b.Day, share, v.Acknowledged, v.Tried)
			b.Cells = []string{strconv.FormatInt(v.Tried, 10), strconv.FormatInt(v.Acknowledged, 10), share}
		}
		c.Bars = append(c.Bars, b)
	}
	return c
}

// recovered is how long the requests took that another process finished: of one day, or of a
// whole period if there is no day.
type recovered struct {
	Day    *time.Time
	Recent bool // in the period that is shown, not in the one before
	Count  int64
	P50    int64 `db:"p50"` // milliseconds
	P99    int64 `db:"p99"`
}

// A request's ID begins with its time, so the primary key of the takeovers finds those of a
// period; only a crash makes a row. The clock starts at the last heartbeat of the process that
// was lost. A process that had only stalled is no crash: the fence refused it when it came back.
const selectRecovered = `
	SELECT c.day, c.recent, count(*) AS count,
	       percentile_disc(0.5) WITHIN GROUP (ORDER BY c.took_ms) AS p50,
	       percentile_disc(0.99) WITHIN GROUP (ORDER BY c.took_ms) AS p99
	FROM (
		SELECT date_trunc('day', t.at AT TIME ZONE 'UTC') AS day, t.at >= @since AS recent,
		       greatest(0, 1000 * extract(epoch FROM a.finished_at - (t.seen_until - @alive_for::interval)))::bigint
		       AS took_ms
		FROM takeovers t
		JOIN requests q ON q.account_id = t.account_id AND q.id = t.request_id AND q.livemode = @livemode
		JOIN answers a ON a.account_id = t.account_id AND a.request_id = t.request_id
		WHERE t.account_id = @account_id AND t.request_id >= @first_request AND t.at >= @first AND t.was = 'running'
		  AND t.seen_until IS NOT NULL
		  AND NOT EXISTS (SELECT FROM fence_refusals f
		                  WHERE f.account_id = t.account_id AND f.request_id = t.request_id AND f.epoch = t.epoch)
	) c
	GROUP BY GROUPING SETS ((c.day, c.recent), (c.recent))
	ORDER BY c.day, c.recent`

func (s *Server) recoveryChart(r *http.Request, of ui.Scope) (ui.Chart, error) {
	p := ui.PeriodOf(r)
	found, err := ui.Read[recovered](r.Context(), s.Pool, selectRecovered, of.Args(postgres.Args{
		"since": p.First, "first": p.Before(), "alive_for": idempotency.AliveFor,
		"first_request": "req_" + id.EncodeTime(p.Before().AddDate(0, 0, -1))}))
	if err != nil {
		return ui.Chart{}, err
	}
	return drawRecovered(p, found), nil
}

// seconds writes milliseconds for people.
func seconds(ms int64) string {
	if ms < 1000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return strconv.FormatFloat(float64(ms)/1000, 'f', 1, 64) + " s"
}

func drawRecovered(p ui.Period, found []recovered) ui.Chart {
	days, top := map[string]recovered{}, int64(0)
	var now, before recovered
	for _, v := range found {
		switch {
		case v.Day == nil && v.Recent:
			now = v
		case v.Day == nil:
			before = v
		case v.Recent:
			days[v.Day.Format(time.DateOnly)], top = v, max(top, v.P99)
		}
	}
	top = ui.RoundUp(top, 1000)
	c := ui.Chart{
		ID:      "recovery",
		Title:   "From crash to response",
		Chips:   [][]ui.Chip{p.Chips},
		Value:   "–",
		About:   fmt.Sprintf("No process crashed during a request in %d days, UTC", p.Days),
		Axis:    [3]string{seconds(top), seconds(top / 2), "0 s"},
		Columns: []string{"Recovered", "Median", "99th percentile"},
		Note: "From the last heartbeat of the process that crashed to the response that another process committed. " +
			"The dark part of a bar is the median, and the light part reaches the 99th percentile.",
	}
	if now.Count > 0 {
		c.Value = seconds(now.P50)
		noun := "requests"
		if now.Count == 1 {
			noun = "request"
		}
		c.About = fmt.Sprintf("median, %s at the 99th percentile, of %d recovered %s in %d days, UTC",
			seconds(now.P99), now.Count, noun, p.Days)
	}
	if before.Count > 0 {
		c.About += fmt.Sprintf(" · %s and %s in the %d days before", seconds(before.P50), seconds(before.P99), p.Days)
	}
	c.Label = "Time from crash to response by day: " + c.Value + ", " + c.About + "."
	for i := range p.Days {
		v := days[p.Day(i).Format(time.DateOnly)]
		b := ui.NewBar(i, p.Day(i), v.P50, top)
		b.Raise(v.P99, top)
		b.Tip = b.Day + ": no crash"
		if v.Count > 0 {
			b.Tip = fmt.Sprintf("%s: median %s, 99th percentile %s, %d recovered", b.Day, seconds(v.P50),
				seconds(v.P99), v.Count)
			b.Cells = []string{strconv.FormatInt(v.Count, 10), seconds(v.P50), seconds(v.P99)}
		}
		c.Bars = append(c.Bars, b)
	}
	return c
}
