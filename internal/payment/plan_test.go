package payment

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// filled is a database in which one account has many held charges.
func filled(t *testing.T) *pgtest.DB {
	t.Helper()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), `
		INSERT INTO accounts (id, name) VALUES ('acct_1', 'Toboggans');
		INSERT INTO charges (account_id, id, livemode, request_id, amount, currency, status, capture_before, card,
		                     acquirer_reference, created_at)
		SELECT 'acct_1', 'ch_' || to_char(n, 'FM00000000'), false, 'req_h' || n, 2000, 'usd', 'succeeded',
		       now() + n * interval '1 minute', '{}', 'auth_' || n, now()
		FROM generate_series(1, 20000) n;
		ANALYZE charges, accounts, refunds, test_clocks`)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func TestPlans(t *testing.T) {
	t.Parallel()
	db := filled(t)

	t.Run("holds that lapse are found by their time", func(t *testing.T) {
		t.Parallel()
		plan := db.Plan(t, selectExpired, pgx.StrictNamedArgs{"limit": expiredAtOnce})
		if !strings.Contains(plan, "Index Cond: (capture_before < (statement_timestamp() + ") {
			t.Errorf("the index is not searched for what is due:\n%s", plan)
		}
	})

	t.Run("charges of a transfer group are found by it", func(t *testing.T) {
		t.Parallel()
		plan := db.Plan(t, listCharges, pgx.StrictNamedArgs{
			"account_id": "acct_1", "livemode": false, "customer_id": nil, "payment_intent": nil,
			"transfer_group": "order_1", "after": resource.FirstID, "before": resource.LastID,
			"from": resource.FirstTime, "to": resource.LastTime, "limit": 11,
		})
		if !strings.Contains(plan, "charges_of_a_transfer_group") {
			t.Errorf("the index of groups is not used:\n%s", plan)
		}
	})
}
