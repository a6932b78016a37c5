package resource

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// Search are the parameters every search takes.
type Search struct {
	Query  string      `form:"query,required" max:"5000"`
	Limit  form.Limit  `form:"limit"`
	Page   string      `form:"page"`
	Expand form.Expand `form:"expand"`
}

// SearchObject is a page of what a search found, newest first, on the wire.
type SearchObject struct {
	Object     string  `json:"object"`
	Data       []any   `json:"data"`
	HasMore    bool    `json:"has_more"`
	NextPage   *string `json:"next_page"`
	TotalCount *int64  `json:"total_count,omitempty"` // only when asked for
	URL        string  `json:"url"`
}

// SearchKind decides which values and operators a field takes.
type SearchKind int

const (
	SearchText   SearchKind = iota // exact or in part, in any case
	SearchToken                    // exact only, in any case
	SearchNumber                   // compared
	SearchBool                     // true or false
)

// SearchField is what a field of the query language is in SQL. Nothing a caller
// typed ever becomes part of a statement: expressions come from the tables
// below, values travel as arguments.
type SearchField struct {
	Kind SearchKind
	SQL  string
}

// Searchable is one kind of object that can be searched.
type Searchable struct {
	Plural   string // as the path and Stripe's error name it
	Rows     string // SELECT of the viewer's objects, up to its WHERE
	Fields   map[string]SearchField
	Metadata string // the column metadata["…"] looks into
	Prefix   string // of the IDs, which encode when the object was made
	Index    *TextIndex
}

// TextIndex is the index of a kind's values (migrations/000034_search.up.sql:search_blocks). Of each block of rows it
// says what they contain, so a search reads only the blocks that may have what it looks for.
type TextIndex struct {
	Fields []string // whose whole values it has, beside those of metadata and the parts of texts
	Older  string   // SELECT of the ID of the account's row that is @over rows older than @before
}

// searchedFirst is how many rows a search reads before it asks the index. A frequent value fills the page from them.
const searchedFirst = 1000

const (
	// blocksAtOnce is how many blocks one statement of a search reads. More are rarely needed to fill a page.
	blocksAtOnce = 100
	// blocksFound is how many blocks the index is asked for at once. It has to look all of them up each time.
	blocksFound = 5000
)

// trigram is how many characters an index has together (migrations/000034_search.up.sql:search_terms). So many are
// also what Stripe requires of a part of a text.
const trigram = 3

// CreatedSeconds is created_at in Unix seconds, as searches compare it.
const CreatedSeconds = `floor(extract(epoch FROM created_at))::bigint`

// RunSearch reads one page of what a query finds, from the tables themselves: an
// object is found as soon as it is answered.
func RunSearch[Row any, R wired[Row]](
	ctx context.Context, db phase.Reader, v Principal, in Search, s Searchable,
) (any, error) {
	query, err := parseSearch(in.Query)
	if err != nil {
		return nil, err
	}
	args := v.Args()
	condition, err := s.condition(query, args)
	if err != nil {
		return nil, err
	}
	before, err := afterPage(in)
	if err != nil {
		return nil, err
	}
	terms, err := s.terms(ctx, db, query, args)
	if err != nil {
		return nil, err
	}
	found := SearchObject{Object: "search_result", Data: []any{}, URL: "/v1/" + s.Plural + "/search"}
	if slices.Contains(in.Expand, "total_count") {
		total, err := s.count(ctx, db, condition, terms, args)
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", s.Plural, err)
		}
		found.TotalCount = &total
	}
	page := searchedPage{Searchable: s, condition: condition, terms: terms, args: args, before: before,
		limit: int(in.Limit) + 1}
	hits, err := readHits[Row](ctx, db, page)
	if err != nil {
		return nil, fmt.Errorf("search %s: %w", s.Plural, err)
	}
	for i, row := range hits[:min(len(hits), int(in.Limit))] {
		object := R(row).Render()
		found.Data = append(found.Data, object)
		if i+1 == int(in.Limit) && len(hits) > i+1 {
			t, err := Tree(object)
			if err != nil {
				return nil, err
			}
			next := pageToken(in.Query, t["id"].(string))
			found.HasMore, found.NextPage = true, &next
		}
	}
	return Expand(ctx, db, v, in.Expand, found)
}

// searchedPage is what one page of a search reads: at most limit rows with IDs less than before.
type searchedPage struct {
	Searchable
	condition string
	terms     [][]int32
	args      pgx.StrictNamedArgs
	before    string
	limit     int
}

const selectIndexed = `
	SELECT last_id AS id FROM search_blocks WHERE account_id = @account_id AND kind = @kind
	ORDER BY last_id DESC LIMIT 1`

