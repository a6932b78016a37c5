package dashboard_test

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/process"
)

// payDaily lets a worker make the day's automatic payout, and returns its id.
func (s *env) payDaily(t *testing.T, config process.Config) (id string) {
	t.Helper()
	_, err := s.db.Pool.Exec(t.Context(), `INSERT INTO payout_schedules (account_id, livemode, frequency, since)
		SELECT id, false, 'daily', current_date FROM accounts`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- process.Work(ctx, config) }()
	deadline := time.Now().Add(5 * time.Minute)
	for s.count(t, "SELECT count(*) FROM payouts WHERE status <> 'new'") == 0 {
		if time.Now().After(deadline) {
			t.Fatalf("the worker made no payout: %s", s.log)
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := s.db.Pool.QueryRow(t.Context(), "SELECT id FROM payouts").Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestAPayoutListsWhatItPaysOut(t *testing.T) {
	t.Parallel()
	var config process.Config
	s := newEnv(t, "", func(c *process.Config) { config = *c })
	want := map[string]bool{}
	for range 26 { // one more than a page has
		want[s.charge(t, "source", "tok_bypassPending")] = true
	}
	refunded := s.charge(t, "source", "tok_bypassPending")
	want[refunded] = true
	refund := s.post(t, "/v1/refunds", url.Values{"charge": {refunded}, "amount": {"300"}},
		"Authorization", "Bearer "+s.key)
	want[regexp.MustCompile(`re_\w+`).FindString(refund.body)] = true
	pending := s.charge(t)
	id := s.payDaily(t, config)

	row := regexp.MustCompile(`(?s)<tr data-key="txn_.*?</tr>`)
	source := regexp.MustCompile(`data-label="Source">.*?((?:ch|re)_\w+)`)
	seen := map[string]bool{}
	path := "/dashboard/payouts/" + id
	for pages := 0; path != ""; pages++ {
		p := s.get(t, path)
		if p.status != http.StatusOK || pages > 1 {
			t.Fatalf("page %d was answered %d: %s", pages, p.status, s.log)
		}
		if strings.Contains(p.body, `data-label="Available"`) || !strings.Contains(p.body, `data-label="Created"`) {
			t.Error("a movement shows that it is available, which all are, or not when it was created")
		}
		for _, r := range row.FindAllString(p.body, -1) {
			if found := source.FindStringSubmatch(r); found == nil || seen[found[1]] || !want[found[1]] {
				t.Errorf("this row belongs to no movement of the payout, or repeats one: %s", r)
			} else {
				seen[found[1]] = true
			}
		}
		older := regexp.MustCompile(`href="([^"]*before=[^"]*)"`).FindStringSubmatch(p.body)
		if path = ""; older != nil {
			path = strings.ReplaceAll(older[1], "&amp;", "&")
		}
	}
	if len(seen) != len(want) || seen[pending] {
		t.Errorf("%d movements are listed, want %d; the pending charge is among them: %t", len(seen), len(want),
			seen[pending])
	}

	manual := s.post(t, "/v1/payouts", url.Values{"amount": {"100"}, "currency": {"usd"}},
		"Authorization", "Bearer "+s.key)
	if manual.status == http.StatusOK {
		t.Fatal("the automatic payout left something available")
	}
	s.charge(t, "source", "tok_bypassPending")
	manual = s.post(t, "/v1/payouts", url.Values{"amount": {"100"}, "currency": {"usd"}},
		"Authorization", "Bearer "+s.key)
	p := s.get(t, "/dashboard/payouts/"+regexp.MustCompile(`po_\w+`).FindString(manual.body))
	if !strings.Contains(p.body, "Only an automatic payout lists its transactions.") || row.MatchString(p.body) {
		t.Errorf("the page of a manual payout lists movements, or does not say why not: %s", p.body)
	}
}

func TestAFormChangesThePayoutSchedule(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	schedule := func() (text string) {
		t.Helper()
		err := s.db.Pool.QueryRow(t.Context(), `SELECT coalesce((SELECT frequency || ' ' || days::text
			FROM payout_schedules WHERE NOT livemode), 'none')`).Scan(&text)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	key := regexp.MustCompile(`name="key" value="(dashboard-schedule-[^"]+)"`)
	p := s.get(t, "/dashboard/balance")
	found := key.FindStringSubmatch(p.body)
	if found == nil || !strings.Contains(p.body, "Paid out manually") {
		t.Fatalf("the page has no schedule to change: %s", p.body)
	}
	csrf := hidden(t, p, "csrf")
	weekly := url.Values{"csrf": {csrf}, "key": {found[1]}, "frequency": {"weekly"}, "weekday": {"monday", "thursday"}}
	for range 2 { // sent twice
		s.post(t, "/dashboard/balance/schedule", weekly)
	}
	if got := schedule(); got != "weekly {1,4}" {
		t.Errorf("the schedule is %s", got)
	}
	if n := s.count(t, `SELECT count(*) FROM audit_events
		WHERE operation = 'balance_settings.update' AND actor LIKE 'dashboard%'`); n != 1 {
		t.Errorf("%d audit rows name a person, want 1", n)
	}
	if p = s.get(t, "/dashboard/balance"); !strings.Contains(p.body, "Paid out weekly: Monday, Thursday") {
		t.Errorf("the page does not say the schedule: %s", p.body)
	}
	for _, wrong := range []url.Values{
		{"frequency": {"weekly"}}, {"frequency": {"monthly"}, "days": {"1, 32"}}, {"frequency": {"hourly"}},
	} {
		wrong.Set("csrf", csrf)
		wrong.Set("key", "dashboard-schedule-"+wrong.Get("frequency")+wrong.Get("days"))
		s.post(t, "/dashboard/balance/schedule", wrong)
		if got := schedule(); got != "weekly {1,4}" {
			t.Errorf("%v made the schedule %s", wrong, got)
		}
	}
}
