// Package schema_test tries what the schema promises to refuse, with plain SQL
// and no other part of the program in between: a promise that only holds while
// the Go code behaves is not the database's.
package schema_test

import (
	_ "embed"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

//go:embed seed.sql
var seed string

// seeded is a fresh database with the shop of seed.sql in it.
func seeded(t *testing.T) *pgtest.DB {
	t.Helper()
	db := pgtest.New(t)
	mustExec(t, db.Pool, seed)
	return db
}

func mustExec(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql)
	if err != nil {
		t.Fatalf("%v\nin: %s", err, sql)
	}
}
