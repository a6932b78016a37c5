package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// envPlay makes the test binary behave as the program it tests, with the
// children it starts: real processes, without building anything twice. It does
// not begin with RATCHET_, because a demo keeps those from its parts.
const envPlay = "PLAY_RATCHET"

func TestMain(m *testing.M) {
	if os.Getenv(envPlay) == "1" {
		main()
	}
	os.Exit(m.Run())
}

// playing is "ratchet args", with no settings but those that are given.
func playing(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "RATCHET_") && !strings.HasPrefix(setting, "DATABASE_URL=") {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	// Without this an operator's command would find a demo that happens to run here.
	cmd.Env = append(cmd.Env, envPlay+"=1", "RATCHET_DATA_DIR=/nonexistent")
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// ratchet runs a command to its end.
func ratchet(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := playing(env, args...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return out.String(), complaints.String(), cmd.ProcessState.ExitCode()
}

// mustDo runs a command that has to succeed.
func mustDo(t *testing.T, env []string, args ...string) (stdout string) {
	t.Helper()
	stdout, stderr, code := ratchet(t, env, args...)
	if code != 0 {
		t.Fatalf("ratchet %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

func TestCommandLine(t *testing.T) {
	t.Parallel()

	t.Run("every command says what it does and shows an example", func(t *testing.T) {
		t.Parallel()
		top, _ := root()
		var visit func(*cobra.Command)
		visit = func(c *cobra.Command) {
			if c.Short == "" || !strings.Contains(c.Example, "ratchet ") {
				t.Errorf("%s: %q, example %q", c.CommandPath(), c.Short, c.Example)
			}
			for _, child := range c.Commands() {
				visit(child)
			}
		}
		visit(top)
	})

	// The command line of a process is visible to every user of the machine.
	t.Run("no flag takes a secret", func(t *testing.T) {
		t.Parallel()
		aFlag := regexp.MustCompile(`--([a-z-]+)( [a-z]+)?`)
		aSecret := regexp.MustCompile(`\b(secret|password|token|database|dsn)\b`)
		top, _ := root()
		seen := 0
		var visit func(*cobra.Command)
		visit = func(c *cobra.Command) {
			for _, flag := range aFlag.FindAllStringSubmatch(c.Flags().FlagUsages(), -1) {
				seen++
				if value := flag[2]; value == " string" && aSecret.MatchString(flag[1]) {
					t.Errorf("%s takes --%s", c.CommandPath(), flag[1])
				}
			}
			for _, child := range c.Commands() {
				visit(child)
			}
		}
		visit(top)
		if seen < 50 {
			t.Errorf("found %d flags; the search is broken", seen)
		}
	})

	t.Run("a secret is read from a file, without the line break at its end", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "database_url")
		if err := os.WriteFile(file, []byte("postgres://nobody@127.0.0.1:1/from_a_file\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, stderr, code := ratchet(t, []string{"RATCHET_DATABASE_URL_FILE=" + file}, "requests", "list")
		if code == 0 || !strings.Contains(stderr, "from_a_file") {
			t.Errorf("ended with %d: %s", code, stderr)
		}
	})

	for mistake, c := range map[string]struct {
		args []string
		env  []string
		says string
	}{
		"an unknown command":    {args: []string{"serv"}, says: `unknown command "serv"`},
		"an unknown subcommand": {args: []string{"migrate", "sideways"}, says: `unknown command "sideways"`},
		"an unknown flag":       {args: []string{"serve", "--port", "1"}, says: "unknown flag: --port"},
		"an argument too many":  {args: []string{"serve", "now"}, says: `unknown command "now"`},
		"an argument too few":   {args: []string{"requests", "show"}, says: "accepts 1 arg(s), received 0"},
		"no database":           {args: []string{"serve"}, says: "RATCHET_DATABASE_URL is not set"},
		"no secret": {
			args: []string{"serve"},
			env:  []string{"RATCHET_DATABASE_URL=postgres://x?sslmode=require"},
			says: "RATCHET_SECRET is not set",
		},
		"a database on another machine without encryption": {
			args: []string{"serve"},
			env:  []string{"RATCHET_DATABASE_URL=postgres://db.example/ratchet"},
			says: "the connection to the database on db.example may be unencrypted",
		},
		"an acquirer on another machine without encryption": {
			args: []string{"work", "--acquirer-url", "http://bank.example"},
			env:  []string{"RATCHET_DATABASE_URL=postgres://x?sslmode=require"},
			says: "the connection to the acquirer on bank.example is unencrypted",
		},
		"an address where a network is wanted": {
			args: []string{"work", "--webhook-networks", "172.17.0.1/12"},
			says: "--webhook-networks must be a list of networks",
			env: []string{"RATCHET_DATABASE_URL=postgres://x?sslmode=require",
				"RATCHET_SECRET=" + strings.Repeat("x", 32), "RATCHET_ACQUIRER_SECRET=x"},
		},
		"a secret given twice": {
			args: []string{"migrate", "up"},
			env:  []string{"RATCHET_DATABASE_URL=a", "RATCHET_DATABASE_URL_FILE=b"},
			says: "use one",
		},
		"a migration down": {
			args: []string{"migrate", "down"},
			env:  []string{"RATCHET_DATABASE_URL=postgres://x?sslmode=require"},
			says: `unknown command "down"`,
		},
		"a release without a decision": {
			args: []string{"requests", "release", "req_1"},
			says: "--as is required: not-executed",
		},
		"a release without evidence": {
			args: []string{"requests", "release", "req_1", "--as", "not-executed"},
			says: "--evidence is required",
		},
		"an erasure without grounds": {args: []string{"erase", "cus_1", "--yes"}, says: "--because is required"},
		"an erasure without --yes": {
			args: []string{"erase", "cus_1", "--because", "a letter"},
			says: "pass --yes",
		},
		"a state that does not exist": {args: []string{"requests", "list", "--state", "lost"}, says: `not "lost"`},
		"a list of nothing": {
			args: []string{"requests", "list", "--limit", "0"},
			says: "--limit must be at least 1",
		},
		"a key without an account": {args: []string{"keys", "create"}, says: "--account is required"},
		"a key both restricted and not": {args: []string{"keys", "create", "--account", "a", "--restricted",
			"--publishable"}, says: "exclude each other"},
		"a restricted key for nothing": {
			args: []string{"keys", "create", "--account", "a", "--restricted"},
			says: "--allow is required",
		},
		"permissions of a whole key": {args: []string{"keys", "create", "--account", "a", "--allow",
			"charges=read"}, says: "--restricted"},
		"a resource that does not exist": {args: []string{"keys", "create", "--account", "a", "--restricted",
			"--allow", "transfers=read"}, says: `unknown resource "transfers"`},
		"a level that does not exist": {args: []string{"keys", "create", "--account", "a", "--restricted", "--allow",
			"charges=forge"}, says: `not "forge"`},
		"a grace before now": {
			args: []string{"keys", "roll", "key_1", "--grace-period", "-1h"},
			says: "--grace-period must not be negative",
		},
		"a version Stripe never had": {args: []string{"accounts", "version", "--account", "acct_1", "--api-version",
			"2020-08-28"}, says: "that Stripe has had"},
		"an account without a name": {args: []string{"accounts", "create"}, says: "--name is required"},
		"a limit that is no number": {
			args: []string{"serve"},
			env:  []string{"RATCHET_KEY_RATE=many"},
			says: "RATCHET_KEY_RATE=many",
		},
		"a limit below nothing": {
			args: []string{"work", "--breaker-pause", "-1s"},
			says: "--breaker-pause must not be negative",
		},
		"an acquirer without http://": {
			args: []string{"work", "--acquirer-url", "acquirer:8090"},
			says: "is not a URL such as http://127.0.0.1:8090",
		},
		"a dashboard open to the network": {
			args: []string{"serve", "--addr", "0.0.0.0:0", "--dashboard", "on"},
			says: "RATCHET_DASHBOARD_PASSWORD",
			env: []string{"RATCHET_DATABASE_URL=postgres://x?sslmode=require",
				"RATCHET_SECRET=" + strings.Repeat("x", 32),
				"RATCHET_ACQUIRER_SECRET=x"},
		},
		"a password that is too short": {
			args: []string{"serve", "--addr", "127.0.0.1:0", "--dashboard", "on"},
			says: "at least 12 characters",
			env: []string{"RATCHET_DATABASE_URL=postgres://x?sslmode=require",
				"RATCHET_SECRET=" + strings.Repeat("x", 32),
				"RATCHET_ACQUIRER_SECRET=x", "RATCHET_DASHBOARD_PASSWORD=elevenchars"},
		},
		"links without an address": {args: []string{"serve", "--addr", "0.0.0.0:0"}, says: "set --public-url",
			env: []string{"RATCHET_DATABASE_URL=postgres://x?sslmode=require",
				"RATCHET_SECRET=" + strings.Repeat("x", 32),
				"RATCHET_ACQUIRER_SECRET=x"}},
		"a public URL without a scheme": {args: []string{"serve", "--addr", "127.0.0.1:0", "--public-url",
			"pay.example.com"}, says: "is not a URL such as https://",
			env: []string{"RATCHET_DATABASE_URL=postgres://x?sslmode=require",
				"RATCHET_SECRET=" + strings.Repeat("x", 32),
				"RATCHET_ACQUIRER_SECRET=x"}},
		"a proxy that is every machine": {args: []string{"serve", "--trusted-proxies", "10.0.0.1, 0.0.0.0/0"},
			says: `not "0.0.0.0/0"`,
			env: []string{"RATCHET_DATABASE_URL=postgres://x?sslmode=require",
				"RATCHET_SECRET=" + strings.Repeat("x", 32),
				"RATCHET_ACQUIRER_SECRET=x"}},
		"crash hooks open to the network": {args: []string{"serve", "--addr", "0.0.0.0:0", "--public-url",
			"https://pay.example.com"}, says: "lets requests crash the server",
			env: []string{"RATCHET_DATABASE_URL=postgres://x?sslmode=require",
				"RATCHET_SECRET=" + strings.Repeat("x", 32),
				"RATCHET_ACQUIRER_SECRET=x", "RATCHET_CRASH_TESTING=1"}},
		"a contradiction without a reason": {
			args: []string{"inbox", "acknowledge", "note_1"},
			says: "why is it in order?",
		},
		"a demo that the network reaches": {args: []string{"demo", "--addr", "0.0.0.0:0"}, says: "--lan"},
		"a port that is no number": {
			args: []string{"demo", "--webhook-loopback-ports", "3000,http"},
			says: "list of ports",
		},
		"a port below the first": {args: []string{"demo", "--webhook-loopback-ports", "0"}, says: "list of ports"},
		"a demo on any address":  {args: []string{"demo", "--addr", ":0"}, says: "--lan"},
	} {
		t.Run(mistake+" is a mistake in the call", func(t *testing.T) {
			t.Parallel()
			_, stderr, code := ratchet(t, c.env, c.args...)
			if code != exitUsage || !strings.Contains(stderr, c.says) {
				t.Errorf("exit code %d, want %d and %q: %s", code, exitUsage, c.says, stderr)
			}
			if strings.Count(stderr, "\n") != 2 {
				t.Errorf("want one sentence and where to read more: %s", stderr)
			}
		})
	}

	t.Run("a database that does not answer is a failure, and its password is not printed", func(t *testing.T) {
		t.Parallel()
		_, stderr, code := ratchet(t, []string{"RATCHET_DATABASE_URL=postgres://me:hidden@127.0.0.1:1/x"}, "migrate",
			"status")
		if code != exitFailed || strings.Contains(stderr, "hidden") {
			t.Errorf("exit code %d, want %d: %s", code, exitFailed, stderr)
		}
	})

	t.Run("the version names the last chapter of the schema", func(t *testing.T) {
		t.Parallel()
		if out := mustDo(t, nil, "version"); !strings.Contains(out, "schema  0000") {
			t.Error(out)
		}
	})
}
