package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestSearchingTexts(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	jenny := s.create(t, "customer", 1, "name", "Jenny Rosen", "email", "jenny@example.com").path
	s.create(t, "customer", 1, "name", "Nora Jennings", "description", "100% wool")
	sledge := s.create(t, "product", 1, "name", "Red sledge", "amount", "20", "currency", "usd").path
	charge := s.charge(t, "description", "Order 6735")
	intent := s.create(t, "payment", 1, "amount", "20", "currency", "usd", "card", "visa", "capture_method",
		"automatic", "description", "Order 6736").path

	for words, want := range map[string]string{
		"rosen":         jenny,
		"JENNY@EXAMPLE": jenny,
		"sledge":        sledge,
		"order 6735":    "/dashboard/payments/" + charge,
		"r 6736":        intent,
	} {
		t.Run("one match opens: "+words, func(t *testing.T) {
			if p := s.get(t, "/dashboard/search?q="+url.QueryEscape(words)); p.path != want {
				t.Errorf("it led to %s, want %s", p.path, want)
			}
		})
	}
	t.Run("customers are found by a part of their email or name, in any case", func(t *testing.T) {
		for text, want := range map[string]int{"JENNY@example": 1, "jen": 2, "Jenny@Example.com": 1,
			"jenny@example.com": 1, "nobody": 0, "J_nny": 0} {
			at := "?email=" + url.QueryEscape(text)
			list := s.get(t, "/dashboard/customers"+at)
			file := s.get(t, "/dashboard/customers.csv"+at)
			if got := len(rows(list)); got != want || strings.Count(file.body, "\n") != want+1 {
				t.Errorf("%q finds %d customers, and the file has %s", text, got, file.body)
			}
			if want == 0 {
				requireWords(t, list, `href="/dashboard/search?q=`+url.QueryEscape(text)+`"`)
			}
		}
	})
	t.Run("more than one are listed, with their texts", func(t *testing.T) {
		p := s.get(t, "/dashboard/search?q=jen")
		if !strings.Contains(p.body, "Jenny Rosen, jenny@example.com") || !strings.Contains(p.body, "Nora Jennings") {
			t.Errorf("the page shows %s", p.body)
		}
	})
	t.Run("a sign of a pattern stands for itself", func(t *testing.T) {
		p := s.get(t, "/dashboard/search?q="+url.QueryEscape("0%"))
		if !strings.HasPrefix(p.path, "/dashboard/customers/") {
			t.Errorf("it led to %s", p.path)
		}
		if p := s.get(t, "/dashboard/search?q="+url.QueryEscape("Jenn_")); !strings.Contains(p.body, "No results") {
			t.Error("a character matched any other")
		}
	})
}

// A buyer who pays on a checkout page is no customer of the account.
func TestSearchingABuyer(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	at := s.create(t, "link", 1, "name", "Sledge", "amount", "15", "currency", "usd", "quantity", "1", "success_url",
		"https://shop.example/thanks").path
	_, err := s.db.Pool.Exec(t.Context(), `UPDATE checkout_sessions
		SET customer_details = '{"name": "Anna Berg", "email": "anna@example.com"}'`)
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"anna berg", "anna@example"} {
		p := s.get(t, "/dashboard/search?q="+url.QueryEscape(words))
		if p.path != at {
			t.Errorf("%q led to %s, want %s", words, p.path, at)
		}
		requireWords(t, p, "Anna Berg", "anna@example.com")
	}
}

