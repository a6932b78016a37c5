package customer

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// searched is a database in which one account has 100,000 customers, and another account has one with the same texts.
func searched(t *testing.T) *pgtest.DB {
	t.Helper()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), `
		INSERT INTO accounts (id, name) VALUES ('acct_1', 'Toboggans'), ('acct_2', 'Sledges')`)
	for first := 1; err == nil && first < 100_000; first += 5000 { // all at once would take longer than a statement may
		_, err = db.Pool.Exec(t.Context(), `
		INSERT INTO customers (account_id, id, livemode, request_id, invoice_prefix, created_at, name, email, phone,
		                       description, metadata, deleted_at)
		SELECT CASE WHEN n = 7 THEN 'acct_2' ELSE 'acct_1' END, 'cus_' || to_char(n, 'FM00000000'), n = 9, 'req_' || n,
		       'P' || n, now(),
		       CASE WHEN n < 20 THEN 'Zoë Quagmire' WHEN n % 20000 = 0 THEN 'Nora Xu' ELSE 'Jo' END,
		       'jo' || n || '@example.com',
		       CASE WHEN n % 40000 = 0 THEN '+49 30 4711' END,
		       CASE WHEN n = 30 THEN 'ÄRMEL 100% wool_' END,
		       CASE WHEN n % 25000 = 0 THEN json_build_object('tier', 'Line 1' || chr(10) || 'gold "24"', 'plain', 'x')
		           ELSE '{}' END,
		       CASE WHEN n = 8 THEN now() END
		FROM generate_series($1::int, $1 + 4999) n`, first)
	}
	if err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		if err := db.Pool.QueryRow(t.Context(), `SELECT search_index('acct_1', now(), 1600)`).Scan(&more); err != nil {
			t.Fatal(err)
		}
	}
	for _, settle := range []string{
		`SELECT gin_clean_pending_list('search_blocks_by_term')`, // each search reads that list, too
		`ANALYZE customers, search_blocks`,
	} {
		if _, err := db.Pool.Exec(t.Context(), settle); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// explainer passes statements on and notes how many blocks each of them reads, and by which plan.
type explainer struct {
	t      *testing.T
	db     *pgtest.DB
	blocks int
	plans  []string
}

func (e *explainer) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	var plan []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	named := args[len(args)-1]
	rows, err := e.db.Pool.Query(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+sql, pgx.QueryExecModeExec, named)
	if err != nil {
		return nil, err
	}
	text, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		return nil, err
	}
	e.blocks += plan[0].Plan.Hit + plan[0].Plan.Read
	e.plans = append(e.plans, text)
	return e.db.Pool.Query(ctx, sql, args...)
}

// search follows the pages of a search to its end, or to the tenth.
func search(t *testing.T, db *explainer, query string, limit int) (ids []string) {
	t.Helper()
	in := resource.Search{Query: query, Limit: form.Limit(limit)}
	for range 10 {
		found, err := SearchCustomers(t.Context(), db, resource.Principal{AccountID: "acct_1"}, in)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		page, err := resource.Tree(found)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range page["data"].([]any) {
			ids = append(ids, object.(map[string]any)["id"].(string))
		}
		if page["has_more"] != true {
			break
		}
		in.Page = page["next_page"].(string)
	}
	return ids
}

// few is how many blocks a search may read: of the newest thousand customers, and of the index for the 24 trigrams of
// an email address. The table has 1,900, and as many again for every 100,000 customers.
const few = 600

