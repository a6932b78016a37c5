package main

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/port"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/postgres/local"
)

// TestComposeLogins runs the SQL of the compose file's script on a new server, and then what
// its services do under the logins it creates. No login of the program is a superuser.
func TestComposeLogins(t *testing.T) {
	t.Parallel()
	ctx, setup, state := t.Context(), t.TempDir(), dataDir(t)
	if _, err := setUp(setup, time.Now()); err != nil {
		t.Fatal(err)
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
	statements := append(loginStatements(t, "logins.sh", filepath.Join(setup, "postgres")),
		loginStatements(t, "acquirer-login.sh", filepath.Join(setup, "acquirer-postgres"))...)
	for _, statement := range statements {
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
	requireEncryptedAcquirer(t, setup, as("acquirer"))
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

// requireEncryptedAcquirer starts the acquirer with the certificate of setup, and asks for its health over TLS.
func requireEncryptedAcquirer(t *testing.T, setup, databaseURL string) {
	t.Helper()
	addr, err := port.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(setup, "acquirer")
	acquirer := playing([]string{
		"RATCHET_ACQUIRER_DATABASE_URL=" + databaseURL,
		"RATCHET_ACQUIRER_SECRET_FILE=" + filepath.Join(folder, "acquirer_secret"),
		"RATCHET_ACQUIRER_TLS_CERTIFICATE=" + filepath.Join(folder, "server.crt"),
		"RATCHET_ACQUIRER_TLS_KEY=" + filepath.Join(folder, "server.key"),
	}, "acquirer", "--addr", addr)
	log := &output{}
	acquirer.Stderr = log
	if err := acquirer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(acquirer.Process.Signal(os.Interrupt), acquirer.Wait()); err != nil {
			t.Errorf("the acquirer did not end in order: %v\n%s", err, log)
		}
	})
	_, number, _ := strings.Cut(addr, ":")
	health := func(authority string) bool {
		env := []string{"SSL_CERT_FILE=" + authority}
		_, _, code := ratchet(t, env, "health", "--url", "https://localhost:"+number+"/")
		return code == 0
	}
	await(t, "the acquirer to answer over TLS", func() bool { return health(filepath.Join(folder, "ca.crt")) })
	if health("/nonexistent") {
		t.Error("a client that does not know the authority accepts the certificate")
	}
}

// loginStatements are the SQL statements of a script, with the passwords in a folder of setup.
func loginStatements(t *testing.T, name, folder string) (all []string) {
	t.Helper()
	_, script, _ := strings.Cut(readCompose(t).Configs[name].Content, "<<'SQL'\n")
	script, _, is := strings.Cut(script, "SQL\n")
	if !is {
		t.Fatalf("%s has no SQL", name)
	}
	for _, name := range []string{"owner", "api", "worker"} {
		if !strings.Contains(script, ":'"+name+"'") {
			continue
		}
		password, err := os.ReadFile(filepath.Join(folder, name+"_password"))
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