func TestSearchingWhileTyping(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	s.create(t, "customer", 1, "name", "Jenny Rosen")
	twenty := s.charge(t, "amount", "2000", "currency", "usd")
	yen := s.charge(t, "amount", "2000", "currency", "jpy")
	order := s.intent(t, "metadata[order_id]", "A-77")
	s.create(t, "product", 1, "name", "Customer badge", "amount", "30", "currency", "usd")

	list := func(words string) string {
		return s.get(t, "/dashboard/search?part=yes&q="+url.QueryEscape(words)).body
	}
	for words, want := range map[string]string{
		"jenny":       "Jenny Rosen",
		twenty:        "/dashboard/payments/" + twenty,
		"$20":         "/dashboard/payments/" + twenty,
		"20.00 usd":   "/dashboard/payments/" + twenty,
		"2,000 jpy":   "/dashboard/payments/" + yen,
		"a-77":        "/dashboard/payments/" + order,
		"4242":        "/dashboard/payments?last4=4242",
		"new payment": "/dashboard/new/payment",
		"chargebacks": "/dashboard/disputes",
		"":            "/dashboard/new/product",
	} {
		t.Run("it lists and does not lead away: "+words, func(t *testing.T) {
			if found := list(words); !strings.Contains(found, want) || strings.Contains(found, "<nav") {
				t.Errorf("%q found %s", words, found)
			}
		})
	}
	t.Run("an amount is of the currency that stands beside it", func(t *testing.T) {
		if found := list("20 eur"); strings.Contains(found, "/dashboard/payments/") {
			t.Errorf("it found %s", found)
		}
		if found := list("2000"); !strings.Contains(found, yen) || strings.Contains(found, twenty) {
			t.Errorf("2000 found %s", found)
		}
	})
	t.Run("a page's name does not lead away if an object has it, too", func(t *testing.T) {
		p := s.get(t, "/dashboard/search?q=customer")
		if p.path != "/dashboard/search" || !strings.Contains(p.body, "Customer badge") ||
			!strings.Contains(p.body, "New customer") {
			t.Errorf("it led to %s", p.path)
		}
	})
	t.Run("an amount that is no number finds nothing", func(t *testing.T) {
		for _, words := range []string{"1,2,3.4567", "99999999999999999999 usd", "20.00.00", "'; --"} {
			if p := s.get(t, "/dashboard/search?part=yes&q="+url.QueryEscape(words)); p.status != 200 {
				t.Errorf("%q answers %d", words, p.status)
			}
		}
	})
}

func TestResolvingAHeldRequest(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	s.charge(t)
	const request = "req_held"
	_, err := s.db.Pool.Exec(t.Context(), `
		WITH asked AS (
			INSERT INTO requests SELECT account_id, $1, livemode, 'held', false, method, path, fingerprint,
				fingerprint_version, params, context, flow, version, now() FROM requests
			RETURNING account_id, id, flow, version)
		INSERT INTO runs (account_id, request_id, flow, version, state, recovery_points, reached_at, reached_epochs,
			state_data, reason)
		SELECT account_id, id, flow, version, 'needs_review', '{charge_recorded}', ARRAY[now()], '{1}', '{}', 'why'
		FROM asked`, request)
	if err != nil {
		t.Fatal(err)
	}
	at := "/dashboard/requests/" + request
	p := s.get(t, at)
	if !strings.Contains(p.body, "Needs a decision.") {
		t.Fatalf("the inspector does not offer a decision: %s", p.body)
	}
	if strings.Contains(p.body, at+"/release") {
		t.Error("the inspector offers to release a request without an open call")
	}
	csrf := hidden(t, p, "csrf")
	p = s.post(t, at+"/release", url.Values{"csrf": {csrf}, "evidence": {"Ticket 4711"}, "sure": {"yes"}})
	if p.status != http.StatusOK || !strings.Contains(p.body, "Retry the request: the next call uses a new one.") {
		t.Errorf("a request without an open call was released: %d %s", p.status, p.body)
	}
	if _, err := s.db.Pool.Exec(t.Context(), `
		UPDATE runs SET call_phases = '{acquirer_charged}', call_generations = '{1}', call_keys = '{k}',
			call_sent_at = ARRAY[now()], call_attempts = '{1}'
		WHERE request_id = $1`, request); err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{at, "/dashboard/idempotency"} {
		if p := s.get(t, page); !strings.Contains(p.body, at+"/release") {
			t.Errorf("%s does not offer to release a request whose call has an unknown outcome", page)
		}
	}
	p = s.post(t, at+"/resume", url.Values{"csrf": {csrf}, "reason": {" "}})
	if !strings.Contains(p.body, "Enter a reason.") ||
		s.count(t, `SELECT count(*) FROM runs WHERE state = 'needs_review'`) != 1 {
		t.Error("a held request was resumed without a reason")
	}
	p = s.post(t, at+"/resume", url.Values{"csrf": {csrf}, "reason": {"Ticket 4711"}})
	if !strings.Contains(p.body, "The request will be retried now.") {
		t.Errorf("it was answered: %s", p.body)
	}
	if n := s.count(t, `
		SELECT count(*) FROM audit_events
		WHERE operation = 'request.resume' AND details LIKE '%Ticket 4711%'`); n != 1 {
		t.Errorf("%d rows of the audit trail bear the reason, want 1", n)
	}
}