const selectBlocks = `
	SELECT after_id, last_id FROM search_found(@account_id, @kind, @before, @terms::integer[], @limit)`

// block is a range of IDs: after the one, up to the other.
type block struct{ AfterID, LastID string }

// blocks are the newest blocks with rows below an ID that may match.
func (s Searchable) blocks(
	ctx context.Context, db phase.Reader, terms [][]int32, account any, before string,
) (all []block, err error) {
	for _, of := range terms {
		rows, err := db.Query(ctx, selectBlocks, pgx.QueryExecModeExec, pgx.StrictNamedArgs{
			"account_id": account,
			"kind":       s.Plural,
			"before":     before,
			"terms":      of,
			"limit":      int64(blocksFound),
		})
		if err != nil {
			return nil, err
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByName[block])
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b block) int { return strings.Compare(b.LastID, a.LastID) })
	all = slices.Compact(all)
	return all[:min(len(all), blocksFound)], nil
}

// readHits reads the newest rows and those that no block has yet. Then it reads the blocks below them that may match.
func readHits[Row any](ctx context.Context, db phase.Reader, page searchedPage) (hits []*Row, err error) {
	edge, err := page.edge(ctx, db)
	if err != nil {
		return nil, err
	}
	if edge == FirstID {
		return readBetween[Row](ctx, db, page, "", nil)
	}
	hits, err = readBetween[Row](ctx, db, page, ` AND id >= @edge`, pgx.StrictNamedArgs{"edge": edge})
	if err != nil || len(hits) == page.limit {
		return hits, err
	}
	page.before = min(page.before, edge)
	err = page.eachBlocks(ctx, db, func(narrowed string, of pgx.StrictNamedArgs) (bool, error) {
		rest := page
		rest.limit -= len(hits)
		found, err := readBetween[Row](ctx, db, rest, narrowed, of)
		hits = append(hits, found...)
		return len(hits) < page.limit, err
	})
	return hits, err
}

// eachBlocks calls a function for some blocks after others that may match, the newest first, until it wants no more.
func (p searchedPage) eachBlocks(
	ctx context.Context, db phase.Reader, do func(narrowed string, of pgx.StrictNamedArgs) (bool, error),
) error {
	// PostgreSQL takes an array for short and looks each ID up. It might join a subquery with the whole table.
	narrowed := ` AND id = ANY (ARRAY(SELECT i.id
		FROM unnest(@after_ids::text[], @last_ids::text[]) b (after_id, last_id)
		CROSS JOIN LATERAL (SELECT id FROM ` + p.Plural + `
			WHERE account_id = @account_id AND id > b.after_id AND id <= b.last_id) i))`
	for before := p.before; ; {
		found, err := p.blocks(ctx, db, p.terms, p.args["account_id"], before)
		if err != nil || len(found) == 0 {
			return err
		}
		for blocks := range slices.Chunk(found, blocksAtOnce) {
			var after, last []string
			for _, b := range blocks {
				after, last = append(after, b.AfterID), append(last, b.LastID)
			}
			more, err := do(narrowed, pgx.StrictNamedArgs{"after_ids": after, "last_ids": last})
			if err != nil || !more {
				return err
			}
			before = after[len(after)-1]
		}
		if len(found) < blocksFound {
			return nil
		}
	}
}

// edge is the ID down to which a page reads every row: FirstID if no index narrows its search.
func (p searchedPage) edge(ctx context.Context, db phase.Reader) (string, error) {
	if p.terms == nil {
		return FirstID, nil
	}
	indexed, err := p.indexed(ctx, db, p.args["account_id"])
	if err != nil || indexed == FirstID {
		return FirstID, err
	}
	older, err := firstOf(ctx, db, p.Index.Older, pgx.StrictNamedArgs{
		"account_id": p.args["account_id"],
		"before":     p.before,
		"over":       searchedFirst,
	})
	return min(older, indexed), err
}

// indexed is the last ID that a block has.
func (s Searchable) indexed(ctx context.Context, db phase.Reader, account any) (string, error) {
	return firstOf(ctx, db, selectIndexed, pgx.StrictNamedArgs{"account_id": account, "kind": s.Plural})
}

func firstOf(ctx context.Context, db phase.Reader, sql string, args pgx.StrictNamedArgs) (string, error) {
	rows, err := db.Query(ctx, sql, args)
	if err != nil {
		return "", err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(ids) == 0 {
		return FirstID, err
	}
	return ids[0], nil
}

func readBetween[Row any](
	ctx context.Context, db phase.Reader, page searchedPage, narrowed string, of pgx.StrictNamedArgs,
) ([]*Row, error) {
	args := maps.Clone(page.args)
	maps.Copy(args, of)
	args["before"], args["limit"] = page.before, int64(page.limit)
	// Queries come in too many shapes to keep each of them prepared. So PostgreSQL plans each with its values.
	rows, err := db.Query(ctx, page.Rows+page.condition+narrowed+` AND id < @before ORDER BY id DESC LIMIT @limit`,
		pgx.QueryExecModeExec, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Row])
}

