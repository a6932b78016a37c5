package dashboard_test

import (
	"net/url"
	"strings"
	"testing"
)

func TestSearchingTexts(t *testing.T) {
	t.Parallel()
	s := newStand(t, "")
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

func TestResolvingAHeldRequest(t *testing.T) {
	t.Parallel()
	s := newStand(t, "")
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
	csrf := hidden(t, p, "csrf")
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
