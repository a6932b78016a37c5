package payments

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
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

// searchKind decides which values and operators a field takes.
type searchKind int

const (
	searchText   searchKind = iota // exact or in part, in any case
	searchToken                    // exact only, in any case
	searchNumber                   // compared
	searchBool                     // true or false
)

// searchField is what a field of the query language is in SQL. Nothing a caller
// typed ever becomes part of a statement: expressions come from the tables
// below, values travel as arguments.
type searchField struct {
	kind searchKind
	sql  string
}

// searchable is one kind of object that can be searched.
type searchable struct {
	plural   string // as the path and Stripe's error name it
	rows     string // SELECT of the viewer's objects, up to its WHERE
	fields   map[string]searchField
	metadata string // the column metadata["…"] looks into
}

const createdSeconds = `floor(extract(epoch FROM created_at))::bigint`

var searchableCustomers = searchable{plural: "customers", rows: selectCustomers + ` AND deleted_at IS NULL`, metadata: "metadata",
	fields: map[string]searchField{
		"created": {searchNumber, createdSeconds},
		"email":   {searchText, "email"},
		"name":    {searchText, "name"},
		"phone":   {searchText, "phone"},
	}}

var searchableCharges = searchable{plural: "charges", rows: selectCharges, metadata: "metadata",
	fields: map[string]searchField{
		"amount":                                {searchNumber, "amount"},
		"created":                               {searchNumber, createdSeconds},
		"currency":                              {searchToken, "currency"},
		"customer":                              {searchToken, "customer_id"},
		"disputed":                              {searchBool, "disputed"},
		"refunded":                              {searchBool, "(amount_refunded = CASE WHEN payment_intent_id IS NOT NULL AND captured THEN amount_captured ELSE amount END)"},
		"status":                                {searchToken, "status"},
		"billing_details.address.postal_code":   {searchToken, "(CASE WHEN card -> 'billing' IS NULL THEN card ->> 'address_zip' ELSE card #>> '{billing,address,postal_code}' END)"},
		"payment_method_details.card.brand":     {searchToken, "(card ->> 'brand')"},
		"payment_method_details.card.exp_month": {searchNumber, "(card ->> 'exp_month')::bigint"},
		"payment_method_details.card.exp_year":  {searchNumber, "(card ->> 'exp_year')::bigint"},
		"payment_method_details.card.fingerprint": {searchToken, "(card ->> 'fingerprint')"},
		"payment_method_details.card.last4":       {searchToken, "(card ->> 'last4')"},
	}}

var searchableIntents = searchable{plural: "payment_intents", rows: selectIntents, metadata: "metadata",
	fields: map[string]searchField{
		"amount":   {searchNumber, "amount"},
		"created":  {searchNumber, createdSeconds},
		"currency": {searchToken, "currency"},
		"customer": {searchToken, "customer_id"},
		"status":   {searchToken, "status"},
	}}

var searchableProducts = searchable{plural: "products", rows: selectProducts, metadata: "metadata",
	fields: map[string]searchField{
		"active":      {searchBool, "active"},
		"description": {searchText, "description"},
		"name":        {searchText, "name"},
		"shippable":   {searchBool, "shippable"},
		"url":         {searchText, "url"},
	}}

var searchablePrices = searchable{plural: "prices", rows: selectPrices, metadata: "metadata",
	fields: map[string]searchField{
		"active":     {searchBool, "active"},
		"currency":   {searchToken, "currency"},
		"lookup_key": {searchToken, "lookup_key"},
		"product":    {searchToken, "product_id"},
		"type":       {searchToken, "'one_time'"},
	}}

// SearchCustomers answers GET /v1/customers/search.
func SearchCustomers(ctx context.Context, db phase.Reader, v Viewer, in Search) (any, error) {
	return search[Customer](ctx, db, v, in, searchableCustomers)
}

// SearchCharges answers GET /v1/charges/search.
func SearchCharges(ctx context.Context, db phase.Reader, v Viewer, in Search) (any, error) {
	return search[Charge](ctx, db, v, in, searchableCharges)
}

// SearchPaymentIntents answers GET /v1/payment_intents/search.
func SearchPaymentIntents(ctx context.Context, db phase.Reader, v Viewer, in Search) (any, error) {
	return search[PaymentIntent](ctx, db, v, in, searchableIntents)
}

// SearchProducts answers GET /v1/products/search.
func SearchProducts(ctx context.Context, db phase.Reader, v Viewer, in Search) (any, error) {
	return search[Product](ctx, db, v, in, searchableProducts)
}

// SearchPrices answers GET /v1/prices/search.
func SearchPrices(ctx context.Context, db phase.Reader, v Viewer, in Search) (any, error) {
	return search[Price](ctx, db, v, in, searchablePrices)
}