func TestSearchingTexts(t *testing.T) {
	t.Parallel()
	db := searched(t)

	// without is what a search finds that reads every row.
	without := func(t *testing.T, condition string) []string {
		t.Helper()
		rows, err := db.Pool.Query(t.Context(), `
			SELECT id FROM customers WHERE account_id = 'acct_1' AND NOT livemode AND deleted_at IS NULL
			  AND `+condition+`
			ORDER BY id DESC`)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	for query, c := range map[string]struct {
		condition string
		found     int
		indexed   bool
	}{
		`name~"quag"`:                              {`name ILIKE '%quag%'`, 16, true},
		`name:"zoë QUAGMIRE"`:                      {`name = 'Zoë Quagmire'`, 16, true},
		`name~"nora"`:                              {`name LIKE 'Nora%'`, 5, true},
		`email~"jo4711@"`:                          {`email = 'jo4711@example.com'`, 1, true},
		`email:"jo4711@example.com"`:               {`email = 'jo4711@example.com'`, 1, true},
		`email~"JO47110@EX"`:                       {`email = 'jo47110@example.com'`, 1, true},
		`email~"nobody"`:                           {`false`, 0, true},
		`phone~"4711"`:                             {`phone IS NOT NULL`, 2, true},
		`phone~"0 4"`:                              {`phone IS NOT NULL`, 2, true},
		`metadata["tier"]~"1\ngold"`:               {`false`, 0, true}, // \ escapes the letter n
		`metadata["tier"]~"GOLD \"24\""`:           {`metadata ->> 'tier' IS NOT NULL`, 4, true},
		`metadata["plain"]~"gold"`:                 {`false`, 0, true},
		`metadata["plain"]:"x"`:                    {`metadata ->> 'plain' = 'x'`, 4, true},
		`name~"nora" AND phone~"4711"`:             {`name LIKE 'Nora%' AND phone IS NOT NULL`, 2, true},
		`name~"nora" -phone~"4711"`:                {`name LIKE 'Nora%' AND phone IS NULL`, 3, true},
		`name~"quag" OR phone~"4711"`:              {`(name LIKE 'Zo%' OR phone IS NOT NULL)`, 18, true},
		`name~"quag" OR metadata["plain"]:"x"`:     {`(name LIKE 'Zo%' OR metadata ->> 'plain' = 'x')`, 20, true},
		`name:"Nora Xu" OR -email~"jo" OR name:""`: {`name = 'Nora Xu'`, -1, false}, // a part of two letters is refused
	} {
		t.Run("are found as without an index: "+query, func(t *testing.T) {
			t.Parallel()
			if c.found < 0 {
				_, err := SearchCustomers(t.Context(), db.Pool, resource.Principal{AccountID: "acct_1"},
					resource.Search{Query: query, Limit: 10})
				if err == nil || !strings.Contains(err.Error(), "at least 3 characters") {
					t.Errorf("the error is %v", err)
				}
				return
			}
			asked := &explainer{t: t, db: db}
			found, want := search(t, asked, query, 4), without(t, c.condition)
			if !slices.Equal(found, want) || len(found) != c.found {
				t.Errorf("it found %v, want %v", found, want)
			}
			plans := strings.Join(asked.plans, "\n")
			if strings.Contains(plans, "search_found") != c.indexed {
				t.Errorf("the index is used, or is not:\n%s", plans)
			}
		})
	}

	t.Run("a rare word reads the newest rows and those that contain it", func(t *testing.T) {
		t.Parallel()
		for query, found := range map[string]int{
			`name~"quagmire"`: 16, `email:"jo4711@example.com"`: 1, `email~"nobody"`: 0,
		} {
			asked := &explainer{t: t, db: db}
			if ids := search(t, asked, query, 100); len(ids) != found {
				t.Errorf("%s found %v", query, ids)
			}
			if asked.blocks > few {
				t.Errorf("%s read %d blocks, more than %d:\n%s", query, asked.blocks, few,
					strings.Join(asked.plans, "\n"))
			}
		}
	})

	t.Run("a frequent word fills the page from the newest rows, without the index", func(t *testing.T) {
		t.Parallel()
		asked := &explainer{t: t, db: db}
		found, err := SearchCustomers(t.Context(), asked, resource.Principal{AccountID: "acct_1"},
			resource.Search{Query: `email~"example.com"`, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(found.(resource.SearchObject).Data); n != 100 || len(asked.plans) != 4 || asked.blocks > few {
			t.Errorf("%d of 100 were found by %d statements, which read %d blocks", n, len(asked.plans), asked.blocks)
		}
	})

	t.Run("are counted by the index", func(t *testing.T) {
		t.Parallel()
		asked := &explainer{t: t, db: db}
		n, err := resource.CountMatches(t.Context(), asked, resource.Principal{AccountID: "acct_1"},
			searchableCustomers, `name~"quagmire"`)
		if err != nil || n != 16 || asked.blocks > few {
			t.Errorf("%d were counted, and %d blocks read: %v", n, asked.blocks, err)
		}
	})
}

// A row is found by its present texts, before the worker has indexed them again and afterwards.
func TestSearchingChangedTexts(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	do := func(sql string) {
		t.Helper()
		if _, err := db.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	do(`INSERT INTO accounts (id, name) VALUES ('acct_1', 'Toboggans')`)
	do(`INSERT INTO customers (account_id, id, livemode, request_id, invoice_prefix, created_at, name, metadata)
		SELECT 'acct_1', 'cus_' || to_char(n, 'FM00000000'), false, 'req_' || n, 'P' || n, now(),
		       CASE WHEN n = 7 THEN 'Red Sleeve' END, CASE WHEN n = 7 THEN '{"a":"\u00e9clair"}' ELSE '{}' END::json
		FROM generate_series(1, 2000) n`)
	index := func() {
		t.Helper()
		for more := true; more; {
			err := db.Pool.QueryRow(t.Context(), `SELECT search_index('acct_1', now(), 320)`).Scan(&more)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	index()
	for i, step := range []struct {
		sql   string
		finds map[string]int
	}{
		{`SELECT`, map[string]int{`name~"RED sl"`: 1, `metadata["a"]~"CLAIR"`: 1,
			`metadata["a"]:"éCLAIR"`: 1, `name~"kragen"`: 0}},
		{`UPDATE customers SET name = 'Kragen' WHERE id = 'cus_00000007'`,
			map[string]int{`name~"RED sl"`: 0, `name~"kragen"`: 1,
				`name:"KRAGEN"`: 1, `metadata["a"]~"CLAIR"`: 1}},
		{`UPDATE customers SET name = NULL, metadata = '{}' WHERE id = 'cus_00000007'`,
			map[string]int{`name~"kragen"`: 0, `metadata["a"]~"CLAIR"`: 0}},
		{`UPDATE customers SET metadata = '{"b":"x"}' WHERE id = 'cus_00000009'`, map[string]int{`metadata["b"]:"x"`: 1,
			`metadata["a"]:"x"`: 0}},
		{`UPDATE customers SET deleted_at = now() WHERE id = 'cus_00000009'`, map[string]int{`metadata["b"]:"x"`: 0}},
	} {
		do(step.sql)
		for _, when := range []string{"before", "after"} {
			for query, want := range step.finds {
				asked := &explainer{t: t, db: db}
				if found := search(t, asked, query, 10); len(found) != want {
					t.Errorf("step %d, %s it is indexed: %s found %v", i, when, query, found)
				}
			}
			index()
		}
	}
	var stale, rows int
	err := db.Pool.QueryRow(t.Context(), `
		SELECT (SELECT count(*) FROM search_changes), (SELECT count(*) FROM search_blocks b JOIN search_ids i
		    ON i.account_id = b.account_id AND i.kind = b.kind AND i.id > b.after_id AND i.id <= b.last_id)`).
		Scan(&stale, &rows)
	if err != nil || stale != 0 || rows != 2000/32*32 {
		t.Errorf("%d changes are left, and the blocks have %d rows: %v", stale, rows, err)
	}
	var left bool
	err = db.Pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM search_blocks
		WHERE terms && search_terms('acct_1', 'customers', ARRAY['kragen', 'éclair'], '{}', '{}'))`).Scan(&left)
	if err != nil || left {
		t.Errorf("the index has a text that is no more: %v", err)
	}
}
