package schema_test

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/verify"
)

// restored is what an operator has after a disaster: a new database, filled from a
// dump of db.
func restored(t *testing.T, db *pgtest.DB) *pgxpool.Pool {
	t.Helper()
	return restoredOn(t, db, db)
}

// restoredOn makes it on the server of another one.
func restoredOn(t *testing.T, db, beside *pgtest.DB) *pgxpool.Pool {
	t.Helper()
	dumper, restorer := dumpPrograms(t, db)

	dump, err := exec.CommandContext(t.Context(), dumper, "--dbname="+db.URL).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v\n%s", err, standardError(err))
	}
	address := emptyDatabase(t, beside)
	restore := exec.CommandContext(t.Context(), restorer, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1",
		"--single-transaction", "--dbname="+address)
	restore.Stdin = bytes.NewReader(dump)
	_, err = restore.Output()
	if err != nil {
		t.Fatalf("psql: %v\n%s", err, standardError(err))
	}

	pool, err := postgres.Open(t.Context(), postgres.Config{URL: address, MaxConns: 4, ApplicationName: "restored"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// An operator who has restored a dump proves it with "ratchet verify" before anything is started on it.
func TestARestoredSecondLineOfDefenseIsTheSame(t *testing.T) {
	t.Parallel()
	report, err := verify.Run(t.Context(), verify.Config{Pool: restored(t, pgtest.New(t)), AllowEmpty: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range report.Checks {
		for _, v := range check.Violations {
			t.Errorf("%s: %s %s", check.Rule, v.Object, v.Wrong)
		}
	}
}

// emptyDatabase makes one beside db, on the same server: roles belong to
// servers and are in no dump of a database.
func emptyDatabase(t *testing.T, db *pgtest.DB) (address string) {
	t.Helper()
	u, err := url.Parse(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.Path += "_r"
	name := pgx.Identifier{strings.TrimPrefix(u.Path, "/")}.Sanitize()
	mustExec(t, db.Pool, `CREATE DATABASE `+name+` TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'`)
	t.Cleanup(func() {
		// the test's own context is over
		_, err := db.Pool.Exec(context.Background(), `DROP DATABASE `+name+` WITH (FORCE)`)
		if err != nil {
			t.Logf("drop %s: %v", name, err)
		}
	})
	return u.String()
}

// dumpPrograms finds pg_dump and the psql beside it. An older pg_dump refuses a
// newer server, so the first that can read this one is taken.
func dumpPrograms(t *testing.T, db *pgtest.DB) (dumper, restorer string) {
	t.Helper()
	var tried []string
	for _, dir := range programDirs() {
		dumper, restorer = filepath.Join(dir, "pg_dump"), filepath.Join(dir, "psql")
		_, err := exec.LookPath(restorer)
		if err != nil {
			continue
		}
		err = exec.CommandContext(t.Context(), dumper, "--schema-only", "--table=accounts", "--dbname="+db.URL).Run()
		if err == nil {
			return dumper, restorer
		}
		tried = append(tried, dumper+": "+err.Error()+" "+standardError(err))
	}
	var version int
	err := db.Pool.QueryRow(t.Context(), "SELECT current_setting('server_version_num')::int / 10000").Scan(&version)
	if err != nil {
		t.Fatal(err)
	}
	t.Fatalf("found no psql with a pg_dump of PostgreSQL %d or later, which this server needs; its binaries from "+
		"npm have none; from PostgreSQL's apt repository: apt-get install postgresql-client-%[1]d\n%[2]s",
		version, strings.Join(tried, "\n"))
	return "", ""
}

func programDirs() []string {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // fails only for a bad pattern
	if dir := os.Getenv("PGBIN"); dir != "" {             // of "make test-on": its pg_dump is as new as the server
		dirs = append([]string{dir}, dirs...)
	}
	out, err := exec.Command("pg_config", "--bindir").Output()
	if err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	found, err := exec.LookPath("pg_dump")
	if err == nil {
		dirs = append(dirs, filepath.Dir(found))
	}
	return dirs
}

func standardError(err error) string {
	exit, ok := err.(*exec.ExitError)
	if !ok {
		return ""
	}
	return string(exit.Stderr)
}