// search reads one page of what a query finds, from the tables themselves: an
// object is found as soon as it is answered.
func search[Row any, R wired[Row]](ctx context.Context, db phase.Reader, v Viewer, in Search, s searchable) (any, error) {
	query, err := parseSearch(in.Query)
	if err != nil {
		return nil, err
	}
	args := v.args()
	condition, err := s.condition(query, args)
	if err != nil {
		return nil, err
	}
	before, err := afterPage(in)
	if err != nil {
		return nil, err
	}
	found := SearchObject{Object: "search_result", Data: []any{}, URL: "/v1/" + s.plural + "/search"}
	if slices.Contains(in.Expand, "total_count") {
		total, err := count(ctx, db, s.rows+condition, args)
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", s.plural, err)
		}
		found.TotalCount = &total
	}
	args["before"], args["limit"] = before, int64(in.Limit)+1
	// Queries come in too many shapes to keep each of them prepared.
	rows, err := db.Query(ctx, s.rows+condition+` AND id < @before ORDER BY id DESC LIMIT @limit`, pgx.QueryExecModeExec, args)
	if err != nil {
		return nil, fmt.Errorf("search %s: %w", s.plural, err)
	}
	hits, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Row])
	if err != nil {
		return nil, fmt.Errorf("search %s: %w", s.plural, err)
	}
	for i, row := range hits[:min(len(hits), int(in.Limit))] {
		object := R(row).wire()
		found.Data = append(found.Data, object)
		if i+1 == int(in.Limit) && len(hits) > i+1 {
			t, err := tree(object)
			if err != nil {
				return nil, err
			}
			next := pageToken(in.Query, t["id"].(string))
			found.HasMore, found.NextPage = true, &next
		}
	}
	return expand(ctx, db, v, in.Expand, found)
}

func count(ctx context.Context, db phase.Reader, sql string, args pgx.StrictNamedArgs) (total int64, err error) {
	rows, err := db.Query(ctx, `SELECT count(*) FROM (`+sql+`) AS found`, pgx.QueryExecModeExec, args)
	if err != nil {
		return 0, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
}

// condition is a query in SQL. Its values go into args.
func (s searchable) condition(q searchQuery, args pgx.StrictNamedArgs) (string, error) {
	parts := make([]string, 0, len(q.clauses))
	for i, c := range q.clauses {
		part, err := s.clause(c, strconv.Itoa(i), args)
		if err != nil {
			return "", err
		}
		if c.negated { // what is not there is not equal to anything
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

func (s searchable) clause(c searchClause, n string, args pgx.StrictNamedArgs) (string, error) {
	field, known := s.fields[c.field]
	if c.field == "metadata" && c.key != "" {
		key := "key" + n
		args[key] = c.key
		field, known = searchField{searchText, "(" + s.metadata + " ->> @" + key + "::text)"}, true
	}
	if !known {
		return "", apierror.Invalid("query", "Field `%s` is an unsupported search field for resource `%s`. "+
			"See http://stripe.com/docs/search#query-fields-for-%s for a list of supported fields.", apierror.Quote(c.field), s.plural, strings.ReplaceAll(s.plural, "_", "-"))
	}
	if c.isNull() && c.op == ":" {
		return field.sql + " IS NULL", nil
	}
	name := "value" + n
	return field.compare(c, name, args)
}

// compare is one comparison in SQL. It refuses what the field's kind cannot do.
func (f searchField) compare(c searchClause, name string, args pgx.StrictNamedArgs) (string, error) {
	switch {
	case f.kind == searchNumber && c.op != "~":
		number, err := strconv.ParseInt(c.value, 10, 64)
		if err != nil {
			return "", apierror.Invalid("query", "The value of `%s` has to be a whole number.", c.field)
		}
		args[name] = number
		return f.sql + " " + strings.Replace(c.op, ":", "=", 1) + " @" + name + "::bigint", nil
	case f.kind == searchBool && c.op == ":":
		if c.value != "true" && c.value != "false" {
			return "", apierror.Invalid("query", "The value of `%s` has to be true or false.", c.field)
		}
		args[name] = c.value == "true"
		return f.sql + " = @" + name + "::boolean", nil
	case (f.kind == searchText || f.kind == searchToken) && !c.quoted && !(f.kind == searchToken && digits(c.value)):
		return "", unparsable() // last4:4242 is Stripe's own example
	case (f.kind == searchText || f.kind == searchToken) && c.op == ":":
		args[name] = c.value
		return "lower(" + f.sql + ") = lower(@" + name + "::text)", nil
	case f.kind == searchText && c.op == "~":
		if utf8.RuneCountInString(c.value) < 3 {
			return "", apierror.Invalid("query", "A substring to search for needs at least 3 characters.")
		}
		args[name] = c.value
		return "strpos(lower(" + f.sql + "), lower(@" + name + "::text)) > 0", nil
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
		return lastID, nil
	}
	token, err := base64.RawURLEncoding.DecodeString(in.Page)
	if err != nil || len(token) < 6 || pageToken(in.Query, string(token[6:])) != in.Page || !utf8.Valid(token[6:]) || strings.ContainsRune(string(token[6:]), 0) {
		return "", apierror.Invalid("page", "This page token does not belong to this search. Pass next_page as it was returned, with the same query.")
	}
	return string(token[6:]), nil
}
