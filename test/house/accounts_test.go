package house_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/test/statements"
)

// TestEveryStatementStaysInOneAccount has PostgreSQL plan every statement and reads the plan. Each scan of a table
// that has account_id must compare it with an argument, or with the account of another row of the same statement. A
// statement that forgets its account fails here, before it can show one account's rows to another. The test
// reads the plan and not the text: views are expanded in it. A condition within an OR does not count, because it does
// not restrict the rows.
//
// acrossAccounts in acrossaccounts_test.go lists what reads or writes rows of several accounts on purpose.
func TestEveryStatementStaysInOneAccount(t *testing.T) {
	t.Parallel()
	planner := newAccountPlanner(t)
	all, err := statements.Find(root, "internal")
	if err != nil {
		t.Fatal(err)
	}
	if len(planner.columns) < 40 || len(all) < 300 {
		t.Fatalf("found only %d tables with account_id and %d statements", len(planner.columns), len(all))
	}
	needed := map[string]bool{} // entries of acrossAccounts
	for _, s := range all {
		if inAcquirersSchema.MatchString(s.SQL) || strings.HasPrefix(s.Name, ofDesigns) {
			continue
		}
		free, err := planner.unrestricted(t.Context(), s)
		if err != nil {
			t.Errorf("%s: %v", s.At, err)
			continue
		}
		entry := exception(s.Name)
		if entry != "" && len(free) > 0 {
			needed[entry] = true
		}
		if entry == "" && len(free) > 0 {
			t.Errorf("%s (%s) reads rows of any account: no condition on account_id of %s\n%s",
				s.At, s.Name, strings.Join(free, ", "), s.SQL)
		}
	}
	for _, of := range acrossAccounts {
		for _, name := range of.statements {
			if !needed[name] {
				t.Errorf("%s stays in one account, or does not exist: take it off the list", name)
			}
		}
	}
}

// TestPlansTellWhoseRowsAreRead tries the reading of plans on statements that a person can judge.
func TestPlansTellWhoseRowsAreRead(t *testing.T) {
	t.Parallel()
	planner := newAccountPlanner(t)
	for name, c := range map[string]struct {
		sql  string
		free []string
	}{
		"an argument restricts rows":  {"SELECT id FROM charges WHERE account_id = @a AND id = @b", nil},
		"so does a list of arguments": {"SELECT id FROM charges WHERE account_id = ANY (@a::text[])", nil},
		"an ID alone does not":        {"SELECT id FROM charges WHERE id = @b", []string{"charges AS charges"}},
		"nor does another comparison": {
			"SELECT id FROM charges WHERE account_id <> @a", []string{"charges AS charges"}},
		"nor does a condition within an OR": {
			"SELECT id FROM charges WHERE account_id = @a OR id = @b", []string{"charges AS charges"}},
		"nor does an argument that may be absent": {
			"SELECT id FROM charges WHERE @a::text IS NULL OR account_id = @a", []string{"charges AS charges"}},
		"a join hands the account on": {"SELECT r.id FROM charges c JOIN refunds r ON r.account_id = c.account_id " +
			"AND r.charge_id = c.id WHERE c.account_id = @a", nil},
		"a join by ID does not": {"SELECT r.id FROM charges c JOIN refunds r ON r.charge_id = c.id " +
			"WHERE c.account_id = @a", []string{"refunds AS r"}},
		"two tables that only agree with each other are free": {"SELECT r.id FROM charges c JOIN refunds r ON " +
			"r.account_id = c.account_id WHERE c.id = @b", []string{"charges AS c", "refunds AS r"}},
		"an outer join restricts one side": {"SELECT c.id FROM charges c LEFT JOIN refunds r " +
			"ON r.account_id = c.account_id AND r.account_id = @a", []string{"charges AS c"}},
		"a row that must be missing restricts nothing": {"SELECT c.id FROM charges c WHERE NOT EXISTS (" +
			"SELECT FROM refunds r WHERE r.account_id = c.account_id AND r.account_id = @a)", []string{"charges AS c"}},
		"each part of a union counts": {"SELECT id FROM charges WHERE account_id = @a UNION ALL " +
			"SELECT id FROM refunds WHERE id = @b", []string{"refunds AS refunds"}},
		"what a view reads counts": {"SELECT id FROM request_status WHERE id = @b",
			[]string{"requests AS q"}},
		"a book is an account's": {"SELECT p.id FROM ledger_books b JOIN ledger_postings p ON p.book_id = b.id " +
			"WHERE b.account_id = @a", nil},
		"rows of arguments bring their accounts": {"UPDATE charges t SET status = m.status FROM unnest(@a::text[], " +
			"@b::text[], @c::text[]) AS m (account_id, id, status) " +
			"WHERE t.account_id = m.account_id AND t.id = m.id", nil},
		"a deletion needs its account": {"DELETE FROM tokens WHERE id = @b", []string{"tokens AS tokens"}},
	} {
		t.Run(name, func(t *testing.T) {
			free, err := planner.unrestricted(t.Context(), statements.Statement{SQL: c.sql})
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(free)
			if !slices.Equal(free, c.free) {
				t.Errorf("found %q, want %q", free, c.free)
			}
		})
	}
}

