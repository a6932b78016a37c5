package pgtest_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestNew(t *testing.T) {
	t.Parallel()

	t.Run("what one test commits no other sees", func(t *testing.T) {
		t.Parallel()
		for i := range 20 {
			t.Run(fmt.Sprint("clone ", i), func(t *testing.T) {
				t.Parallel()
				db := pgtest.New(t)
				_, err := db.Pool.Exec(t.Context(), `
					INSERT INTO accounts (id, name) VALUES ('acct_same', 'the same everywhere')`)
				if err != nil {
					t.Fatal(err)
				}
				var accounts int
				err = db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM accounts`).Scan(&accounts)
				if err != nil {
					t.Fatal(err)
				}
				if accounts != 1 {
					t.Errorf("there are %d accounts, want only our own", accounts)
				}
			})
		}
	})

	t.Run("a clone has the whole schema", func(t *testing.T) {
		t.Parallel()
		status, err := postgres.MigrationStatus(t.Context(), pgtest.New(t).URL)
		if err != nil {
			t.Fatal(err)
		}
		if status.Version != status.Latest || status.Dirty || status.Latest == 0 {
			t.Errorf("the clone stands at %+v", status)
		}
	})

	t.Run("a pool for a role has that role's grants", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		_, err := db.PoolAs(t, "ratchet_auditor").
			Exec(t.Context(), `INSERT INTO accounts (id, name) VALUES ('acct_1', 'x')`)
		if postgres.Code(err) != "42501" { // insufficient_privilege
			t.Errorf("an auditor could write: %v", err)
		}
	})

	t.Run("a test that passes leaves no database", func(t *testing.T) {
		t.Parallel()
		watcher := pgtest.New(t)
		var address string
		t.Run("inner", func(t *testing.T) { address = pgtest.New(t).URL })

		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		var there bool
		err = watcher.Pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`,
			strings.TrimPrefix(u.Path, "/")).Scan(&there)
		if err != nil {
			t.Fatal(err)
		}
		if there {
			t.Errorf("%s is still there", u.Path)
		}
	})
}

// failOnPurpose makes TestFailingOnPurpose fail in a copy of this binary.
const failOnPurpose = "PGTEST_FAIL_ON_PURPOSE"

func TestFailingOnPurpose(t *testing.T) {
	if os.Getenv(failOnPurpose) == "" {
		t.Skip("only run by TestAFailedTest, in a process of its own")
	}
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), `INSERT INTO accounts (id, name) VALUES ('acct_evidence', 'what went wrong')`)
	if err != nil {
		t.Fatal(err)
	}
	t.Error("failing on purpose")
}

func TestAFailedTest(t *testing.T) {
	t.Parallel()

	// fail runs the failing test as its own process, on a separate server.
	fail := func(t *testing.T, env ...string) (output string) {
		t.Helper()
		cmd := exec.Command(os.Args[0], "-test.run=^TestFailingOnPurpose$", "-test.v")
		cmd.Env = append(os.Environ(), "TEST_DATABASE_URL=", "TEST_DATABASE_ENDS=", "KEEP_DB=", failOnPurpose+"=1")
		cmd.Env = append(cmd.Env, env...)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "failing on purpose") {
			t.Fatalf("the test did not fail as it should: %v\n%s", err, out)
		}
		return string(out)
	}

	t.Run("its database is kept on request and can be opened as printed", func(t *testing.T) {
		t.Parallel()
		out := fail(t, "KEEP_DB=1")
		psql := regexp.MustCompile(`psql '([^']+)'`).FindStringSubmatch(out)
		stop := regexp.MustCompile(`kill -INT (\d+)`).FindStringSubmatch(out)
		if psql == nil || stop == nil {
			t.Fatalf("it does not say how to open the database:\n%s", out)
		}
		t.Cleanup(func() { _ = exec.Command("kill", "-INT", stop[1]).Run() })

		conn, err := pgx.Connect(t.Context(), psql[1])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		var name string
		err = conn.QueryRow(t.Context(), `SELECT name FROM accounts WHERE id = 'acct_evidence'`).Scan(&name)
		if err != nil || name != "what went wrong" {
			t.Errorf("the evidence reads %q, %v", name, err)
		}
	})

	t.Run("without the request it says how to make one, and offers nothing that is gone", func(t *testing.T) {
		t.Parallel()
		out := fail(t)
		if !strings.Contains(out, "KEEP_DB=1") || strings.Contains(out, "psql") {
			t.Errorf("got:\n%s", out)
		}
	})

	t.Run("on a server that was given it is kept without being asked", func(t *testing.T) {
		t.Parallel()
		server := pgtest.New(t)
		out := fail(t, "TEST_DATABASE_URL="+server.URL)
		psql := regexp.MustCompile(`psql '([^']+)'`).FindStringSubmatch(out)
		if psql == nil {
			t.Fatalf("it does not say how to open the database:\n%s", out)
		}
		u, err := url.Parse(psql[1])
		if err != nil {
			t.Fatal(err)
		}
		_, err = server.Pool.Exec(t.Context(),
			`DROP DATABASE `+pgx.Identifier{strings.TrimPrefix(u.Path, "/")}.Sanitize())
		if err != nil {
			t.Errorf("the database was not there: %v", err)
		}
	})
}

func TestTestserver(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "testserver")
	out, err := exec.Command("go", "build", "-o", binary, "./cmd/testserver").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	// Two runs of a package's tests on the one server, then our own code.
	const twice = `'%[1]s' -test.run='^TestNew$' && '%[1]s' -test.run='^TestNew$' &&
		echo "$TEST_DATABASE_URL" && exit 7`
	script := fmt.Sprintf(twice, os.Args[0])
	cmd := exec.Command(binary, "--", "sh", "-c", script)
	cmd.Env = append(os.Environ(), "TEST_DATABASE_URL=", "TEST_DATABASE_ENDS=", "KEEP_DB=")
	out, _ = cmd.CombinedOutput()

	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit code %d, want the command's 7:\n%s", code, out)
	}
	address := regexp.MustCompile(`postgres://\S+`).FindString(string(out))
	if address == "" {
		t.Fatalf("the command was given no TEST_DATABASE_URL:\n%s", out)
	}
	conn, err := pgx.Connect(t.Context(), address)
	if err == nil {
		conn.Close(context.Background())
		t.Error("the server still runs after its command has ended")
	}
}
