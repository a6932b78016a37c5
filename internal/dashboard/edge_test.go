package dashboard_test

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/test/statements"
)

var neighbor = regexp.MustCompile(`href="([^"]+)" rel="(prev|next)"`)

// neighbors are the addresses of the pages beside one, "prev" and "next".
func neighbors(p page) map[string]string {
	all := map[string]string{}
	for _, found := range neighbor.FindAllStringSubmatch(p.body, -1) {
		all[found[2]] = html.UnescapeString(found[1])
	}
	return all
}

// What few rows have is searched for in steps, so that no page reads all rows of an account.
func TestRareRowsAreSearchedForInSteps(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	charge := s.charge(t)
	_, err := s.db.Pool.Exec(t.Context(), `
		INSERT INTO charges (account_id, id, livemode, request_id, amount, currency, status, card, acquirer_reference,
		                     created_at)
		SELECT account_id, 'ch_' || to_char(n, 'FM00000000'), livemode, 'req_bulk' || n, 2000,
		       CASE WHEN n IN (3, 2490) THEN 'eur' ELSE 'usd' END, 'succeeded', card, 'auth_bulk' || n,
		       created_at
		FROM charges, generate_series(1, 2500) n WHERE id = $1`, charge)
	if err != nil {
		t.Fatal(err)
	}

	for name, c := range map[string]struct{ from, first, then, way, says string }{
		"downward": {"/dashboard/payments?currency=eur", "ch_00002490", "ch_00000003", "next",
			"Searched 2000 rows. “Older” continues."},
		"upward": {"/dashboard/payments?currency=eur&after=ch_00000001", "ch_00000003", "ch_00002490", "prev",
			"Searched 2000 rows. “Newer” continues."},
	} {
		t.Run(name, func(t *testing.T) {
			p := s.get(t, c.from)
			requireWords(t, p, c.says)
			if got := rows(p); !slices.Equal(got, []string{c.first}) {
				t.Fatalf("the page has %v, want %s", got, c.first)
			}
			p = s.get(t, neighbors(p)[c.way])
			if got := rows(p); !slices.Equal(got, []string{c.then}) || strings.Contains(p.body, "Searched") {
				t.Errorf("the page behind it has %v, want only %s", got, c.then)
			}
		})
	}
	t.Run("a file has all of them", func(t *testing.T) {
		file := s.get(t, "/dashboard/payments.csv?currency=eur").body
		if !strings.Contains(file, "ch_00002490,") || !strings.Contains(file, "ch_00000003,") {
			t.Errorf("the file is %s", file)
		}
	})
	t.Run("a file of many rows has each of them once", func(t *testing.T) {
		lines := strings.Split(strings.TrimSpace(s.get(t, "/dashboard/payments.csv?currency=usd").body), "\n")[1:]
		slices.Sort(lines)
		if many := len(lines); many != 2499 || len(slices.Compact(lines)) != many {
			t.Errorf("the file has %d rows, %d of them different", many, len(slices.Compact(lines)))
		}
	})
	t.Run("a page without a filter is full, and searches nothing", func(t *testing.T) {
		p := s.get(t, "/dashboard/payments")
		if got := rows(p); len(got) != 25 || strings.Contains(p.body, "Searched") {
			t.Errorf("the page has %d rows", len(got))
		}
	})
}

// A filter by card looks payment methods up one by one: read as a whole, they grow with the payments.
func TestAFilterByCardReadsNoPaymentMethods(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	s.intent(t, "confirm", "true", "payment_method", "pm_card_visa")
	_, err := s.db.Pool.Exec(t.Context(), `
		INSERT INTO payment_methods SELECT r.* FROM (SELECT * FROM payment_methods LIMIT 1) one,
			generate_series(1, 2500) n,
			jsonb_populate_record(NULL::payment_methods, to_jsonb(one) || jsonb_build_object('id', 'pm_' || n)) r;
		INSERT INTO payment_intents SELECT r.* FROM (SELECT * FROM payment_intents LIMIT 1) one,
			generate_series(1, 2500) n, jsonb_populate_record(NULL::payment_intents, to_jsonb(one) ||
				jsonb_build_object('id', 'pi_' || n, 'payment_method_id', 'pm_' || n)) r;
		ANALYZE payment_methods, payment_intents`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := statements.Find("../..", "internal/dashboard")
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(all,
		func(s statements.Statement) bool {
			return s.Name == "internal/dashboard/sales/payments.go:paymentsDown"
		})
	plan := s.db.Plan(t, all[at].SQL, pgx.StrictNamedArgs{"account_id": "acct_1", "livemode": false, "before": "",
		"edge": "", "limit": 26, "state": "", "customer": "", "brand": "amex", "ends_in": "", "currency": "",
		"least": nil, "most": nil, "whole": []string{"jpy"}, "mills": []string{"kwd"}, "crashed": false})
	if strings.Contains(plan, "Seq Scan on payment_methods") || !strings.Contains(plan, "payment_methods_pkey") {
		t.Errorf("the plan is\n%s", plan)
	}
	if p := s.get(t, "/dashboard/payments?brand=amex"); p.status != 200 || len(rows(p)) != 0 {
		t.Errorf("the page has %v", rows(p))
	}
}

// A shop that holds cards first has many events that cause no email.
func TestEmailsAmongManyHolds(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	charge := s.charge(t)
	s.api(t, "/v1/refunds", "charge", charge, "amount", "500")
	_, err := s.db.Pool.Exec(t.Context(), `
		INSERT INTO events (account_id, id, livemode, type, data, api_version, request_id, idempotency_key, object_id,
		                    created_at)
		SELECT account_id, substr(id, 1, 12) || to_char(n, 'FM0000000000000000'), livemode, type,
		       jsonb_set(data::jsonb, '{object,captured}', to_jsonb(n IN (3, 2490)))::json, api_version,
		       'req_bulk' || n, idempotency_key, object_id, created_at
		FROM events, generate_series(1, 2500) n WHERE type = 'charge.succeeded' AND object_id = $1`, charge)
	if err != nil {
		t.Fatal(err)
	}
	email := regexp.MustCompile(`/dashboard/emails/(evt_\w+)`)
	subjects := func(p page) (all []string) {
		for _, found := range email.FindAllStringSubmatch(p.body, -1) {
			all = append(all, strings.TrimLeft(found[1][12:], "0"))
		}
		return all
	}
	newest := s.get(t, "/dashboard/emails")
	requireWords(t, newest, "Searched 2000 rows. “Older” continues.", "Your refund from Toboggans")
	if got := subjects(newest); len(got) != 3 || got[2] != "2490" {
		t.Errorf("the newest page has %v, want the refund, its charge, and 2490", got)
	}
	older := s.get(t, neighbors(newest)["next"])
	if got := subjects(older); !slices.Equal(got, []string{"3"}) {
		t.Errorf("the page behind it has %v, want only 3", got)
	}
	newer := s.get(t, neighbors(older)["prev"])
	requireWords(t, newer, "Searched 2000 rows. “Newer” continues.")
	newer = s.get(t, neighbors(newer)["prev"])
	if got := subjects(newer); len(got) != 3 || got[2] != "2490" {
		t.Errorf("upward, the last page has %v, want the three of the newest", got)
	}
}
