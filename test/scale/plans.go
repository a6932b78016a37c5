package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/test/statements"
)

// Packages whose statements may read everything, or that are not part of an installation.
var mayReadAll = []string{"internal/verify/", "internal/demo/", "internal/lab/", "internal/pgtest/",
	"internal/postgres/", "internal/testapp/"}

// mayReadMuch are statements that may read a large part of a table, and why. A name that ends with a slash is a
// package. One statement that serves a merchant is here: a catalog grows with what is sold, and not with payments.
var mayReadMuch = map[string]string{
	"internal/audit/seal.go:leftBehind":             "it is asked only until a restored database has its first block",
	"internal/privacy/":                             "an operator erases a person, whom any object may mention",
	"internal/idempotency/operate.go:listRequests":  "an operator looks for requests, and names few filters",
	"internal/webhook/operate.go:eventExists":       "an operator names an event by its ID, without its account",
	"internal/webhook/operate.go:modeOfEvent":       "an operator names an event by its ID, without its account",
	"internal/catalog/product.go:listProducts":      "a merchant chooses the IDs of products, so created bounds none",
	"internal/acquirer/simulator/journal.go":        "the tests and the lab read the acquirer's whole journal",
	"internal/acquirer/simulator/settlement.go":     "the acquirer writes the settlement file of a day",
	"internal/acquirer/simulator/authorizations.go": "an operator compares what the acquirer has executed",
}

// searched are the rows that a search starts from. It adds a condition, an order and a limit. Which rows it reads is
// tested in internal/textindex/textindex_test.go:TestSearchesReadFewRowsOfManyCharges.
var searched = []string{
	"internal/customer/customer.go:notDeleted", "internal/payment/charge.go:SelectCharges",
	"internal/payment/payment_intent.go:selectIntents", "internal/catalog/product.go:selectProducts",
	"internal/catalog/price.go:selectPrices",
}

// measured are statements whose bound PostgreSQL finds only while it runs them, such as the end of the last closed
// period. Their plan shows an estimate that has nothing to do with it, so they are run, and what they read is counted.
var measured = []string{
	"internal/dashboard/developers/ledger.go:selectNewest", "internal/dashboard/developers/ledger.go:selectSums",
	"internal/dashboard/sales/balance.go:selectHalves",
}

func (s offense) allowed() bool {
	for name := range mayReadMuch {
		if strings.HasPrefix(s.Statement, name) {
			return true
		}
	}
	return false
}

// offense is a statement that reads a large part of a table that grows.
type offense struct {
	Statement string
	Table     string
	Node      string  // how it is read
	Share     float64 // of what reading all of the table costs
	Variant   string
	Filter    string // where a LIMIT ends the scan only if enough rows pass it
}

// largePart is the share of a growing table's cost from which on reading it counts
// as reading it from end to end. Plans for one page of an account's rows stay
// below a hundredth of it.
const largePart = 0.2

// severalPages is the cost of what is small however large its share is: one row of
// a table that has a hundred pages.
const severalPages = 50

// lookUp is the cost of one page that is read at random. A statement that has only an ID looks it up in each account,
// and PostgreSQL reads all of a table if that costs less.
const lookUp = 4

// fewRows is how many rows are few however large their share is: a page is searched for in as many
// (internal/dashboard/ui/pages.go:searchOver).
const fewRows = 5000

// passable are the parts of a filter that most rows pass: what they refuse is never much.
var passable = regexp.MustCompile(`NOT livemode|livemode = false|[a-z_]+ >= '1970-[^']*'::timestamp with time zone|` +
	`[a-z_]+ < '9999-[^']*'::timestamp with time zone|[() ]|AND`)

// mayRefuseMost says whether a filter may leave few rows.
func mayRefuseMost(filter string) bool { return passable.ReplaceAllString(filter, "") != "" }

// growth is what the planner believes of the tables that grow with the charges.
type growth map[string]float64 // cost of reading all of a table, by its name