// CountMatches is how many of the principal's objects a query finds.
func CountMatches(ctx context.Context, db phase.Reader, v Principal, s Searchable, query string) (int64, error) {
	parsed, err := parseSearch(query)
	if err != nil {
		return 0, err
	}
	args := v.Args()
	condition, err := s.condition(parsed, args)
	if err != nil {
		return 0, err
	}
	terms, err := s.terms(ctx, db, parsed, args)
	if err != nil {
		return 0, err
	}
	return s.count(ctx, db, condition, terms, args)
}

// count counts the rows that no block has yet, and those of the blocks that may match.
func (s Searchable) count(
	ctx context.Context, db phase.Reader, condition string, terms [][]int32, args pgx.StrictNamedArgs,
) (total int64, err error) {
	page := searchedPage{Searchable: s, condition: condition, terms: terms, args: args, before: LastID}
	indexed := FirstID
	if terms != nil {
		if indexed, err = s.indexed(ctx, db, args["account_id"]); err != nil {
			return 0, err
		}
	}
	add := func(narrowed string, of pgx.StrictNamedArgs) (bool, error) {
		of["before"] = page.before
		maps.Copy(of, args)
		rows, err := db.Query(ctx, `SELECT count(*) FROM (`+s.Rows+condition+narrowed+` AND id < @before) AS found`,
			pgx.QueryExecModeExec, of)
		if err != nil {
			return false, err
		}
		n, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
		total += n
		return true, err
	}
	if _, err := add(` AND id >= @edge`, pgx.StrictNamedArgs{"edge": indexed}); err != nil || indexed == FirstID {
		return total, err
	}
	page.before = indexed
	return total, page.eachBlocks(ctx, db, add)
}

// condition is a query in SQL. Its values go into args.
func (s Searchable) condition(q searchQuery, args pgx.StrictNamedArgs) (string, error) {
	parts := make([]string, 0, len(q.clauses))
	for i, c := range q.clauses {
		part, err := s.clause(c, strconv.Itoa(i), args)
		if err != nil {
			return "", err
		}
		if c.negated { // a missing value is not equal to anything
			part = "NOT coalesce(" + part + ", false)"
		}
		parts = append(parts, part)
	}
	joint := " AND "
	if q.any {
		joint = " OR "
	}
	return " AND (" + strings.Join(parts, joint) + ")", nil
}

const selectTerms = `SELECT search_terms(@account_id, @kind, @parts::text[], @fields::text[], @words::text[])`

// terms are the terms that the index has of each row that the query finds: of all its clauses, or one list for each
// side of an OR. There are none if a row may be found that no term gives.
func (s Searchable) terms(
	ctx context.Context, db phase.Reader, q searchQuery, args pgx.StrictNamedArgs,
) (all [][]int32, err error) {
	if s.Index == nil {
		return nil, nil
	}
	looked := make([]lookedUp, 1)
	for i, c := range q.clauses {
		if q.any {
			looked = append(looked[:i], lookedUp{})
		}
		if found := looked[len(looked)-1].add(s, c); !found && q.any {
			return nil, nil
		}
	}
	if !q.any && len(looked[0].parts)+len(looked[0].words) == 0 {
		return nil, nil
	}
	for _, of := range looked {
		rows, err := db.Query(ctx, selectTerms, pgx.StrictNamedArgs{
			"account_id": args["account_id"],
			"kind":       s.Plural,
			"parts":      of.parts,
			"fields":     of.fields,
			"words":      of.words,
		})
		if err != nil {
			return nil, fmt.Errorf("find the terms of a search: %w", err)
		}
		terms, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[[]int32])
		if err != nil {
			return nil, fmt.Errorf("find the terms of a search: %w", err)
		}
		all = append(all, terms)
	}
	return all, nil
}

// lookedUp is what an index is asked for: parts of texts, and whole values of fields.
type lookedUp struct{ parts, fields, words []string }

// add adds what a clause looks for, if the index has it.
func (l *lookedUp) add(s Searchable, c searchClause) bool {
	field := c.field
	if c.key != "" {
		field += "." + c.key
	}
	switch {
	case c.negated || c.isNull():
		return false
	case c.op == "~":
		l.parts = append(l.parts, c.value)
		return true
	case c.op != ":" || c.key == "" && !slices.Contains(s.Index.Fields, field):
		return false
	}
	word := c.value
	if number, err := strconv.ParseInt(word, 10, 64); err == nil && s.Fields[c.field].Kind == SearchNumber {
		word = strconv.FormatInt(number, 10)
	}
	l.fields, l.words = append(l.fields, field), append(l.words, word)
	return true
}

