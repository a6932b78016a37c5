// Package pgtest gives every test its own PostgreSQL database, with the
// schema in place: real commits, nothing shared, everything in parallel.
//
// A test's database is a copy of a template that was migrated once. The server
// under it is $TEST_DATABASE_URL, or else one that the test process starts for
// itself, without durability and in memory where there is room. Nothing has to
// be set up, and nothing stays behind when the process is killed.
//
// The database of a failed test can be kept for a look:
//
//	KEEP_DB=1 go test ./internal/ledger -run TestPost
package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// poolSize is enough for a test with a handful of goroutines, and lets wide
// parallel runs share the server's connections (maxConnections).
const poolSize = 8

// timeout replaces the program's for statements and idle transactions in the pools of tests. Tests insert many rows at
// once, and many of them share the machine.
const timeout = "1min"

// DB is one test's database.
type DB struct {
	// URL logs in as the superuser.
	URL string

	// Pool is logged in as the superuser, with the limits every session of the program has (see postgres.Open), except
	// that a statement and an idle transaction may take a minute. It is closed when the test ends.
	Pool *pgxpool.Pool
}

// New returns a fresh, migrated database. It is dropped when the test ends,
// unless the test failed and the server will live on.
func New(t testing.TB) *DB {
	t.Helper()
	s := shared(t)

	name := databaseName(t)
	_, err := s.admin.Exec(t.Context(), s.cloneTemplate(name))
	if err != nil {
		t.Fatalf("pgtest: clone the template: %v", err)
	}
	// A copy of a database has its tables' grants, and not the database's own.
	_, err = s.admin.Exec(t.Context(), `REVOKE TEMPORARY ON DATABASE `+pgx.Identifier{name}.Sanitize()+` FROM PUBLIC`)
	if err != nil {
		t.Fatalf("pgtest: revoke temporary tables: %v", err)
	}

	db := &DB{URL: withDatabase(s.url, name)}
	t.Cleanup(func() { s.dropOrKeep(t, db, name) })
	db.Pool = open(t, db.URL, "")
	return db
}

// cloneTemplate is the statement that creates a database with all migrations.
func (s *server) cloneTemplate(name string) string {
	return `CREATE DATABASE ` + pgx.Identifier{name}.Sanitize() + ` TEMPLATE ` + pgx.Identifier{s.template}.Sanitize() +
		` STRATEGY file_copy` // without fsync twice as fast as the default
}

// PoolAs returns a pool on the same database whose statements run with the
// grants of role. It is closed when the test ends.
func (db *DB) PoolAs(t testing.TB, role string) *pgxpool.Pool {
	t.Helper()
	return open(t, db.URL, role)
}

func open(t testing.TB, url, role string) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), postgres.Config{
		URL: withConnectTimeout(Sparing(url)), Role: role, MaxConns: poolSize, ApplicationName: "pgtest",
		Session: map[string]string{"statement_timeout": timeout, "idle_in_transaction_session_timeout": timeout},
	})
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// withConnectTimeout is for connections of the test itself: on a busy machine, the server takes seconds to accept one.
func withConnectTimeout(address string) string { return address + "&connect_timeout=60" }

func (s *server) dropOrKeep(t testing.TB, db *DB, name string) {
	t.Helper()
	if t.Failed() && s.outlives {
		s.kept.Store(true)
		t.Logf("pgtest: kept the database of this failed test:\n\tpsql '%s'%s", db.URL, s.howToStop())
		return
	}
	if t.Failed() {
		t.Log("pgtest: set KEEP_DB=1 to keep the database of a failed test and look into it")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the test's own is over
	defer cancel()
	_, err := s.admin.Exec(ctx, `DROP DATABASE IF EXISTS `+pgx.Identifier{name}.Sanitize()+` WITH (FORCE)`)
	if err != nil {
		t.Logf("pgtest: drop %s: %v", name, err)
	}
}

// databaseName says whose it is, for those that are kept: at most 63 bytes, and
// different for the same test run twice at once.
func databaseName(t testing.TB) string {
	readable := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, t.Name())
	unique := make([]byte, 5)
	_, _ = rand.Read(unique) // never fails
	return "t_" + readable[:min(len(readable), 48)] + "_" + hex.EncodeToString(unique)
}

// Sparing is a database's address for a pool that soon gives back what it does
// not need. Tests that wait for their turn keep pools open by the dozen.
func Sparing(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(fmt.Sprintf("pgtest: %v", err)) // it is one of ours
	}
	query := u.Query()
	query.Set("pool_max_conn_idle_time", "3s")
	query.Set("pool_health_check_period", "1s")
	u.RawQuery = query.Encode()
	return u.String()
}

func withDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(fmt.Sprintf("pgtest: %v", err)) // the server was reached by it
	}
	u.Path = "/" + name
	return u.String()
}

// Main runs a package's tests and then stops the server at once. Without it the
// server still ends with the process; only its files stay until the next run.
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	stopShared()
	os.Exit(code)
}
