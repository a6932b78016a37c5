//go:build unix

package pgtest

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Text is everything that the database keeps, by table, for tests that look for
// what must not be there. Bytes are shown as the text they are.
func (db *DB) Text(t testing.TB) map[string]string {
	t.Helper()
	conn, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	_, err = conn.Exec(t.Context(), `SET bytea_output = 'escape'`)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), `
		SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]string{}
	for _, table := range tables {
		var text string
		err := conn.QueryRow(t.Context(),
			fmt.Sprintf(`SELECT coalesce(string_agg(t::text, E'\n'), '') FROM %s t`, table)).Scan(&text)
		if err != nil {
			t.Fatal(err)
		}
		kept[table] = text
	}
	return kept
}