// A plan scans partitions, and a statement names their table. A month that has only begun grows to be as large as the
// others, so each partition counts as the largest.
const listGrowing = `
	WITH growing AS (
		SELECT c.relname, c.relpages + 0.01 * c.reltuples AS cost, i.inhparent AS parent
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
		WHERE n.nspname IN ('public', 'acquirer') AND c.relkind = 'r' AND c.reltuples >= @rows::bigint
	)
	SELECT relname, CASE WHEN parent IS NULL THEN cost ELSE max(cost) OVER (PARTITION BY parent) END AS cost
	FROM growing
	UNION ALL
	SELECT p.relname, sum(g.cost) FROM growing g JOIN pg_class p ON p.oid = g.parent GROUP BY p.relname`

func growing(ctx context.Context, conn *pgx.Conn, charges int) (growth, error) {
	rows, err := conn.Query(ctx, listGrowing, pgx.StrictNamedArgs{"rows": max(charges/25, 500)})
	if err != nil {
		return nil, err
	}
	g := growth{}
	var table string
	var cost float64
	_, err = pgx.ForEachRow(rows, []any{&table, &cost}, func() error {
		g[table] = cost
		return nil
	})
	return g, err
}

// offenses plans every statement of the program and returns those that read a
// large part of a growing table, the worst first.
func (i *installation) offenses(ctx context.Context) ([]offense, int, error) {
	all, err := statements.Find(".", "internal")
	if err != nil {
		return nil, 0, err
	}
	ours, err := newPlanner(ctx, i.URL, i)
	if err != nil {
		return nil, 0, err
	}
	defer ours.conn.Close(ctx)
	theirs, err := newPlanner(ctx, i.AcquirerURL, i)
	if err != nil {
		return nil, 0, err
	}
	defer theirs.conn.Close(ctx)
	var found []offense
	planned, failed := 0, error(nil)
	for _, s := range all {
		isIn := func(dir string) bool { return strings.HasPrefix(s.Name, dir) }
		if s.Part || slices.ContainsFunc(mayReadAll, isIn) || slices.Contains(measured, s.Name) ||
			slices.Contains(searched, s.Name) {
			continue
		}
		p := ours
		if strings.Contains(s.SQL, "acquirer.") {
			p = theirs
		}
		of, err := p.plan(ctx, s)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("plan %s: %w", s.Name, err))
			continue
		}
		planned++
		found = append(found, of...)
	}
	found = slices.DeleteFunc(found, offense.allowed)
	slices.SortFunc(found, func(a, b offense) int { return cmp.Compare(b.Share, a.Share) })
	return found, planned, failed
}

// planner has PostgreSQL plan statements with values as the program gives them.
type planner struct {
	conn       *pgx.Conn
	growing    growth
	accounts   int
	predicates map[string]string // of partial indexes, by their names
	values     map[string]string // SQL of a value, by the argument's name or its type
}

const listPredicates = `
	SELECT i.relname AS index, pg_get_expr(x.indpred, x.indrelid) AS predicate
	FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
	WHERE x.indpred IS NOT NULL`

