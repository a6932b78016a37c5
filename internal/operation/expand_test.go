package operation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// counted is a database that counts the queries it is asked.
type counted struct {
	phase.Reader
	queries int
}

func (c *counted) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	c.queries++
	return c.Reader.Query(ctx, sql, args...)
}

func TestExpandTakesOneQueryPerKindAndLevel(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), `
		INSERT INTO accounts (id, name) VALUES ('acct_1', 'Toboggans');
		INSERT INTO customers (account_id, id, livemode, request_id, invoice_prefix, created_at)
		SELECT 'acct_1', 'cus_' || to_char(n, 'FM000'), false, 'req_c' || n, 'P' || n, now()
		FROM generate_series(1, 100) n;
		INSERT INTO charges (account_id, id, livemode, request_id, amount, currency, status, customer_id, card,
		                     acquirer_reference, created_at)
		SELECT 'acct_1', 'ch_' || to_char(n, 'FM000'), false, 'req_h' || n, 2000, 'usd', 'succeeded',
		       'cus_' || to_char(n, 'FM000'), '{}', 'auth_' || n, now()
		FROM generate_series(1, 100) n`)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		paths form.Expand
		want  int
	}{
		{nil, 1},
		{form.Expand{"data.customer"}, 2},
		{form.Expand{"data.customer.sources"}, 3},
		{form.Expand{"data.customer", "data.refunds"}, 3},
		{form.Expand{"data.customer.sources", "data.refunds", "data.balance_transaction"}, 4},
	} {
		t.Run(fmt.Sprint(test.paths), func(t *testing.T) {
			t.Parallel()
			reader := &counted{Reader: db.Pool}
			list, err := payment.ListCharges(t.Context(), reader, resource.Principal{AccountID: "acct_1"},
				payment.ListChargesParams{List: resource.List{Limit: 100, Expand: test.paths}})
			if err != nil {
				t.Fatal(err)
			}
			if reader.queries != test.want {
				t.Errorf("a list of 100 charges takes %d queries, want %d", reader.queries, test.want)
			}
			if test.paths == nil {
				return
			}
			encoded, err := json.Marshal(list)
			if err != nil {
				t.Fatal(err)
			}
			var shown struct {
				Data []struct {
					ID       string
					Customer struct{ ID string }
				}
			}
			if err := json.Unmarshal(encoded, &shown); err != nil || len(shown.Data) != 100 {
				t.Fatalf("%d charges were listed: %v", len(shown.Data), err)
			}
			for _, charge := range shown.Data {
				if charge.Customer.ID != "cus_"+charge.ID[len("ch_"):] {
					t.Errorf("%s shows the customer %q", charge.ID, charge.Customer.ID)
				}
			}
		})
	}
}
