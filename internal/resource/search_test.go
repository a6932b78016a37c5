package resource

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/id"
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

var searchableThings = Searchable{Plural: "things", Metadata: "metadata", Prefix: "th", Fields: map[string]SearchField{
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
		if strings.ContainsAny(rest, `'";\`) || len(args) > 3*maxSearchClauses {
			t.Fatalf("%q became %s with %v", text, condition, args)
		}
	})
}

// The primary key is the only order that a search reads in.
func TestASearchByTimeIsABoundOnIDs(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 5, 17, 0, 0, 0, 0, time.UTC)
	before, behind := "th_"+id.EncodeTime(day.Add(-idSlack)), "th_"+id.EncodeTime(day.Add(idSlack+time.Second))
	const second = "1778976000" // day
	for query, want := range map[string]struct {
		sql      string
		from, to any
	}{
		"created>" + second:            {" AND id >= @from0::text)", before, nil},
		"created>=" + second:           {" AND id >= @from0::text)", before, nil},
		"created<" + second:            {" AND id < @to0::text)", nil, behind},
		"created<=" + second:           {" AND id < @to0::text)", nil, behind},
		"created:" + second:            {" AND id >= @from0::text AND id < @to0::text)", before, behind},
		"-created:" + second:           {" AND id >= @from0::text AND id < @to0::text), false)", before, behind},
		"created>-9223372036854775808": {" AND id >= @from0::text)", FirstID, nil},
		"created<9223372036854775807":  {" AND id < @to0::text)", nil, LastID},
		"amount>" + second:             {"", nil, nil},
	} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			var asked recorder
			_, err := RunSearch[listed](t.Context(), &asked, Principal{}, Search{Query: query}, searchableThings)
			if !errors.Is(err, errRecorded) {
				t.Fatal(err)
			}
			if asked.args["from0"] != want.from || asked.args["to0"] != want.to {
				t.Errorf("IDs from %v to %v, want from %v to %v", asked.args["from0"], asked.args["to0"], want.from,
					want.to)
			}
			bounds := strings.Count(want.sql, " id ") + 2 // of the page
			if !strings.Contains(asked.sql, want.sql) || strings.Count(asked.sql, " id ") != bounds {
				t.Errorf("the statement is %s", asked.sql)
			}
		})
	}
}
