package resource

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
)

func TestASearchQueryMeansWhatItSays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]searchQuery{
		`email:"a@b.c"`: {clauses: []searchClause{{
			field:  "email",
			op:     ":",
			value:  "a@b.c",
			quoted: true,
		}}},
		` -metadata["a b"]~'it\'s' `: {clauses: []searchClause{{
			field:   "metadata",
			key:     "a b",
			op:      "~",
			value:   "it's",
			quoted:  true,
			negated: true,
		}}},
		`amount>=10 and created<20`: {clauses: []searchClause{{field: "amount", op: ">=", value: "10"},
			{field: "created", op: "<", value: "20"}}},
		`amount:1 status:"x"`: {clauses: []searchClause{{field: "amount", op: ":", value: "1"},
			{field: "status", op: ":", value: "x", quoted: true}}},
		"amount:1\nOR\tstatus:\"x\"": {
			any: true,
			clauses: []searchClause{{field: "amount", op: ":", value: "1"},
				{field: "status", op: ":", value: "x", quoted: true}},
		},
		`name:"a OR b" OR -phone:null`: {
			any: true,
			clauses: []searchClause{{field: "name", op: ":", value: "a OR b", quoted: true},
				{field: "phone", op: ":", value: "null", negated: true}},
		},
	} {
		got, err := parseSearch(text)
		if err != nil || got.any != want.any || !slices.Equal(got.clauses, want.clauses) {
			t.Errorf("%s is read as %+v (%v), want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		``, ` `, `email`, `email:`, `email:"a`, `:"a"`, `metadata[k]:"v"`, `metadata["k":"v"`, `email:"a" AND`,
		`AND email:"a"`, `email:"a"name:"b"`, `(email:"a")`, `email:"a" AND name:"b" OR phone:"c"`,
		`email:"a"; DROP TABLE customers`, strings.Repeat(`amount>1 `, maxSearchClauses+1),
	} {
		if got, err := parseSearch(text); err == nil {
			t.Errorf("%s is read as %+v, want a refusal", text, got)
		}
	}
}

var searchableThings = Searchable{Plural: "things", Metadata: "metadata", Fields: map[string]SearchField{
	"amount":   {SearchNumber, "amount"},
	"created":  {SearchNumber, CreatedSeconds},
	"customer": {SearchToken, "customer_id"},
	"name":     {SearchText, "name"},
	"refunded": {SearchBool, "(amount_refunded = amount)"},
	"status":   {SearchToken, "status"},
}}

// Any input is either rejected with a message for the caller, or becomes a
// statement that contains nothing of it.
func FuzzSearchQuery(f *testing.F) {
	f.Add(`-metadata["k\""]~"' OR 1=1 --" AND amount>=-7`)
	f.Add(`status:'succeeded' OR refunded:true`)
	f.Add(`customer:null created<"20"`)
	f.Fuzz(func(t *testing.T, text string) {
		query, err := parseSearch(text)
		args := pgx.StrictNamedArgs{}
		condition := ""
		if err == nil {
			condition, err = searchableThings.condition(query, args)
		}
		if err != nil {
			if refusal := (*apierror.Error)(nil); !errors.As(err, &refusal) || refusal.Param != "query" {
				t.Fatalf("%q is refused with %v", text, err)
			}
			return
		}
		rest := condition
		for _, field := range searchableThings.Fields {
			rest = strings.ReplaceAll(rest, field.SQL, "")
		}
		if strings.ContainsAny(rest, `'";\`) || len(args) > 2*maxSearchClauses {
			t.Fatalf("%q became %s with %v", text, condition, args)
		}
	})
}
