package event

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apiversion"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// filled is a database with many events of few types. Every hundredth has a rare type, and every thousandth could
// not be delivered to either endpoint.
func filled(t *testing.T) *pgtest.DB {
	t.Helper()
	db := pgtest.New(t)
	for _, sql := range []string{
		`INSERT INTO accounts (id, name) VALUES ('acct_1', 'Toboggans'), ('acct_2', 'Sledges')`,
		`INSERT INTO events (account_id, id, livemode, type, object_id, data, api_version, request_id,
			created_at)
		SELECT account, 'evt_' || to_char(n, 'FM00000000'), false,
		       CASE WHEN n % 100 = 0 THEN 'charge.refunded' WHEN n % 250 = 1 THEN 'charge_x.updated'
		            ELSE 'charge.succeeded' END,
		       'ch_' || n, '{}', '` + string(apiversion.Current) + `', 'req_' || account || n,
		       now() - n * interval '1 second'
		FROM generate_series(1, 6000) n, unnest('{acct_1,acct_2}'::text[]) account`,
		`INSERT INTO webhook_deliveries (account_id, event_id, endpoint_id, state, due_at, ended_at, created_at)
		SELECT account_id, id, endpoint, state, CASE state WHEN 'pending' THEN now() END,
		       CASE WHEN state <> 'pending' THEN now() END, created_at
		FROM (SELECT *, substr(id, 5)::integer AS n FROM events) e, unnest('{we_1,we_2}'::text[]) endpoint,
		     LATERAL (SELECT CASE WHEN n % 1000 = 0 THEN 'failed' WHEN n = 777 AND endpoint = 'we_2' THEN 'pending'
		         ELSE 'succeeded' END AS state) s`,
		// As autovacuum does: it never analyzes a partition without rows.
		`DO $$ BEGIN
			EXECUTE format('ANALYZE events_%1$s, webhook_deliveries_%1$s',
				to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM'));
		END $$`,
	} {
		if _, err := db.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func TestListEvents(t *testing.T) {
	t.Parallel()
	db := filled(t)
	shop := resource.Principal{AccountID: "acct_1"}

	t.Run("filters find what they name, in order, in pages", func(t *testing.T) {
		t.Parallel()
		yes, no := true, false
		for name, c := range map[string]struct {
			in   ListEventsParams
			kept func(n int) bool
		}{
			"a rare type":     {ListEventsParams{Type: "charge.refunded"}, func(n int) bool { return n%100 == 0 }},
			"an unknown type": {ListEventsParams{Type: "payout.paid"}, func(int) bool { return false }},
			"all types of a kind": {ListEventsParams{Type: "charge.*"},
				func(n int) bool { return n%100 == 0 || n%250 != 1 }},
			"two types": {ListEventsParams{Types: []string{"charge.refunded", "charge_x.updated"}},
				func(n int) bool { return n%100 == 0 || n%250 == 1 }},
			"not delivered": {ListEventsParams{DeliverySuccess: &no},
				func(n int) bool { return n%1000 == 0 || n == 777 }},
			"delivered": {ListEventsParams{DeliverySuccess: &yes},
				func(n int) bool { return n%1000 != 0 && n != 777 }},
			"a rare type that was not delivered": {ListEventsParams{Type: "charge.refunded", DeliverySuccess: &no},
				func(n int) bool { return n%1000 == 0 }},
			"a rare type that was delivered": {ListEventsParams{Type: "charge.refunded", DeliverySuccess: &yes},
				func(n int) bool { return n%1000 != 0 && n%100 == 0 }},
		} {
			var want []string
			for n := 6000; n > 0; n-- {
				if c.kept(n) {
					want = append(want, fmt.Sprintf("evt_%08d", n))
				}
			}
			want = want[:min(len(want), 25)]
			c.in.Limit = 10
			var got []string
			for len(got) < len(want)+1 {
				page := listed(t, db, shop, c.in)
				if len(page) == 0 {
					break
				}
				got = append(got, page...)
				c.in.StartingAfter = page[len(page)-1]
			}
			got = got[:min(len(got), 25)]
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
			if len(want) < 5 {
				continue
			}
			c.in.StartingAfter, c.in.EndingBefore = "", want[4]
			if back := listed(t, db, shop, c.in); !slices.Equal(back, want[:4]) {
				t.Errorf("%s, backwards: %v, want %v", name, back, want[:4])
			}
		}
	})

	t.Run("a rare type is read from its index, and what was not delivered from the deliveries", func(t *testing.T) {
		t.Parallel()
		for name, c := range map[string]struct{ sql, want string }{
			"a type":                   {listTyped, "events_of_a_type"},
			"a type, backwards":        {listTypedBackwards, "events_of_a_type"},
			"not delivered":            {listUndelivered, "undelivered_events"},
			"not delivered, backwards": {listUndeliveredBackwards, "undelivered_events"},
		} {
			args := pgx.StrictNamedArgs{"account_id": "acct_1", "livemode": false, "types": []string{"charge.refunded"},
				"before": resource.LastID, "after": resource.FirstID, "from": resource.FirstTime,
				"to": resource.LastTime, "limit": 11}
			if strings.Contains(c.sql, "@delivered") {
				args["delivered"] = false
			}
			plan := db.Plan(t, c.sql, args)
			if !strings.Contains(plan, c.want) || strings.Contains(plan, "Seq Scan on events") {
				t.Errorf("%s:\n%s", name, plan)
			}
			for line := range strings.Lines(plan) {
				if strings.Contains(line, "Index Cond:") && !strings.Contains(line, "id") {
					t.Errorf("%s, all events of the account are read:\n%s", name, plan)
				}
			}
		}
	})
}

func listed(t *testing.T, db *pgtest.DB, shop resource.Principal, in ListEventsParams) (ids []string) {
	t.Helper()
	list, err := ListEvents(t.Context(), db.Pool, shop, in)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list.(resource.ListObject).Data {
		ids = append(ids, e.(EventObject).ID)
	}
	return ids
}