func (s Searchable) clause(c searchClause, n string, args pgx.StrictNamedArgs) (string, error) {
	field, known := s.Fields[c.field]
	if c.field == "metadata" && c.key != "" {
		key := "key" + n
		args[key] = c.key
		field, known = SearchField{SearchText, "(" + s.Metadata + " ->> @" + key + "::text)"}, true
	}
	if !known {
		return "", apierror.Invalid("query", "Field `%s` is an unsupported search field for resource `%s`. "+
			"See http://stripe.com/docs/search#query-fields-for-%s for a list of supported fields.",
			apierror.Quote(c.field), s.Plural, strings.ReplaceAll(s.Plural, "_", "-"))
	}
	if c.isNull() && c.op == ":" {
		return field.SQL + " IS NULL", nil
	}
	name := "value" + n
	compared, err := field.compare(c, name, args)
	if err == nil && field.SQL == CreatedSeconds {
		compared = "(" + compared + s.idBounds(c.op, n, args) + ")"
	}
	return compared, err
}

// idBounds bounds the IDs of what was created at the clause's value, before or after it. It refuses no row that the
// clause accepts. The rows are read by ID: without it, a search of one day would read all newer rows, or all rows.
func (s Searchable) idBounds(op, n string, args pgx.StrictNamedArgs) (sql string) {
	at := time.Unix(min(max(args["value"+n].(int64), 0), id.Latest.Unix()), 0)
	if op != "<" && op != "<=" {
		args["from"+n] = idAt(s.Prefix, at.Add(-idSlack), FirstID)
		sql += " AND id >= @from" + n + "::text"
	}
	if op != ">" && op != ">=" {
		args["to"+n] = idAt(s.Prefix, at.Add(time.Second+idSlack), LastID)
		sql += " AND id < @to" + n + "::text"
	}
	return sql
}

// compare is one comparison in SQL. It refuses what the field's kind cannot do.
func (f SearchField) compare(c searchClause, name string, args pgx.StrictNamedArgs) (string, error) {
	switch {
	case f.Kind == SearchNumber && c.op != "~":
		number, err := strconv.ParseInt(c.value, 10, 64)
		if err != nil {
			return "", apierror.Invalid("query", "The value of `%s` has to be a whole number.", c.field)
		}
		args[name] = number
		return f.SQL + " " + strings.Replace(c.op, ":", "=", 1) + " @" + name + "::bigint", nil
	case f.Kind == SearchBool && c.op == ":":
		if c.value != "true" && c.value != "false" {
			return "", apierror.Invalid("query", "The value of `%s` has to be true or false.", c.field)
		}
		args[name] = c.value == "true"
		return f.SQL + " = @" + name + "::boolean", nil
	case (f.Kind == SearchText || f.Kind == SearchToken) && !c.quoted && !(f.Kind == SearchToken && digits(c.value)):
		return "", unparsable() // last4:4242 is Stripe's own example
	case (f.Kind == SearchText || f.Kind == SearchToken) && c.op == ":":
		args[name] = c.value
		return "lower(" + f.SQL + ") = lower(@" + name + "::text)", nil
	case f.Kind == SearchText && c.op == "~":
		if utf8.RuneCountInString(c.value) < trigram {
			return "", apierror.Invalid("query", "A substring to search for needs at least %d characters.", trigram)
		}
		args[name] = c.value
		return "strpos(lower(" + f.SQL + "), lower(@" + name + "::text)) > 0", nil
	}
	return "", apierror.Invalid("query", "The field `%s` cannot be searched with the operator `%s`.", c.field, c.op)
}

func digits(text string) bool { return strings.Trim(text, "0123456789") == "" }

// pageToken is where a search goes on: behind an object, and for this query only.
func pageToken(query, lastID string) string {
	sum := sha256.Sum256([]byte(query))
	return base64.RawURLEncoding.EncodeToString(append(sum[:6:6], lastID...))
}

// afterPage is the id that a search goes on from.
func afterPage(in Search) (string, error) {
	if in.Page == "" {
		return LastID, nil
	}
	token, err := base64.RawURLEncoding.DecodeString(in.Page)
	if err != nil || len(token) < 6 || pageToken(in.Query, string(token[6:])) != in.Page || !utf8.Valid(token[6:]) ||
		strings.ContainsRune(string(token[6:]), 0) {
		return "", apierror.Invalid("page",
			"This page token does not belong to this search. Pass next_page as it was returned, with the same query.")
	}
	return string(token[6:]), nil
}
