package main

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/test/statements"
)

func TestWalk(t *testing.T) {
	t.Parallel()
	p := &planner{growing: growth{"charges": 10_000}}
	scan := func(cost float64, filter string) node {
		return node{Type: "Index Scan", Relation: "charges", Index: "charges_pkey", Total: cost, Filter: filter}
	}
	// Ten thousand rows, each with a subquery that costs 8.5.
	withSubquery := func(n node) node {
		n.Rows, n.Plans = 10_000, []node{{Type: "Index Scan", Relation: "takeovers", Relative: "SubPlan", Total: 8.5}}
		return n
	}
	for name, c := range map[string]struct {
		plan     node
		found    bool
		filtered bool
	}{
		"one row by its key": {scan(8, ""), false, false},
		"all rows":           {scan(10_000, ""), true, false},
		"all rows, sorted, and then a page of them": {node{Type: "Limit", Total: 9_000,
			Plans: []node{{Type: "Sort", Startup: 9_000, Total: 9_100, Plans: []node{scan(9_000, "")}}}}, true, false},
		"a page in the order of an index": {node{Type: "Limit", Total: 10, Plans: []node{scan(10_000,
			"")}}, false, false},
		"a page in that order, of rows that pass a test": {node{Type: "Limit", Total: 10, Plans: []node{scan(10_000,
			"(email = 'a')")}}, true, true},
		"a page in that order, of one mode": {node{Type: "Limit", Total: 10, Plans: []node{scan(10_000,
			"(NOT livemode)")}}, false, false},
		"a page of all times": {node{Type: "Limit", Total: 10, Plans: []node{scan(10_000,
			"((NOT livemode) AND (created_at >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (created_at "+
				"< '9999-01-01 00:00:00+00'::timestamp with time zone))")}}, false, false},
		"a page from long ago": {node{Type: "Limit", Total: 10, Plans: []node{scan(10_000,
			"((NOT livemode) AND (created_at < '2026-01-01 00:00:00+00'::timestamp with time zone))")}}, true, true},
		"few rows, each with a look at another table": {withSubquery(scan(86_000, "")), false, false},
		"all rows, each with a look at another table": {withSubquery(scan(95_000, "")), true, false},
		"a filter that looks at another table":        {withSubquery(scan(86_000, "(SubPlan 1)")), true, false},
		"all rows of a page that is large": {node{Type: "Limit", Total: 9_000, Rows: 9_000,
			Plans: []node{scan(10_000, "")}}, true, false},
		"a page that is large, but always the same": {node{Type: "Limit", Total: 9_000, Rows: 5_000,
			Plans: []node{scan(10_000, "")}}, false, false},
		"such a page of rows that pass a test": {node{Type: "Limit", Total: 9_000, Rows: 5_000,
			Plans: []node{scan(10_000, "(email = 'a')")}}, true, false},
		"such a page of rows that pass a test above the scan": {node{Type: "Limit", Total: 9_000, Rows: 5_000,
			Plans: []node{{Type: "Subquery Scan", Filter: "(x.email = 'a')", Total: 10_000,
				Plans: []node{scan(10_000, "")}}}}, true, false},
		"all of a table that does not grow": {node{Type: "Seq Scan", Relation: "points", Total: 10_000},
			false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := p.scans([]node{c.plan}, variant{}, severalPages)
			if (len(found) > 0) != c.found || c.found && (found[0].Filter != "") != c.filtered {
				t.Errorf("found %+v", found)
			}
		})
	}
}

// TestListsFromLongAgo plans lists of a table that has sixty days of rows in it.
func TestListsFromLongAgo(t *testing.T) {
	t.Parallel()
	p := plannerOfThings(t, "")
	const page = ` ORDER BY id DESC LIMIT @limit`
	for name, c := range map[string]struct {
		sql   string
		reads bool
	}{
		"a bound on the ID keeps newer rows out": {
			`SELECT id FROM things WHERE account_id = @account_id AND livemode = @livemode AND id < @before
			   AND id > @after AND created_at >= @from AND created_at < @to` + page, false},
		"so it does in the other direction": {
			`SELECT id FROM things WHERE account_id = @account_id AND livemode = @livemode AND id < @before
			   AND id > @after AND created_at >= @from AND created_at < @to ORDER BY id LIMIT @limit`, false},
		"a join changes nothing": {
			`SELECT id FROM things t JOIN LATERAL (SELECT count(*) FROM accounts a WHERE a.id = t.account_id) a ON true
			 WHERE account_id = @account_id AND id < @before
			   AND id > @after AND created_at >= @from AND created_at < @to` + page, false},
		"without that bound, all newer rows are read": {
			`SELECT id, @before || @after FROM things WHERE account_id = @account_id AND created_at >= @from
			   AND created_at < @to` + page, true},
		"a bound that no index is searched with does not count": {
			`SELECT id FROM things WHERE account_id = @account_id AND id || '' < @before AND id > @after
			   AND created_at >= @from AND created_at < @to` + page, true},
		"another filter may refuse all older rows": {
			`SELECT id FROM things WHERE account_id = @account_id AND id < @before
			   AND id > @after AND created_at >= @from AND created_at < @to AND note = 'rare'` + page, true},
		"a sort reads them all": {
			`SELECT id FROM things WHERE account_id = @account_id AND id < @before
			   AND id > @after AND created_at >= @from AND created_at < @to ORDER BY note LIMIT @limit`, true},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := p.plan(t.Context(), statements.Statement{Name: name, SQL: c.sql})
			if err != nil {
				t.Fatal(err)
			}
			if (len(found) > 0) != c.reads {
				t.Errorf("found %+v", found)
			}
		})
	}
}

