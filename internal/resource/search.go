package resource

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
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
}

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
	found := SearchObject{Object: "search_result", Data: []any{}, URL: "/v1/" + s.Plural + "/search"}
	if slices.Contains(in.Expand, "total_count") {
		total, err := count(ctx, db, s.Rows+condition, args)
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", s.Plural, err)
		}
		found.TotalCount = &total
	}
	args["before"], args["limit"] = before, int64(in.Limit)+1
	// Queries come in too many shapes to keep each of them prepared.
	rows, err := db.Query(ctx, s.Rows+condition+` AND id < @before ORDER BY id DESC LIMIT @limit`,
		pgx.QueryExecModeExec, args)
	if err != nil {
		return nil, fmt.Errorf("search %s: %w", s.Plural, err)
	}
	hits, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Row])
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
	return count(ctx, db, s.Rows+condition, args)
}

func count(ctx context.Context, db phase.Reader, sql string, args pgx.StrictNamedArgs) (total int64, err error) {
	rows, err := db.Query(ctx, `SELECT count(*) FROM (`+sql+`) AS found`, pgx.QueryExecModeExec, args)
	if err != nil {
		return 0, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
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
		if utf8.RuneCountInString(c.value) < 3 {
			return "", apierror.Invalid("query", "A substring to search for needs at least 3 characters.")
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
