package dashboard_test

import (
	"encoding/csv"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/id"
)

func TestSelectedPayments(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	first := s.charge(t, "amount", "2000")
	second := s.charge(t, "amount", "5000", "currency", "eur")
	third := s.charge(t, "amount", "7000")
	held := s.charge(t, "amount", "900", "capture", "false")
	picked := url.Values{"selected": {first, second, held}}.Encode()

	t.Run("the file has the checked payments and no others", func(t *testing.T) {
		p := s.get(t, "/dashboard/payments/selected.csv?"+picked)
		rows, err := csv.NewReader(strings.NewReader(p.body)).ReadAll()
		if err != nil || len(rows) != 4 || strings.Contains(p.body, third) {
			t.Errorf("%v: %s", err, p.body)
		}
		requireWords(t, s.get(t, "/dashboard/payments/selected.csv"), "Check the payments first.")
	})

	t.Run("a refund is asked for first, and then each payment is refunded once, however often the form is sent",
		func(t *testing.T) {
			asked := s.get(t, "/dashboard/payments/selected?"+picked)
			requireWords(t, asked, "Refund 2 payments?", "€50.00 and $20.00", "Can’t be refunded")
			requireWords(t, s.get(t, "/dashboard/payments/selected?selected="+held), "No payment to refund")
			if n := s.count(t, `SELECT count(*) FROM refunds`); n != 0 {
				t.Fatalf("%d refunds before the form was sent", n)
			}
			sent := url.Values{
				"csrf":            {hidden(t, asked, "csrf")},
				"key":             {hidden(t, asked, "key")},
				"selected":        {first, second, held},
				"amount_" + first: {hidden(t, asked, "amount_"+first)},
				// what a crash or an impatient reader repeats is the same form
				"amount_" + second: {hidden(t, asked, "amount_"+second)},
			}
			for range 2 {
				p := s.post(t, "/dashboard/payments/selected", sent)
				if n := strings.Count(p.body, `<td data-label="Result"><span class="badge good">`); n != 2 {
					t.Errorf("%d payments are said to be refunded: %s", n, p.body)
				}
				requireWords(t, p, "Nothing was left to refund.")
			}
			if n := s.count(t, `SELECT count(*) FROM refunds`); n != 2 {
				t.Errorf("there are %d refunds, want 2", n)
			}
			const keys = `SELECT count(DISTINCT key) FROM requests WHERE key LIKE 'dashboard-refunds-%'`
			if n := s.count(t, keys); n != 2 {
				t.Errorf("there are %d keys, want one for each payment", n)
			}
		})

	t.Run("a payment that is refunded in part meanwhile is not refunded beyond what is left", func(t *testing.T) {
		asked := s.get(t, "/dashboard/payments/selected?"+url.Values{"selected": {third}}.Encode())
		s.api(t, "/v1/refunds", "charge", third, "amount", "1000")
		p := s.post(t, "/dashboard/payments/selected", url.Values{"csrf": {hidden(t, asked, "csrf")},
			"key": {hidden(t, asked, "key")}, "selected": {third}, "amount_" + third: {"7000"}})
		requireWords(t, p, "greater than unrefunded amount")
	})
}