// inAcquirersSchema matches statements of the acquirer's own database, which knows no accounts.
var inAcquirersSchema = regexp.MustCompile(`\bacquirer\.`)

// ofDesigns is where the statements of the lab's designs are. Their schemas know no accounts, either.
const ofDesigns = "internal/lab/design/"

func exception(statement string) string {
	for _, of := range acrossAccounts {
		for _, name := range of.statements {
			if name == statement || strings.HasSuffix(name, "/") && strings.HasPrefix(statement, name) {
				return name
			}
		}
	}
	return ""
}

// accountPlanner plans statements and finds the scans that no account restricts.
type accountPlanner struct {
	conn *pgx.Conn
	// columns tell whose a row is, by table, partitions included: account_id, or the book, which is an account's.
	columns map[string][]string
	// indexes contain one of these columns.
	indexes map[string]bool
}

const (
	accountColumns = `
		SELECT c.relname, array_agg(a.attname::text) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		WHERE (a.attname IN ('account_id', 'book_id')
		       OR a.attname = 'id' AND a.attrelid IN ('accounts'::regclass, 'ledger_books'::regclass))
		  AND NOT a.attisdropped AND c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace
		GROUP BY 1`
	accountIndexes = `
		SELECT c.relname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		WHERE a.attname IN ('account_id', 'book_id') AND c.relkind IN ('i', 'I')`
)

