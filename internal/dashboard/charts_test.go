package dashboard_test

import (
	"net/url"
	"strings"
	"testing"
)

// What a worker would have written is inserted here: this test is about what the page makes of it.
const (
	send = `
	INSERT INTO webhook_attempts (account_id, event_id, endpoint_id, attempt, started_at, ended_at, status)
	SELECT d.account_id, d.event_id, d.endpoint_id, a.n, clock_timestamp() - a.ago, clock_timestamp(), a.status
	FROM webhook_deliveries d
	JOIN events e ON e.account_id = d.account_id AND e.id = d.event_id AND e.type = 'charge.succeeded'
	JOIN charges c ON c.account_id = e.account_id AND c.id = e.object_id AND c.amount = 2000
	CROSS JOIN (VALUES (1, interval '0', 500), (2, interval '0', 204), (3, interval '8 days', 200),
	                   (4, interval '100 days', 500)) AS a (n, ago, status)`

	crash = `
	INSERT INTO takeovers (account_id, request_id, epoch, at, was, point, lost_by, seen_until, owner)
	SELECT a.account_id, a.request_id, 2, clock_timestamp() - $1::interval, 'running', a.recovery_points[1], 'w_1',
	       a.finished_at - $2::interval, 'w_2'
	FROM answers a JOIN charges c ON c.account_id = a.account_id AND c.request_id = a.request_id
	WHERE c.amount = $3`
)

func TestCharts(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	s.api(t, "/v1/webhook_endpoints", "url", "https://books.example/hook", "enabled_events[]", "*")
	for _, amount := range []string{"2000", "3000", "4000"} {
		s.api(t, "/v1/charges", "amount", amount, "currency", "usd", "source", "tok_visa")
	}
	empty := s.get(t, "/dashboard/charts")
	requireWords(t, empty, "of 0 attempts in 7 days", "No process crashed during a request in 7 days")
	run := func(sql string, args ...any) {
		t.Helper()
		if done, err := s.db.Pool.Exec(t.Context(), sql, args...); err != nil || done.RowsAffected() == 0 {
			t.Fatal(done, err)
		}
	}
	run(send)
	run(crash, "0", "1 s", 2000)      // the last heartbeat was a second before: two seconds in all
	run(crash, "0", "9 s", 3000)      // ten
	run(crash, "8 days", "4 s", 4000) // five, in the week before

	t.Run("webhooks are counted by attempt, and compared with the period before", func(t *testing.T) {
		p := s.get(t, "/dashboard/charts")
		requireWords(t, p, "50.0%", "of 2 attempts in 7 days", "100% in the 7 days before", "50.0%, 1 of 2 attempts")
		if got := strings.Count(p.body, `<rect class="day"`); got != 3*7 {
			t.Errorf("three charts have %d days, want 21", got)
		}
	})

	t.Run("recovery is the median and the 99th percentile of the requests that another process finished",
		func(t *testing.T) {
			requireWords(t, s.get(t, "/dashboard/charts"), "2.0 s",
				"10.0 s at the 99th percentile, of 2 recovered requests",
				"5.0 s and 5.0 s in the 7 days before", `class="above"`)
		})

	t.Run("a month is one period", func(t *testing.T) {
		p := s.get(t, "/dashboard/charts?"+url.Values{"days": {"30"}}.Encode())
		requireWords(t, p, "of 3 attempts in 30 days", "66.7%", "of 3 recovered requests in 30 days")
	})

	t.Run("what the worker has counted is shown once", func(t *testing.T) {
		for _, again := range []string{"before", "after"} {
			p := s.get(t, "/dashboard/charts?days=30")
			requireWords(t, p, "of 3 attempts in 30 days", "66.7%", "$90.00", "100% of charges approved (3 of 3)")
			requireWords(t, s.get(t, "/dashboard"), "$90.00")
			if t.Failed() {
				t.Fatalf("%s the count", again)
			}
			run(`SELECT count_charges(id, 'ch_z', 2), count_charges(id, 'ch_z', 2), count_attempts(id, now(), 2),
			            count_attempts(id, now(), 2) FROM accounts`)
		}
	})

	t.Run("a process that came back did not crash", func(t *testing.T) {
		run(`INSERT INTO fence_refusals (account_id, request_id, epoch)
			SELECT account_id, request_id, epoch FROM takeovers WHERE at > clock_timestamp() - interval '1 day'`)
		requireWords(t, s.get(t, "/dashboard/charts"), "No process crashed during a request in 7 days",
			"5.0 s and 5.0 s in the 7 days before")
	})
}
