package dashboard_test

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/test/statements"
)

// bulkSessions makes one session in live mode and 6000 in test mode, whose IDs sort behind it.
func bulkSessions(t *testing.T, s *env) (live string) {
	t.Helper()
	s.api(t, "/v1/checkout/sessions", "mode", "payment", "success_url", "http://127.0.0.1/paid",
		"line_items[0][price_data][currency]", "usd", "line_items[0][price_data][unit_amount]", "1500",
		"line_items[0][price_data][product_data][name]", "Sledge", "line_items[0][quantity]", "1",
		"client_reference_id", "Order 6735")
	live = "cs_live_00000001"
	_, err := s.db.Pool.Exec(t.Context(), `
		INSERT INTO checkout_sessions
		SELECT r.* FROM checkout_sessions one CROSS JOIN (
			SELECT $1::text AS id, true AS livemode
			UNION ALL
			SELECT 'cs_test_' || to_char(n, 'FM00000000'), false FROM generate_series(1, 6000) n) v
		CROSS JOIN LATERAL jsonb_populate_record(NULL::checkout_sessions,
			to_jsonb(one) || jsonb_build_object('id', v.id, 'livemode', v.livemode)) r`, live)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.db.Pool.Exec(t.Context(), `INSERT INTO api_keys (id, account_id, livemode, kind, hash, display)
		VALUES ('key_live', 'acct_1', true, 'secret', sha256('live'), 'sk_live')`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Pool.Exec(t.Context(), `ANALYZE checkout_sessions`); err != nil {
		t.Fatal(err)
	}
	return live
}

func TestSessionsOfOneMode(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	live := bulkSessions(t, s)
	csrf := hidden(t, s.get(t, "/dashboard/checkout"), "csrf")
	s.post(t, "/dashboard/scope", url.Values{"csrf": {csrf}, "scope": {"acct_1.live"}, "back": {"/dashboard"}})

	t.Run("the first page of a filtered list has it", func(t *testing.T) {
		p := s.get(t, "/dashboard/checkout?state=open")
		if got := rows(p); !slices.Equal(got, []string{live}) || strings.Contains(p.body, "Searched") {
			t.Errorf("the page has %v: %s", got, p.body)
		}
	})
	t.Run("the search finds it", func(t *testing.T) {
		if p := s.get(t, "/dashboard/search?q=order+6735"); p.path != "/dashboard/checkout/"+live {
			t.Errorf("it led to %s", p.path)
		}
	})
	all, err := statements.Find("../..", "internal/dashboard")
	if err != nil {
		t.Fatal(err)
	}
	args := pgx.StrictNamedArgs{"account_id": "acct_1", "livemode": true}
	for name, more := range map[string]pgx.StrictNamedArgs{
		"search.go:selectTexts":          {"pattern": "%sledge%", "words": "sledge", "over": 10_000, "blocks": 300},
		"sales/links.go:selectVisits":    {"id": "plink_1", "over": 10_000},
		"sales/checkout.go:sessionsDown": {"state": "", "before": "", "edge": "", "limit": 26},
		"sales/checkout.go:sessionsUp":   {"state": "", "after": "", "edge": "~~~~", "limit": 26},
	} {
		t.Run("the other mode's are not read by "+name, func(t *testing.T) {
			of := func(s statements.Statement) bool { return s.Name == "internal/dashboard/"+name }
			at := slices.IndexFunc(all, of)
			maps.Copy(more, args)
			plan := s.db.Plan(t, all[at].SQL, more)
			if !strings.Contains(plan, `(id > 'cs_live_'::text) AND (id < 'cs_live_~'::text)`) {
				t.Errorf("the plan is\n%s", plan)
			}
		})
	}
}