func TestDatesOfLists(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	today := time.Now().UTC()
	for range 30 {
		s.charge(t)
	}
	// An ID begins with its time. A charge of the first day of this test's calendar is made by giving one an old ID.
	old := today.AddDate(0, 0, -10)
	name := "ch_" + id.EncodeTime(old) + "0000000000000000"
	const insertOld = `
		INSERT INTO charges (account_id, id, livemode, request_id, amount, currency, status, card, created_at)
		SELECT account_id, $1, livemode, 'req_old', 4711, currency, 'pending', card, $2 FROM charges LIMIT 1`
	if _, err := s.db.Pool.Exec(t.Context(), insertOld, name, old); err != nil {
		t.Fatal(err)
	}
	day := func(days int) string { return today.AddDate(0, 0, days).Format(time.DateOnly) }
	for query, want := range map[string]int{
		"from=" + day(0):                        25,
		"from=" + day(-6):                       25,
		"to=" + day(-1):                         1,
		"from=" + day(-10) + "&to=" + day(-10):  1,
		"from=" + day(-9) + "&to=" + day(-1):    0,
		"from=" + day(-11) + "&to=" + day(-11):  0,
		"from=" + day(-20) + "&state=succeeded": 25,
		"from=nonsense":                         25,
	} {
		if got := len(rows(s.get(t, "/dashboard/payments?"+query))); got != want {
			t.Errorf("%s has %d rows, want %d", query, got, want)
		}
	}

	t.Run("pages stay within the days, in both directions", func(t *testing.T) {
		p := s.get(t, "/dashboard/payments?from="+day(0))
		older := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(p.body)
		p = s.get(t, strings.ReplaceAll(older[1], "&amp;", "&"))
		if n := len(rows(p)); n != 5 || strings.Contains(p.body, `rel="next"`) {
			t.Errorf("the second page has %d rows, want the 5 that are left, and no third page", n)
		}
		newer := regexp.MustCompile(`href="([^"]+)" rel="prev"`).FindStringSubmatch(p.body)
		if n := len(rows(s.get(t, strings.ReplaceAll(newer[1], "&amp;", "&")))); n != 25 {
			t.Errorf("the way back has %d rows", n)
		}
	})

	t.Run("the file has the days of the list", func(t *testing.T) {
		if n := strings.Count(s.get(t, "/dashboard/payments.csv?to="+day(-1)).body, "\n"); n != 2 {
			t.Errorf("the file has %d lines, want a head and one payment", n)
		}
		if n := strings.Count(s.get(t, "/dashboard/events.csv?to="+day(-1)).body, "\n"); n != 1 {
			t.Errorf("the file has %d lines, want only a head", n)
		}
	})

	t.Run("a day that cannot be read is named", func(t *testing.T) {
		requireWords(t, s.get(t, "/dashboard/events?from=nonsense"), "“nonsense” isn’t a date.")
	})
}

func TestViews(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	s.charge(t)
	save := func(t *testing.T, address, name string, more ...string) page {
		t.Helper()
		form := url.Values{"csrf": {hidden(t, s.get(t, "/dashboard/new/customer"), "csrf")}, "address": {address},
			"name": {name}}
		for i := 0; i < len(more); i += 2 {
			form.Set(more[i], more[i+1])
		}
		return s.post(t, "/dashboard/views", form)
	}
	p := save(t, "/dashboard/payments?state=failed&min=20&before=ch_x", "  Large   declines ")
	requireWords(t, p, "View saved in this browser.",
		`href="/dashboard/payments?min=20&amp;state=failed" aria-current="true">Large declines<`)
	requireWords(t, s.get(t, "/dashboard/payments"), ">Large declines<")
	if p := s.get(t, "/dashboard/events"); strings.Contains(p.body, "Large declines") {
		t.Error("another list has the view")
	}

	t.Run("saving a name again replaces its view", func(t *testing.T) {
		p := save(t, "/dashboard/payments?state=refunded", "Large declines")
		if n := strings.Count(p.body, ">Large declines<"); n != 1 {
			t.Errorf("there are %d views of that name", n)
		}
	})

	t.Run("a view leads only to a list of the dashboard", func(t *testing.T) {
		for _, address := range []string{"https://evil.example/", "//evil.example/dashboard/payments",
			"/dashboard/login", "/dashboard/payments/../../evil"} {
			if p := save(t, address, "Bad"); p.status != 404 {
				t.Errorf("%s was answered %d", address, p.status)
			}
		}
	})

	t.Run("a view without a name, and one too many, are refused", func(t *testing.T) {
		requireWords(t, save(t, "/dashboard/payments?state=failed", " "), "Enter a name")
		for n := range 25 {
			p = save(t, "/dashboard/payments?min="+strings.Repeat("1", 1+n), "View "+strings.Repeat("x", n))
		}
		requireWords(t, p, "too many views")
	})

	t.Run("a view is removed", func(t *testing.T) {
		p := save(t, "/dashboard/payments?state=refunded", "Large declines", "forget", "yes")
		if strings.Contains(p.body, ">Large declines<") {
			t.Error("the view is still there")
		}
	})
}