func newPlanner(ctx context.Context, url string, i *installation) (*planner, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	p := &planner{conn: conn, accounts: min(i.accounts, i.charges/chargesInStory)}
	if p.growing, err = growing(ctx, conn, i.charges); err != nil {
		return p, err
	}
	rows, err := conn.Query(ctx, listPredicates)
	if err != nil {
		return p, err
	}
	p.predicates = map[string]string{}
	var index, predicate string
	if _, err := pgx.ForEachRow(rows, []any{&index, &predicate}, func() error {
		p.predicates[index] = predicate
		return nil
	}); err != nil {
		return p, err
	}
	var charge string
	var book int64
	if err := i.Pool.QueryRow(ctx, "SELECT id FROM ledger_books WHERE account_id = $1",
		i.story.account).Scan(&book); err != nil {
		return p, err
	}
	if err := i.Pool.QueryRow(ctx, "SELECT id FROM charges WHERE account_id = $1 OFFSET 10 LIMIT 1",
		i.story.account).Scan(&charge); err != nil {
		return p, err
	}
	p.values = map[string]string{
		"arrives_from": "'1970-01-01'", "arrives_to": "'9999-01-01'",
		"account_id": quote(i.story.account), "account": quote(i.story.account),
		"accounts": quote(i.story.account),
		"livemode": "false", "currency": "'usd'", "source": "'acquirer'", "limit": "11",
		"from": "now() - interval '1 day'", "to": "now()", "size": "1000", "at_once": "100",
		"midnight": quote("ch_" + id.EncodeTime(time.Now().AddDate(0, 0, -1))),
		// A chart adds what is older than an hour to its day (internal/daysum/daysum.go:Counter).
		"charges_from": quote("ch_" + id.EncodeTime(time.Now().Add(-time.Hour))),
		"uncounted":    quote("ch_" + id.EncodeTime(time.Now().Add(-time.Hour))),
		"book":         strconv.FormatInt(book, 10), "from_xid": "0", "to_xid": "100000000", "horizon": "100000000",
		"text": quote(charge), "character varying": quote(charge),
		"bigint": "10", "integer": "10", "smallint": "1",
		"boolean": "false", "timestamp with time zone": "now() - interval '1 hour'", "interval": "interval '1 hour'",
		"date": "current_date - 1",
		"json": "'{}'", "jsonb": "'{}'", "bytea": `'\x00'`, "numeric": "1",
	}
	return p, nil
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Values of plan_cache_mode.
const (
	customPlan  = "force_custom_plan"
	genericPlan = "force_generic_plan"
)

// variant is a way in which a statement is called.
type variant struct {
	name     string
	mode     string            // plan_cache_mode
	optional bool              // arguments that may be absent are given
	values   map[string]string // of arguments that have others than usual
	edge     string            // as SQL, the ID down to which a page searches, or from which on; "" for none
}

var variants = []variant{
	{name: "no optional argument", mode: customPlan},
	{name: "every argument", mode: customPlan, optional: true},
	{name: "a page of the newest", mode: customPlan, values: map[string]string{"before": "'~'", "after": "''",
		"from": "'1970-01-01'", "to": "'9999-01-01'"}},
	{name: "a page from long ago", mode: customPlan, values: map[string]string{"before": "'~'", "after": "''",
		"from": "'1970-01-01'", "to": longAgo}},
	{name: "a page of few", mode: customPlan, optional: true, values: map[string]string{"before": "'~'",
		"after": "''", "from": "'1970-01-01'", "to": "'9999-01-01'"}},
	{name: "the first page of few", mode: customPlan, optional: true, values: map[string]string{"before": "''"}},
	{name: "generic plan", mode: genericPlan, optional: true},
}

const longAgo = "now() - interval '30 days'"

// applies says whether a statement is ever called so: only lists have pages. A list of the API has two ends, and one
// of the dashboard begins at its first page or behind a row.
func (v variant) applies(s statements.Statement, names []string) bool {
	if v.mode == genericPlan {
		return !plannedEachTime(s)
	}
	if v.values["before"] == "''" {
		return isEmpty(s.SQL, "before")
	}
	return v.values == nil || slices.Contains(names, "before") && slices.Contains(names, "after")
}

// plannedEachTime says whether PostgreSQL never makes a plan for any arguments, because the program does not have it
// keep the statement (internal/dashboard/ui/read.go:Read).
func plannedEachTime(s statements.Statement) bool {
	return strings.HasPrefix(s.Name, "internal/dashboard/")
}

// edges are tables by how statements with @edge begin to read them. What lies between a page and its edge is a constant
// number of rows (internal/dashboard/ui/pages.go:searchOver), here those of a day.
var edges = map[string]string{"request_status": "requests", "ledger_books": "ledger_postings"}

var reads = regexp.MustCompile(`FROM \(?\(?(\w+)(?: +(\w+)\b)?`)

// edgeOf finds the alias of the table whose rows have the edge, if it has one.
var edgeOf = regexp.MustCompile(`(\w+)\.id [<>]= @edge`)

// edge is the ID at which the search for a page ends, as SQL.
func (p *planner) edge(ctx context.Context, s statements.Statement) (string, error) {
	id := "id"
	of := edgeOf.FindStringSubmatch(s.SQL)
	for _, found := range reads.FindAllStringSubmatch(s.SQL, -1) {
		if of != nil && of[1] != found[2] {
			continue // a subquery
		}
		table := cmp.Or(edges[found[1]], found[1])
		if p.growing[table] == 0 {
			continue
		}
		if table == "webhook_deliveries" {
			id = "event_id"
		}
		var edge string
		err := p.conn.QueryRow(ctx, `SELECT coalesce(min(`+id+`), '') FROM `+table+`
			WHERE created_at > now() - interval '1 day'`).Scan(&edge)
		return quote(edge), err
	}
	return "''", nil
}

// listed finds the table of a list's rows.
var listed = regexp.MustCompile(`FROM (\w+)(?: \w+ JOIN LATERAL [^@]+)?\s+WHERE account_id = @account_id`)

// withCallersIDs are tables whose IDs the API's callers may choose. Every other list that is filtered by time is read
// by the IDs of that time (internal/resource/list.go:idSlack).
var withCallersIDs = []string{"products", "coupons"}

// beforeLongAgo is the ID at which a list ends that is filtered by longAgo, as SQL.
func (p *planner) beforeLongAgo(ctx context.Context, s statements.Statement) (string, error) {
	found := listed.FindStringSubmatch(s.SQL)
	if found == nil || slices.Contains(withCallersIDs, found[1]) {
		return "'~'", nil
	}
	var before string
	err := p.conn.QueryRow(ctx, `SELECT coalesce(min(id), '~') FROM `+found[1]+`
		WHERE created_at > `+longAgo+` + interval '1 day'`).Scan(&before)
	return quote(before), err
}

// plan returns a statement's offenses, the worst of each table.
func (p *planner) plan(ctx context.Context, s statements.Statement) ([]offense, error) {
	sql, names := s.Numbered()
	types, err := p.types(ctx, "PREPARE planned AS "+sql)
	if err != nil {
		return nil, err
	}
	if _, err := p.conn.Exec(ctx, "PREPARE planned AS "+sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		return nil, err
	}
	defer func() { _, _ = p.conn.Exec(ctx, "DEALLOCATE planned") }()
	small := float64(severalPages)
	if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "account") }) {
		small += lookUp * float64(p.accounts)
	}
	worst, dearest := map[string]offense{}, 0.0
	for _, v := range variants {
		if !v.applies(s, names) {
			continue
		}
		v, err := p.ends(ctx, s, v, names)
		if err != nil {
			return nil, err
		}
		values, absent := p.arguments(s, v, names, types)
		if v.mode == customPlan && v.values == nil && !v.optional && !absent {
			continue // the same as with every argument
		}
		plans, err := p.explain(ctx, v, values)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		cost := 0.0
		for _, n := range plans {
			cost += n.Total
		}
		if v.mode == genericPlan && cost > dearest+planning {
			continue // PostgreSQL compares the two, and keeps to custom plans
		}
		dearest = max(dearest, cost)
		for _, o := range p.scans(plans, v, small) {
			o.Statement, o.Variant = s.Name, v.name
			if had, is := worst[o.Table]; !is || o.Share > had.Share+0.01 {
				worst[o.Table] = o
			}
		}
	}
	return slices.Collect(maps.Values(worst)), nil
}