// TestPartitions plans statements of a table with two months of rows, and a third that has only begun.
func TestPartitions(t *testing.T) {
	t.Parallel()
	day := func(n int) string { return "'th_" + id.EncodeTime(time.Now().AddDate(0, 0, n)) + "'" }
	p := plannerOfThings(t, "PARTITION BY RANGE (id); "+
		"CREATE TABLE things_1 PARTITION OF things FOR VALUES FROM ('') TO ("+day(-35)+"); "+
		"CREATE TABLE things_2 PARTITION OF things FOR VALUES FROM ("+day(-35)+") TO ("+day(-5)+"); "+
		"CREATE TABLE things_3 PARTITION OF things FOR VALUES FROM ("+day(-5)+") TO ('~')")
	p.values["second"], p.values["third"] = day(-35), day(-5)
	for name, c := range map[string]struct {
		sql   string
		reads bool
	}{
		"a page": {`SELECT id FROM things WHERE account_id = @account_id ORDER BY id DESC LIMIT @limit`, false},
		"a page that is large, but always the same": {
			`SELECT count(*) FROM (SELECT note FROM things WHERE account_id = @account_id ORDER BY id LIMIT 5000) t`,
			false},
		"all rows":       {`SELECT count(note) FROM things WHERE account_id = @account_id`, true},
		"a month's rows": {`SELECT count(note) FROM things WHERE id >= @second AND id < @third`, true},
		"the rows of a month that has only begun": {`SELECT count(note) FROM things WHERE id >= @third`, false},
		"a page of those above a row that pass a test": {`SELECT id FROM things WHERE account_id = @account_id
			AND id > @after AND id <= @edge AND note = 'rare' ORDER BY id LIMIT @limit`, false},
		"the page below it": {`SELECT id FROM things WHERE account_id = @account_id
			AND (@before = '' OR id < @before) AND id >= @edge AND note = 'rare' ORDER BY id DESC LIMIT @limit`, false},
		"an edge that no index is searched with does not count": {`SELECT id FROM things WHERE account_id = @account_id
			AND id || '' > @after AND id <= @edge AND note = 'rare' ORDER BY id LIMIT @limit`, true},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := p.plan(t.Context(), statements.Statement{Name: "internal/dashboard/" + name, SQL: c.sql})
			if err != nil {
				t.Fatal(err)
			}
			if (len(found) > 0) != c.reads {
				t.Errorf("found %+v", found)
			}
		})
	}
	t.Run("a table costs less than a look-up in each account", func(t *testing.T) {
		with := *p
		with.accounts = int(p.growing["things"]/lookUp) + 1
		for sql, reads := range map[string]bool{
			`SELECT count(note) FROM things WHERE note = 'rare'`:                              false,
			`SELECT count(note) FROM things WHERE note = 'rare' AND account_id = @account_id`: true,
		} {
			found, err := with.plan(t.Context(), statements.Statement{Name: "internal/dashboard/all", SQL: sql})
			if err != nil || (len(found) > 0) != reads {
				t.Errorf("%s: found %+v: %v", sql, found, err)
			}
		}
	})
	if a, b := p.growing["things_2"], p.growing["things_3"]; a == 0 || a != b || p.growing["things"] <= 2*a {
		t.Errorf("the growing tables are %v", p.growing)
	}
}

// plannerOfThings has a table with rows of the last 60 days, which more SQL after its columns may partition.
func plannerOfThings(t *testing.T, more string) *planner {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.New(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	const rows, days = 20_000, 60
	if _, err := conn.Exec(t.Context(), `CREATE TABLE things (account_id text COLLATE "C", id text COLLATE "C",
		livemode boolean, note text, created_at timestamptz, PRIMARY KEY (account_id, id)) `+more); err != nil {
		t.Fatal(err)
	}
	next, now := rows, time.Now()
	if _, err := conn.CopyFrom(t.Context(), pgx.Identifier{"things"},
		[]string{"account_id", "id", "livemode", "note", "created_at"},
		pgx.CopyFromFunc(func() ([]any, error) {
			if next--; next < 0 {
				return nil, nil
			}
			at := now.Add(-days * 24 * time.Hour / rows * time.Duration(next))
			return []any{"acct_1", id.New("th", at), false, "a note of some length, as rows have columns", at}, nil
		})); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "ANALYZE things"); err != nil {
		t.Fatal(err)
	}
	p := &planner{conn: conn, values: map[string]string{"account_id": "'acct_1'", "livemode": "false", "limit": "11",
		"text": "'th_1'", "timestamp with time zone": "now() - interval '1 hour'"}}
	if p.growing, err = growing(t.Context(), conn, rows); err != nil || p.growing["things"] == 0 {
		t.Fatalf("the growing tables are %v: %v", p.growing, err)
	}
	return p
}

// TestAnEdgeBoundsASearch has pages that search behind an edge, and one that only says so.
func TestAnEdgeBoundsASearch(t *testing.T) {
	t.Parallel()
	p := &planner{growing: growth{"charges": 10_000}}
	searching := variant{edge: "'pi_0Vc64ZkU2Lo1YziijDL46LtO'"}
	for cond, found := range map[string]bool{
		"((account_id = 'acct_1'::text) AND (id >= 'ch_0Vc64ZkU2Lo1YziijDL46LtO'::text))": false,
		"((account_id = 'acct_1'::text) AND (id >= 'ch_0Aaaa'::text))":                    true,
		"(account_id = 'acct_1'::text)":                                                   true,
	} {
		n := node{Type: "Index Scan", Relation: "charges", Total: 9_000, Cond: cond,
			Filter: "(status = 'failed'::text)"}
		if got := p.scans([]node{n}, searching, severalPages); (len(got) > 0) != found {
			t.Errorf("%s: found %+v", cond, got)
		}
	}
}
