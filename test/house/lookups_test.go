package house_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/test/statements"
)

// bounded is a condition that names one ID, or all IDs of a time.
var bounded = regexp.MustCompile(`\bid = \$|\bid >= \$.*\bid < \$`)

// TestIDsAreLookedUpInEachAccount plans the statements that know an ID and not its account. Primary keys begin with the
// account or the book, so such a statement has to search the index once for each account. With many accounts PostgreSQL
// prefers to read all of the index, which grows with the payments, unless the statement leaves it no choice. Without
// nested loops a plan shows on empty tables, too, whether there is a choice.
func TestIDsAreLookedUpInEachAccount(t *testing.T) {
	t.Parallel()
	planner := newAccountPlanner(t)
	if _, err := planner.conn.Exec(t.Context(), "SET enable_nestloop = off"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		sql  string
		free []string
	}{
		"PostgreSQL may choose a join": {
			"SELECT c.id FROM accounts a JOIN charges c ON c.account_id = a.id AND c.id = @id",
			[]string{"charges AS c"}},
		"a range of IDs does not change that": {"SELECT p.id FROM ledger_books b JOIN ledger_postings p " +
			"ON p.book_id = b.id AND p.id >= @a AND p.id < @b", []string{"ledger_postings AS p"}},
		"OFFSET 0 leaves no choice": {"SELECT c.id FROM accounts a CROSS JOIN LATERAL (" +
			"SELECT id FROM charges WHERE account_id = a.id AND id = @id OFFSET 0) c", nil},
		"nor does an account": {"SELECT id FROM charges WHERE account_id = @a AND id = @id", nil},
	} {
		t.Run(name, func(t *testing.T) {
			plans, err := planner.plans(t.Context(), statements.Statement{SQL: c.sql})
			if err != nil {
				t.Fatal(err)
			}
			if free := planner.searchedByID(plans); !slices.Equal(free, c.free) {
				t.Errorf("found %q, want %q", free, c.free)
			}
		})
	}
	all, err := statements.Find(root, "internal")
	if err != nil {
		t.Fatal(err)
	}
	of := regexp.MustCompile(`^internal/(dashboard|ledger|payout)/`)
	for _, s := range all {
		if !of.MatchString(s.Name) {
			continue
		}
		plans, err := planner.plans(t.Context(), s)
		if err != nil {
			t.Errorf("%s: %v", s.At, err)
			continue
		}
		if free := planner.searchedByID(plans); len(free) > 0 {
			t.Errorf("%s (%s) may read all of an index, to find an ID in %s", s.At, s.Name, strings.Join(free, ", "))
		}
	}
}

// searchedByID returns the scans of plans that have an ID and neither an account nor a book, as "table AS alias".
func (p *accountPlanner) searchedByID(plans []planNode) (found []string) {
	for _, n := range plans {
		condition := n.Index + n.Recheck + n.Filter
		ofAccount := strings.Contains(condition, "account_id") || strings.Contains(condition, "book_id")
		own := slices.Contains(p.columns[n.Relation], "account_id") || slices.Contains(p.columns[n.Relation], "book_id")
		if n.Schema == "public" && own && bounded.MatchString(condition) && !ofAccount {
			found = append(found, n.Relation+" AS "+n.Alias)
		}
		found = append(found, p.searchedByID(n.Plans)...)
	}
	return found
}