// ends is the variant with the IDs at which a page begins or ends, for a statement that takes some.
func (p *planner) ends(ctx context.Context, s statements.Statement, v variant, names []string) (variant, error) {
	set := func(name, value string) {
		v.values = maps.Clone(v.values)
		if v.values == nil {
			v.values = map[string]string{}
		}
		v.values[name] = value
	}
	if v.values["to"] == longAgo {
		before, err := p.beforeLongAgo(ctx, s)
		if err != nil {
			return v, err
		}
		set("before", before)
	}
	if !slices.Contains(names, "edge") {
		return v, nil
	}
	edge, err := p.edge(ctx, s)
	if err != nil {
		return v, err
	}
	v.edge = edge
	set("edge", edge)
	if slices.Contains(names, "after") { // a page upward ends with the newest row
		set("after", edge)
		set("edge", "'~~~~'")
	}
	return v, nil
}

// arguments are a statement's in the variant. absent is true if one of them has no value.
func (p *planner) arguments(s statements.Statement, v variant, names, types []string) (values []string, absent bool) {
	values = make([]string, len(names))
	for i, name := range names {
		values[i] = p.value(v, name, types[i])
		switch {
		case v.optional || v.values[name] != "":
		case isOptional(s.SQL, name):
			values[i], absent = "NULL", true
		case isEmpty(s.SQL, name):
			values[i], absent = "''", true
		}
	}
	return values, absent
}

