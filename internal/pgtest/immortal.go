package pgtest

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// The database's own is_ahead stays as it is, for verify compares it: connections
// find this one first.
const immortal = `
	CREATE SCHEMA immortal;
	CREATE FUNCTION immortal.is_ahead(until timestamptz, at_most interval) RETURNS boolean LANGUAGE sql VOLATILE AS $$
		SELECT until = 'infinity' OR until > clock_timestamp() AND until <= clock_timestamp() + at_most $$;
	GRANT USAGE ON SCHEMA immortal TO PUBLIC;
	DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = immortal, public', current_database()); END $$`

// AllowImmortals lets a process whose row is alive until 'infinity' never lapse, so
// that no test depends on how fast the machine is. Elsewhere such a row is further
// ahead than a process sets it, and its process counts as dead.
func AllowImmortals(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), immortal); err != nil {
		t.Fatalf("allow immortal processes: %v", err)
	}
	pool.Reset()
}
