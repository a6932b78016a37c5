package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/postgres/local"
)

// TestComposeLogins runs the SQL of the compose file's script on a new server, and then what
// its services do under the logins it creates. No login of the program is a superuser.
func TestComposeLogins(t *testing.T) {
	t.Parallel()
	ctx, setup, state := t.Context(), t.TempDir(), t.TempDir()
	if _, err := setUp(setup, testNow); err != nil {
		t.Fatal(err)
	}
	for dir := state; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { // the server may run as another user
			t.Fatal(err)
		}
	}
	server, err := local.Start(ctx, local.Options{StateDir: state, Ephemeral: true,
		Sources: []local.Source{local.Installed, local.Download}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	superuser, err := pgx.Connect(ctx, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer superuser.Close(ctx)
	if _, err := superuser.Exec(ctx, "DROP DATABASE IF EXISTS ratchet"); err != nil {
		t.Fatal(err)
	}
	for _, statement := range loginStatements(t, setup) {
		if _, err := superuser.Exec(ctx, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}

	// The address that setup wrote, with this server's host and without TLS, which needs the container's files.
	as := func(service string) string {
		text, err := os.ReadFile(filepath.Join(setup, service, "database_url"))
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(string(text))
		here, hereErr := url.Parse(server.URL)
		if err != nil || hereErr != nil {
			t.Fatal(err, hereErr)
		}
		u.Host, u.RawQuery = here.Host, "sslmode=disable"
		return u.String()
	}
	if err := postgres.Migrate(ctx, as("owner")); err != nil {
		t.Fatalf("the owner can't migrate: %v", err)
	}
	for service, role := range map[string]string{"api": "ratchet_api", "worker": workerRole} {
		pool, err := postgres.Open(ctx, postgres.Config{URL: as(service), Role: role, MaxConns: 1})
		if err != nil {
			t.Fatalf("%s can't log in: %v", service, err)
		}
		defer pool.Close()
		if _, err := pool.Exec(ctx, "SELECT count(*) FROM charges"); err != nil {
			t.Errorf("%s can't read: %v", service, err)
		}
		for _, forbidden := range []string{"SET ROLE ratchet_owner", "DELETE FROM ledger_postings",
			"DROP TABLE charges", "CREATE TABLE mine (id int)", "CREATE ROLE friend SUPERUSER"} {
			if _, err := pool.Exec(ctx, forbidden); err == nil {
				t.Errorf("%s may do this: %s", service, forbidden)
			}
		}
	}
}

// loginStatements are the statements of the script logins.sh, with the passwords of setup.
func loginStatements(t *testing.T, setup string) (all []string) {
	t.Helper()
	_, script, _ := strings.Cut(readCompose(t).Configs["logins.sh"].Content, "<<'SQL'\n")
	script, _, is := strings.Cut(script, "SQL\n")
	if !is {
		t.Fatal("logins.sh has no SQL")
	}
	for _, name := range []string{"owner", "api", "worker"} {
		password, err := os.ReadFile(filepath.Join(setup, "postgres", name+"_password"))
		if err != nil {
			t.Fatal(err)
		}
		script = strings.ReplaceAll(script, ":'"+name+"'", "'"+string(password)+"'")
	}
	for _, statement := range strings.Split(script, ";") {
		if strings.TrimSpace(statement) != "" {
			all = append(all, statement)
		}
	}
	return all
}