// types are the types of a prepared statement's arguments.
func (p *planner) types(ctx context.Context, prepare string) (types []string, err error) {
	if _, err := p.conn.Exec(ctx, prepare, pgx.QueryExecModeSimpleProtocol); err != nil {
		return nil, err
	}
	defer func() { _, _ = p.conn.Exec(ctx, "DEALLOCATE planned") }()
	err = p.conn.QueryRow(ctx,
		"SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = 'planned'").Scan(&types)
	return types, err
}

// value is the SQL of an argument. An array has one element: most statements get the rows of a group as arrays.
func (p *planner) value(v variant, name, kind string) string {
	element, isArray := strings.CutSuffix(kind, "[]")
	one := cmp.Or(v.values[name], p.values[name], p.values[element], "NULL")
	if isArray {
		return "ARRAY[" + one + "]::" + kind
	}
	return one
}

// planning is about what PostgreSQL adds to the cost of a custom plan for making it.
const planning = 15

// isOptional says whether a statement asks if an argument is NULL.
func isOptional(sql, name string) bool {
	return regexp.MustCompile(`@` + name + `(::[a-z\[\]]+)? IS NULL`).MatchString(sql)
}

// isEmpty says whether a statement asks if an argument is the empty text.
func isEmpty(sql, name string) bool { return regexp.MustCompile(`@` + name + ` = ''`).MatchString(sql) }

func (p *planner) explain(ctx context.Context, v variant, values []string) (all []node, err error) {
	if _, err := p.conn.Exec(ctx, "SET plan_cache_mode = "+v.mode); err != nil {
		return nil, err
	}
	call := "EXPLAIN (FORMAT JSON) EXECUTE planned"
	if len(values) > 0 {
		call += "(" + strings.Join(values, ", ") + ")"
	}
	var text []byte
	err = p.conn.QueryRow(ctx, call, pgx.QueryExecModeSimpleProtocol).Scan(&text)
	if err != nil {
		return nil, err
	}
	var plans []struct{ Plan node }
	if err := json.Unmarshal(text, &plans); err != nil {
		return nil, err
	}
	for _, plan := range plans {
		all = append(all, plan.Plan)
	}
	return all, nil
}

// scans are the scans of a statement's plans that read a large part of a table.
func (p *planner) scans(plans []node, v variant, small float64) []offense {
	w := walker{planner: p, small: small, before: v.values["before"], edge: v.edge}
	if v.values["to"] != longAgo || w.before == "'~'" {
		w.before = "" // no ID bounds what a filter by time refuses
	}
	for _, n := range plans {
		w.walk(n, run{part: 1})
	}
	return w.found
}

// node is a part of a plan.
type node struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Cond     string  `json:"Index Cond"`
	Filter   string  `json:"Filter"`
	Relative string  `json:"Parent Relationship"`
	Rows     float64 `json:"Plan Rows"`
	Startup  float64 `json:"Startup Cost"`
	Total    float64 `json:"Total Cost"`
	Plans    []node  `json:"Plans"`
}

// blocking are nodes that take all of their input before they give the first row.
var blocking = []string{"Sort", "Aggregate", "Hash", "HashAggregate", "SetOp", "Bitmap Index Scan"}

