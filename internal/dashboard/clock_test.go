package dashboard_test

import (
	"net/url"
	"strings"
	"testing"
)

func TestWhatBecameDue(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	const at = "/dashboard/clock"
	if strings.Contains(s.get(t, at).body, "Just became due") {
		t.Error("without a clock, something became due")
	}
	dated := []string{"/dashboard/balance", "/dashboard/payouts", "/dashboard/disputes"}
	for _, path := range dated {
		if strings.Contains(s.get(t, path).body, " data-ahead>") {
			t.Errorf("%s leaves relative times out without a clock", path)
		}
	}
	s.post(t, at, url.Values{"csrf": {hidden(t, s.get(t, at), "csrf")}, "key": {"clock"}})
	form := s.get(t, at)
	_, id, _ := strings.Cut(form.body, `action="/dashboard/clock/`)
	id, _, _ = strings.Cut(id, `"`)
	p := s.post(t, at+"/"+id, url.Values{"csrf": {hidden(t, form, "csrf")}, "key": {"advance"},
		"from": {hidden(t, form, "from")}, "step": {"week"}})
	requireWords(t, p, "Test time advanced by 7 days.", "Just became due", "Nothing yet.")
	for _, path := range dated {
		requireWords(t, s.get(t, path), " data-ahead>")
	}

	// What the worker does later, and what a client does, which did not become due.
	_, err := s.db.Pool.Exec(t.Context(), `
		WITH asked AS (
			INSERT INTO requests SELECT account_id, w.id, livemode, w.id, true, w.method, w.path, fingerprint,
				fingerprint_version, params, context, flow, version, now()
			FROM (SELECT * FROM requests LIMIT 1) r, (VALUES ('req_job', 'JOB', 'payout.arrive'),
				('req_expiry', 'POST', '/worker/charges/ch_1/expire'), ('req_client', 'POST', '/v1/payouts')
				) w (id, method, path)
			RETURNING account_id, id),
		ended AS (
			INSERT INTO answers (account_id, request_id, status, headers, body, recovery_points, reached_at,
				reached_epochs, finished_at, expires_at)
			SELECT a.account_id, q.id, a.status, a.headers, a.body, a.recovery_points, a.reached_at, a.reached_epochs,
			       a.finished_at, a.expires_at
			FROM (SELECT * FROM answers LIMIT 1) a CROSS JOIN asked q)
		INSERT INTO events (account_id, id, livemode, type, object_id, data, api_version, request_id, created_at)
		SELECT account_id, 'evt_z' || v.type, false, v.type, v.object, v.data::json, api_version, v.request, now()
		FROM (SELECT * FROM events LIMIT 1) e, (VALUES
			('payout.paid', 'po_1', '{"object": {"amount": 1250, "currency": "usd"}}', 'req_job'),
			('balance.available', 'acct_1', '{"object": {}}', 'req_job'),
			('charge.expired', 'ch_1', '{"object": {"amount": 700, "currency": "usd"}}', 'req_expiry'),
			('customer.created', 'cus_1', '{"object": {}}', 'req_job'),
			('payout.created', 'po_2', '{"object": {"amount": 9999, "currency": "usd"}}', 'req_client')
			) v (type, object, data, request)`)
	if err != nil {
		t.Fatal(err)
	}
	p = s.get(t, at)
	requireWords(t, p, "Payout arrived at the bank", "$12.50", `href="/dashboard/payouts/po_1"`,
		"Pending money became available", `href="/dashboard/balance"`, "Hold expired, and the amount was released",
		"$7.00")
	for _, other := range []string{"cus_1", "po_2"} {
		if strings.Contains(p.body, other) {
			t.Errorf("%s did not become due", other)
		}
	}
}
