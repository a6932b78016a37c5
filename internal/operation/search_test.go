package operation_test

import (
	"testing"

	_ "github.com/ratchet-pay/ratchet/internal/operation" // registers every kind of object
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestEverySearchableFieldFitsTheSchema(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	searched := 0
	for _, kind := range resource.Kinds() {
		if kind.Search == nil {
			continue
		}
		searched++
		queries := []string{`metadata["k"]:"v"`, `metadata["k"]~"val"`, `-metadata["k"]:null`}
		for name, field := range kind.Search.Fields {
			queries = append(queries, map[resource.SearchKind]string{
				resource.SearchText:   name + `~"abc"`,
				resource.SearchToken:  name + `:"abc"`,
				resource.SearchNumber: name + `>=5`,
				resource.SearchBool:   name + `:true`,
			}[field.Kind], "-"+name+":null")
		}
		for _, query := range queries {
			found, err := resource.CountMatches(t.Context(), db.Pool, resource.Principal{AccountID: "acct_1"},
				*kind.Search, query)
			if err != nil || found != 0 {
				t.Errorf("%s %s found %d: %v", kind.Search.Plural, query, found, err)
			}
		}
	}
	if searched != 5 {
		t.Errorf("%d kinds of object can be searched, want 5", searched)
	}
}