// own is what a scan costs without the subqueries in its result, each of which is run once for a row that it gives.
// Those in its filter are not taken away: nothing says how often they are run.
func (n node) own() float64 {
	cost := n.Total
	for _, child := range n.Plans {
		if child.Relative == "SubPlan" && !strings.Contains(n.Filter, "SubPlan") {
			cost -= n.Rows * child.Total
		}
	}
	return cost
}

// walker looks for scans in a plan.
type walker struct {
	*planner
	small  float64 // cost of what is small however large its share is
	before string  // as SQL, the ID that bounds a list which is filtered by time; "" for none
	edge   string  // as SQL, the ID behind which a page does not search; "" for none
	found  []offense
}

// run is how much of a node is run.
type run struct {
	part float64 // where a LIMIT above ends it early
	rows float64 // that such a LIMIT takes, if nothing between it and the node refuses any; 0: not known
}

// follow are the nodes that give each row which they get. Those of partitions get one row of each ahead, at most.
var follow = []string{"Limit", "Result", "Subquery Scan", "LockRows", "Append", "Merge Append"}

// late is the condition of a list that is filtered by time.
var late = regexp.MustCompile(`created_at < '[^']*'::timestamp with time zone`)

// filter is what a scan's filter may refuse. A partial index has no row that its own predicate refuses, which a
// statement that locks rows checks again. And a filter by time refuses a day's rows at most, if the index is searched
// below an ID of that time.
func (w *walker) filter(n node) string {
	filter := n.Filter
	if predicate := w.predicates[n.Index]; predicate != "" {
		filter = strings.ReplaceAll(filter, predicate, "")
	}
	if w.before != "" && strings.Contains(n.Cond, "(id < "+w.before+"::text)") {
		filter = late.ReplaceAllString(filter, "")
	}
	return filter
}

// endsAtEdge says whether an index is searched up to the edge of a page. A statement that reads two tables makes the
// IDs of both from one, so only what follows the prefix counts.
func (w *walker) endsAtEdge(n node) bool {
	id := strings.Trim(w.edge[strings.LastIndexByte(w.edge, '_')+1:], "'")
	searched := n.Cond
	for _, child := range n.Plans {
		if child.Type == "Bitmap Index Scan" {
			searched += child.Cond
		}
	}
	return len(id) == encodedID && strings.Contains(searched, id)
}

// encodedID is how long the part of an ID is that follows its prefix.
const encodedID = 24

// check finds out whether a scan reads too much.
func (w *walker) check(n node, r run) {
	cost, grows := w.growing[n.Relation]
	if !grows || !strings.Contains(n.Type, "Scan") {
		return
	}
	own, refuses := n.own(), mayRefuseMost(w.filter(n))
	o := offense{Table: n.Relation, Node: strings.TrimSpace(n.Type + " " + n.Index), Share: r.part * own / cost}
	if w.endsAtEdge(n) {
		return // as many rows as a page searches (internal/dashboard/ui/pages.go:searchOver)
	}
	if !refuses && r.rows > 0 && r.rows <= fewRows {
		return // it never reads more rows, no matter how many the table has
	}
	if o.Share < largePart && refuses {
		o.Share, o.Filter = own/cost, n.Filter // as many rows as the filter refuses
	}
	if o.Share >= largePart && o.Share*cost >= w.small {
		w.found = append(w.found, o)
	}
}

func (w *walker) walk(n node, r run) {
	w.check(n, r)
	if slices.Contains(blocking, n.Type) {
		r.part = 1
	}
	if !slices.Contains(follow, n.Type) || n.Filter != "" {
		r.rows = 0
	}
	if n.Type == "Limit" {
		r.rows = n.Rows
	}
	for _, child := range n.Plans {
		below := r
		if child.Relative == "SubPlan" || child.Relative == "InitPlan" {
			below.rows = 0
		}
		if n.Type == "Limit" && child.Total > child.Startup {
			below.part *= min(1, (n.Total-child.Startup)/(child.Total-child.Startup))
		}
		w.walk(child, below)
	}
}

