package textindex_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/catalog"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/textindex"
	"github.com/ratchet-pay/ratchet/test/statements"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const charges = 60_000

// filled is a database with many charges, payment intents and prices of one account, which the worker has indexed, and
// one of each of another account with the same texts.
func filled(t *testing.T) *pgtest.DB {
	t.Helper()
	db := pgtest.New(t)
	do := func(sql string, args ...any) {
		t.Helper()
		if _, err := db.Pool.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	do(`INSERT INTO accounts (id, name) VALUES ('acct_1', 'Toboggans'), ('acct_2', 'Sledges')`)
	for first := 1; first < charges; first += 5000 {
		do(`INSERT INTO charges (account_id, id, livemode, request_id, amount, currency, status, failure_code,
		        customer_id, card, description, metadata, created_at)
		    SELECT CASE WHEN n = 90 THEN 'acct_2' ELSE 'acct_1' END, 'ch_' || to_char(n, 'FM00000000'), false,
		           'req_' || n, CASE WHEN n = 70 THEN 123456 ELSE 2000 END,
		           CASE WHEN n = 71 THEN 'jpy' ELSE 'usd' END, 'failed',
		           'card_declined', CASE WHEN n = 72 THEN 'cus_72' END,
		           json_build_object('brand', 'visa', 'last4', CASE WHEN n = 73 THEN '0005' ELSE '4242' END,
		               'fingerprint', 'fp' || n % 1000, 'address_zip', CASE WHEN n = 74 THEN '94110' END),
		           CASE WHEN n IN (75, 90) THEN 'A sledge' ELSE 'A mug' END,
		           json_build_object('order_id', 'A-' || md5(CASE WHEN n = 90 THEN '75' ELSE n::text END)), now()
		    FROM generate_series($1::int, $1 + 4999) n`, first)
	}
	do(`INSERT INTO payment_intents (account_id, id, livemode, request_id, amount, currency, status, client_secret,
	        description, metadata, customer_id, capture_method, confirmation_method,
	        payment_method_types, payment_method_options, created_at)
	    SELECT account_id, 'pi_' || substr(id, 4), false, request_id, amount, currency, 'requires_payment_method', 'x',
	           description, metadata, customer_id, 'automatic', 'automatic', '{card}', '{}', created_at
	    FROM charges`)
	do(`INSERT INTO products (account_id, id, livemode, request_id, name, active, images, marketing_features, metadata,
	        created_at, updated_at)
	    SELECT id, 'prod_1', false, 'req_1', 'Mug', true, '{}', '[]', '{}', now(), now() FROM accounts`)
	do(`INSERT INTO prices (account_id, id, livemode, request_id, product_id, active, currency, unit_amount, lookup_key,
	        metadata, tax_behavior, created_at)
	    SELECT account_id, 'price_' || substr(id, 4), false, request_id, 'prod_1', true, currency, amount,
	           'Key ' || substr(id, 4), metadata, 'unspecified', created_at
	    FROM charges`)
	x := textindex.New(db.Pool)
	indexed := 0
	for tries := 0; tries < 600; tries++ { // the first rounds wait for transactions, also those of other tests
		steps, err := x.Index(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if indexed += steps; steps == 0 && indexed > 0 {
			break
		}
		if steps == 0 {
			time.Sleep(50 * time.Millisecond)
		}
	}
	do(`UPDATE prices SET lookup_key = 'Moved' WHERE id = 'price_00000079'`)
	do(`SELECT gin_clean_pending_list('search_blocks_by_term')`)
	do(`ANALYZE charges, payment_intents, prices, search_blocks, search_changes`)
	return db
}

// explainer passes statements on and notes how many blocks of the disk each of them reads, and by which plan.
type explainer struct {
	phase.Reader
	pages int
	plans []string
}

func (e *explainer) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	rows, err := e.Reader.Query(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+sql, pgx.QueryExecModeExec,
		args[len(args)-1])
	if err != nil {
		return nil, err
	}
	text, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	var plan []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		return nil, err
	}
	e.pages += plan[0].Plan.Hit + plan[0].Plan.Read
	e.plans = append(e.plans, text)
	return e.Reader.Query(ctx, sql, args...)
}

// few is how many pages a search and its count may read, or a search of the dashboard in all kinds: the newest thousand
// rows, the index, and some blocks of rows. A table has more than 2,400, and as many again for every 60,000 rows. The
// prices have fewer. The tests' database has no entries that the index has not sorted in yet: each look into the index
// reads up to 128 pages of them (gin_pending_list_limit), and how many there are depends on autovacuum.
const few = 1000