func newAccountPlanner(t *testing.T) *accountPlanner {
	t.Helper()
	db := pgtest.New(t)
	createEverySchema(t, db)
	conn, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	p := &accountPlanner{conn: conn, columns: map[string][]string{}, indexes: map[string]bool{}}
	var name string
	var columns []string
	rows, _ := conn.Query(t.Context(), accountColumns)
	_, err = pgx.ForEachRow(rows, []any{&name, &columns}, func() error {
		p.columns[name] = slices.Clone(columns)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rows, _ = conn.Query(t.Context(), accountIndexes)
	_, err = pgx.ForEachRow(rows, []any{&name}, func() error {
		p.indexes[name] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// A generic plan names the arguments, where another one contains their values. Without sequential scans PostgreSQL
	// runs EXISTS for one row at a time: it would read all of an empty table once, and show no condition. Without
	// pruning the plan has every partition: no partition has the ID NULL, which the arguments are.
	const settings = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; " +
		"SET enable_partition_pruning = off"
	if _, err := conn.Exec(t.Context(), settings, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	return p
}

// unrestricted returns the scans of a statement that no account restricts, as "table AS alias".
func (p *accountPlanner) unrestricted(ctx context.Context, s statements.Statement) ([]string, error) {
	plans, err := p.plans(ctx, s)
	if err != nil {
		return nil, err
	}
	w := accountWalk{accountPlanner: p, restricts: map[string][]string{}}
	for _, plan := range plans {
		w.walk(plan, nil)
	}
	return w.free(), nil
}

// plans are the generic plans of a statement.
func (p *accountPlanner) plans(ctx context.Context, s statements.Statement) (all []planNode, err error) {
	sql, _ := s.Numbered()
	if _, err := p.conn.Exec(ctx, "PREPARE planned AS "+sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	defer func() { _, _ = p.conn.Exec(ctx, "DEALLOCATE planned") }()
	var arguments int
	const count = "SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = 'planned'"
	if err := p.conn.QueryRow(ctx, count).Scan(&arguments); err != nil {
		return nil, err
	}
	call := "EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) EXECUTE planned"
	if arguments > 0 {
		call += "(NULL" + strings.Repeat(", NULL", arguments-1) + ")"
	}
	var text []byte
	if err := p.conn.QueryRow(ctx, call, pgx.QueryExecModeSimpleProtocol).Scan(&text); err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	var plans []struct{ Plan planNode }
	if err := json.Unmarshal(text, &plans); err != nil {
		return nil, err
	}
	for _, plan := range plans {
		all = append(all, plan.Plan)
	}
	return all, nil
}

// planNode is a part of a plan.
type planNode struct {
	Type     string `json:"Node Type"`
	Schema   string
	Relation string `json:"Relation Name"`
	Alias    string

	Index   string `json:"Index Cond"`
	Recheck string `json:"Recheck Cond"`
	Join    string `json:"Join Filter"`
	Hash    string `json:"Hash Cond"`
	Merge   string `json:"Merge Cond"`
	Filter  string

	JoinType     string   `json:"Join Type"`
	Relationship string   `json:"Parent Relationship"`
	Resolution   string   `json:"Conflict Resolution"`
	Arbiters     []string `json:"Conflict Arbiter Indexes"`
	Plans        []planNode
}

// accountWalk collects what a plan says about whose rows it reads.
type accountWalk struct {
	*accountPlanner
	scans     []planNode          // of tables whose rows are an account's
	elsewhere []string            // aliases of rows that are read from no table: arguments, or other parts of the plan
	conflicts []string            // tables of which an INSERT may update the rows of any account
	restricts map[string][]string // by alias.column: what equals it only if it has the same value
}

// anArgument restricts what equals it.
const anArgument = "an argument"

// walk returns the aliases of all rows that a part of a plan reads. Of the rows of also, only those remain for which
// this part finds a row.
func (w *accountWalk) walk(n planNode, also []string) (aliases []string) {
	var outer, inner []string
	for _, child := range n.Plans {
		found := w.walk(child, w.alsoRestricts(n, child, outer, also))
		aliases = append(aliases, found...)
		switch child.Relationship {
		case "Outer":
			outer = found
		case "Inner":
			inner = found
		}
	}
	switch {
	case strings.HasSuffix(n.Type, "Scan") && n.Alias != "":
		w.scan(n, also)
		return append(aliases, n.Alias)
	case n.JoinType != "":
		w.learn(joinRestricts(n.JoinType, outer, inner), n.Join, n.Hash, n.Merge)
	case n.Resolution == "UPDATE" && w.columns[n.Relation] != nil:
		withAccount := func(index string) bool { return w.indexes[index] }
		if !slices.ContainsFunc(n.Arbiters, withAccount) {
			w.conflicts = append(w.conflicts, n.Relation+" AS it conflicts")
		}
	}
	return aliases
}

// alsoRestricts returns the aliases of which a row is left out if a child of a node finds nothing for it.
func (w *accountWalk) alsoRestricts(n, child planNode, outer, also []string) []string {
	joins := n.JoinType == "Inner" || n.JoinType == "Semi"
	switch {
	case child.Relationship == "Inner" && joins:
		return slices.Concat(outer, also)
	case child.Relationship == "Outer" && (joins || n.Type == "Materialize" || n.Type == "Memoize"):
		return also
	default:
		return nil
	}
}

func (w *accountWalk) scan(n planNode, also []string) {
	w.learn(append([]string{n.Alias}, also...), n.Index, n.Recheck, n.Filter)
	columns := w.columns[n.Relation]
	switch {
	case n.Relation == "":
		w.elsewhere = append(w.elsewhere, n.Alias)
	case n.Schema == "public" && columns != nil:
		w.scans = append(w.scans, n)
		for _, of := range columns { // the account decides the book, and the book the account
			for _, equal := range columns {
				w.add(n.Alias+"."+of, n.Alias+"."+equal)
			}
		}
	}
}

// joinRestricts returns the aliases whose rows a join leaves out if they have no match. An outer join keeps the rows
// of one side, and so does one that looks for what is missing.
func joinRestricts(kind string, outer, inner []string) []string {
	switch kind {
	case "Inner", "Semi", "Right Semi":
		return slices.Concat(outer, inner)
	case "Left", "Anti":
		return inner
	case "Right", "Right Anti":
		return outer
	default: // Full
		return nil
	}
}

const (
	columnPattern   = `\(?("?\w+"?\.\w+)\)?(?:::text)?`
	argumentPattern = `(?:\(?\$\d+\)?|\(InitPlan \d+\)\.col\d+)(?:::\w+)?`
)

var (
	argumentEquals = regexp.MustCompile(`^` + argumentPattern + ` = ` + columnPattern + `$`)
	equalsArgument = regexp.MustCompile(`^` + columnPattern + ` = ` + argumentPattern + `$`)
	inArguments    = regexp.MustCompile(`^` + columnPattern + ` = ANY \(\(?\$\d+\)?(?:::text\[\])?\)$`)
	equalsColumn   = regexp.MustCompile(`^` + columnPattern + ` = ` + columnPattern + `$`)
)

// learn notes which columns of some aliases' rows are restricted by conditions.
func (w *accountWalk) learn(of []string, conditions ...string) {
	restrict := func(by, column string) {
		by, column = strings.ReplaceAll(by, `"`, ""), strings.ReplaceAll(column, `"`, "")
		if alias, _, _ := strings.Cut(column, "."); slices.Contains(of, alias) {
			w.add(by, column)
		}
	}
	for _, condition := range conditions {
		for _, part := range conjuncts(condition) {
			for _, re := range []*regexp.Regexp{argumentEquals, equalsArgument, inArguments} {
				if m := re.FindStringSubmatch(part); m != nil {
					restrict(anArgument, m[1])
				}
			}
			if m := equalsColumn.FindStringSubmatch(part); m != nil {
				restrict(m[1], m[2])
				restrict(m[2], m[1])
			}
		}
	}
}

func (w *accountWalk) add(by, column string) { w.restricts[by] = append(w.restricts[by], column) }

// free are the scans that neither an argument nor a row from elsewhere restricts, however many rows are between them.
func (w *accountWalk) free() []string {
	restricted := map[string]bool{}
	follow := []string{anArgument}
	for by := range w.restricts {
		if alias, _, _ := strings.Cut(by, "."); slices.Contains(w.elsewhere, alias) {
			follow = append(follow, by)
		}
	}
	for len(follow) > 0 {
		by := follow[0]
		follow = follow[1:]
		if !restricted[by] {
			restricted[by] = true
			follow = append(follow, w.restricts[by]...)
		}
	}
	found := w.conflicts
	for _, scan := range w.scans {
		known := func(column string) bool { return restricted[scan.Alias+"."+column] }
		if !slices.ContainsFunc(w.columns[scan.Relation], known) {
			found = append(found, scan.Relation+" AS "+scan.Alias)
		}
	}
	return found
}

// conjuncts splits a condition at its outermost ANDs.
func conjuncts(condition string) (parts []string) {
	condition = outerParentheses(condition)
	depth, from := 0, 0
	for i := range condition {
		switch condition[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 && strings.HasPrefix(condition[i:], " AND ") {
			parts = append(parts, conjuncts(condition[from:i])...)
			from = i + len(" AND ")
		}
	}
	if from == 0 {
		return []string{condition}
	}
	return append(parts, conjuncts(condition[from:])...)
}

// outerParentheses takes away parentheses around all of a condition.
func outerParentheses(condition string) string {
	for strings.HasPrefix(condition, "(") {
		depth := 0
		for i := range condition {
			switch condition[i] {
			case '(':
				depth++
			case ')':
				depth--
			}
			if depth == 0 && i < len(condition)-1 {
				return condition
			}
		}
		condition = condition[1 : len(condition)-1]
	}
	return condition
}
