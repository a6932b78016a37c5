package pgtest

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Plan is how the database would run a statement, as EXPLAIN shows it. The
// statistics should be there: ANALYZE the tables first.
func (db *DB) Plan(t testing.TB, sql string, args pgx.StrictNamedArgs) string {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), "EXPLAIN "+sql, args)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("explain: %v\n%s", err, sql)
	}
	return strings.Join(lines, "\n")
}