func TestSearchesReadFewRowsOfManyCharges(t *testing.T) {
	t.Parallel()
	db := filled(t)
	t.Run("the dashboard's search", func(t *testing.T) { dashboardSearches(t, db) })
	search := map[string]func(context.Context, phase.Reader, resource.Principal, resource.Search) (any, error){
		"ch": payment.SearchCharges, "pi": payment.SearchPaymentIntents, "price": catalog.SearchPrices,
	}
	order := `"A-d09bf41544a3365a46c9077ebb5e35c3"` // md5 of 75
	for _, c := range []struct {
		query string
		of    string
		found []int
	}{
		{`metadata["order_id"]:` + order, "ch pi price", []int{75}},
		{`metadata["order_id"]:` + order + ` AND amount>100`, "ch pi", []int{75}},
		{`metadata["order_id"]~"09BF41544A"`, "ch pi price", []int{75}},
		{`metadata["order_id"]~"nothing"`, "ch pi price", nil},
		{`metadata["other"]:` + order, "ch pi", nil},
		{`amount:123456`, "ch pi", []int{70}},
		{`currency:"jpy"`, "ch pi price", []int{71}},
		{`lookup_key:"KEY 00000077"`, "price", []int{77}},
		{`lookup_key:"none"`, "price", nil},
		{`lookup_key:"moved"`, "price", []int{79}},
		{`lookup_key:"key 00000079"`, "price", nil},
		{`product:"none"`, "price", nil},
		{`active:'true' AND lookup_key:"key 00000078"`, "price", []int{78}},
		{`customer:"cus_72"`, "ch pi", []int{72}},
		{`customer:"cus_none"`, "ch pi", nil},
		{`payment_method_details.card.last4:0005`, "ch", []int{73}},
		{`payment_method_details.card.brand:"amex"`, "ch", nil},
		{`payment_method_details.card.fingerprint:"none"`, "ch", nil},
		{`billing_details.address.postal_code:"94110"`, "ch", []int{74}},
		{`amount:123456 OR customer:"cus_72" OR metadata["order_id"]:` + order, "ch pi", []int{75, 72, 70}},
		{`-currency:"usd" AND currency:"jpy"`, "ch pi", []int{71}},
	} {
		for _, kind := range strings.Fields(c.of) {
			t.Run(kind+" "+c.query, func(t *testing.T) {
				t.Parallel()
				asked := &explainer{Reader: db.Pool}
				found, err := search[kind](t.Context(), asked, resource.Principal{AccountID: "acct_1"},
					resource.Search{Query: c.query, Limit: form.Limit(10), Expand: form.Expand{"total_count"}})
				if err != nil {
					t.Fatal(err)
				}
				page, err := resource.Tree(found)
				if err != nil {
					t.Fatal(err)
				}
				var got, want []string
				for _, object := range page["data"].([]any) {
					got = append(got, object.(map[string]any)["id"].(string))
				}
				for _, n := range c.found {
					want = append(want, fmt.Sprintf("%s_%08d", kind, n))
				}
				counted := fmt.Sprint(page["total_count"])
				if strings.Join(got, " ") != strings.Join(want, " ") || counted != strconv.Itoa(len(want)) {
					t.Errorf("it found %v and counted %s, want %v", got, counted, want)
				}
				if asked.pages > few {
					t.Errorf("it read %d pages, more than %d:\n%s", asked.pages, few, strings.Join(asked.plans, "\n"))
				}
			})
		}
	}
}

// dashboardSearches finds the oldest payments with the statements of internal/dashboard/search.go.
func dashboardSearches(t *testing.T, db *pgtest.DB) {
	t.Parallel()
	all, err := statements.Find("../..", "internal/dashboard")
	if err != nil {
		t.Fatal(err)
	}
	sql := map[string]string{}
	for _, s := range all {
		sql[s.Name] = s.SQL
	}
	text := func(words string) pgx.StrictNamedArgs {
		return pgx.StrictNamedArgs{"words": words, "pattern": "%" + words + "%"}
	}
	amount := func(units string) pgx.StrictNamedArgs {
		return pgx.StrictNamedArgs{"units": units, "currency": "", "whole": []string{"jpy"}, "mills": []string{"bhd"}}
	}
	for _, c := range []struct {
		statement string
		args      pgx.StrictNamedArgs
		found     string
	}{
		{"selectTexts", text("09BF41544A"), "ch_00000075 pi_00000075"}, // of md5 of 75
		{"selectTexts", text("a sledge"), "ch_00000075 pi_00000075"},
		{"selectTexts", text("nothing"), ""},
		{"selectAmounts", amount("1234.56"), "ch_00000070 pi_00000070"},
		{"selectAmounts", amount("1234.5"), ""},
	} {
		t.Run(fmt.Sprint(c.statement, c.args), func(t *testing.T) {
			asked := &explainer{Reader: db.Pool}
			args := pgx.StrictNamedArgs{"account_id": "acct_1", "livemode": false, "over": 10_000, "blocks": 300}
			maps.Copy(args, c.args)
			rows, err := asked.Query(t.Context(), sql["internal/dashboard/search.go:"+c.statement], args)
			if err != nil {
				t.Fatal(err)
			}
			found, err := pgx.CollectRows(rows, pgx.RowToMap)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, row := range found {
				ids = append(ids, row["id"].(string))
			}
			slices.Sort(ids)
			if got := strings.Join(ids, " "); got != c.found {
				t.Errorf("it found %s, want %s", got, c.found)
			}
			if asked.pages > few {
				t.Errorf("it read %d pages, more than %d:\n%s", asked.pages, few, asked.plans)
			}
		})
	}
}