// reading is a function of the schema, whose body no plan shows.
var reading = []string{
	"SELECT ledger_balance($book, clock_timestamp())",
	"SELECT ledger_available($book)",
	"SELECT balance_available_key('$account', false)",
	"SELECT ledger_close_period($book, clock_timestamp() - interval '3 minutes', 1000)",
	"SELECT * FROM ledger_totals WHERE book_id = $book",
	"SELECT ledger_try_pay_out($book, 'txn_scale', 'po_scale', 1, 'req_scale')",
	"SELECT ledger_sweep($book, 'txn_scale2', 'po_scale2', 'req_scale2')",
	"SELECT count_charges('$account', 'ch_z', 5000)",
	"SELECT search_found('$account', 'charges', '~', search_terms('$account', 'charges', '{none}', '{}', '{}'), 99)",
	"SELECT search_index('$account', clock_timestamp() - interval '3 minutes', 1600)",
	"SELECT count_attempts('$account', clock_timestamp(), 5000)",
}

const rowsRead = `
	SELECT relname, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) AS read
	FROM pg_stat_xact_user_tables ORDER BY 2 DESC LIMIT 1`

// periodOfABook bounds what a balance adds up: a thousand postings that are in no
// closed period yet, those of a period whose money is becoming available, and
// their legs.
const periodOfABook = 5000

// sweptByName bounds what the first automatic payout of a book names one by one, with the period around it
// (migrations/000030_days.up.sql:ledger_sweep).
const sweptByName = 50_000 + periodOfABook

// functions runs the schema's functions, takes back what they did, and returns
// those that read more than a quarter as many rows of a table as there are charges.
func (i *installation) functions(ctx context.Context) (found []string, err error) {
	var book int64
	err = i.Pool.QueryRow(ctx, "SELECT id FROM ledger_books WHERE account_id = $1", i.story.account).Scan(&book)
	if err != nil {
		return nil, err
	}
	replacer := strings.NewReplacer("$book", strconv.FormatInt(book, 10), "$account", i.story.account)
	run := map[string]string{}
	for _, sql := range reading {
		run[sql] = replacer.Replace(sql)
	}
	if err := i.addMeasured(ctx, run); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(run)) {
		table, read, err := i.reads(ctx, run[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		most := int64(periodOfABook)
		if strings.Contains(name, "ledger_sweep(") {
			most = sweptByName
		}
		if read > max(int64(i.charges/4), most) {
			found = append(found, fmt.Sprintf("%-90s reads %d rows of %s", name, read, table))
		}
	}
	return found, nil
}

// addMeasured adds the statements that are measured, by their names.
func (i *installation) addMeasured(ctx context.Context, run map[string]string) error {
	all, err := statements.Find(".", "internal")
	if err != nil {
		return err
	}
	p, err := newPlanner(ctx, i.URL, i)
	if err != nil {
		return err
	}
	defer p.conn.Close(ctx)
	for _, s := range all {
		if !slices.Contains(measured, s.Name) {
			continue
		}
		if run[s.Name], err = p.execution(ctx, s); err != nil {
			return fmt.Errorf("run %s: %w", s.Name, err)
		}
	}
	return nil
}

// execution is SQL that runs a statement as the program does.
func (p *planner) execution(ctx context.Context, s statements.Statement) (string, error) {
	sql, names := s.Numbered()
	prepare := "PREPARE planned AS " + sql
	types, err := p.types(ctx, prepare)
	if err != nil {
		return "", err
	}
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = p.value(variants[0], name, types[i])
	}
	return prepare + "; EXECUTE planned(" + strings.Join(values, ", ") + ")", nil
}

// reads returns the table of which a statement reads most rows. It runs in a
// separate session, which has counted nothing before.
func (i *installation) reads(ctx context.Context, sql string) (table string, rows int64, err error) {
	conn, err := pgx.Connect(ctx, i.URL)
	if err != nil {
		return "", 0, err
	}
	defer conn.Close(ctx)
	tx, err := conn.Begin(ctx)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if _, err := tx.Exec(ctx, sql); err != nil {
		return "", 0, err
	}
	err = tx.QueryRow(ctx, rowsRead).Scan(&table, &rows)
	return table, rows, err
}
