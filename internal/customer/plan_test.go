package customer

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// filled is a database in which one account has many customers.
func filled(t *testing.T) *pgtest.DB {
	t.Helper()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), `
		INSERT INTO accounts (id, name) VALUES ('acct_1', 'Toboggans');
		INSERT INTO customers (account_id, id, livemode, request_id, invoice_prefix, created_at)
		SELECT 'acct_1', 'cus_' || to_char(n, 'FM00000000'), false, 'req_c' || n, 'P' || n, now()
		FROM generate_series(1, 20000) n;
		ANALYZE customers, accounts`)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func TestPlans(t *testing.T) {
	t.Parallel()
	db := filled(t)

	t.Run("a page of customers is read in the order of the index of lists, and no further", func(t *testing.T) {
		t.Parallel()
		for name, sql := range map[string]string{"forwards": listCustomers, "backwards": listCustomersBackwards} {
			plan := db.Plan(t, sql, pgx.StrictNamedArgs{
				"account_id": "acct_1",
				"livemode":   false,
				"email":      (*string)(nil),
				"test_clock": (*string)(nil),
				"before":     resource.LastID,
				"after":      resource.FirstID,
				"from":       resource.FirstTime,
				"to":         resource.LastTime,
				"limit":      101,
			})
			if strings.Contains(plan, "Sort") || !strings.Contains(plan, "using customers_in_lists") {
				t.Errorf("%s, more than a page is read:\n%s", name, plan)
			}
		}
	})
}
