package main

import (
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// documented is a limit's row in docs/limits.md: flag, variable, default, reason.
var documented = regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\| `([A-Z_]+)` \\| `([^`]+)` \\| (.+) \\|$")

func TestEveryLimitIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, row := range documented.FindAllStringSubmatch(string(text), -1) {
		rows[row[1]] = row[2:]
	}
	flags := map[string]bool{}
	for _, cmd := range []*cobra.Command{serveCommand(), workCommand()} {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if slices.Contains(notLimits, f.Name) {
				return
			}
			flags[f.Name] = true
			row, is := rows[f.Name]
			switch {
			case !is:
				t.Errorf("docs/limits.md has no row for --%s of %s", f.Name, cmd.Name())
			case row[0] != variable(f.Name) || row[1] != f.DefValue:
				t.Errorf("docs/limits.md: --%s is %s, %s by default, and not %s, %s", f.Name, variable(f.Name),
					f.DefValue, row[0], row[1])
			}
		})
	}
	for name := range rows {
		if !flags[name] {
			t.Errorf("docs/limits.md has a row for --%s, which no command has", name)
		}
	}
	if len(rows) < 20 {
		t.Errorf("docs/limits.md has %d rows; they are not found", len(rows))
	}
}

func TestLimitsAreReadFromVariables(t *testing.T) {
	t.Setenv("RATCHET_KEY_RATE", "7")
	t.Setenv("RATCHET_QUEUE_TIMEOUT", "3s")
	t.Setenv("RATCHET_QUEUE", "9")
	cmd := serveCommand()
	if err := cmd.ParseFlags([]string{"--queue", "8"}); err != nil {
		t.Fatal(err)
	}
	if err := cmd.PreRunE(cmd, nil); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{"key-rate": "7", "queue-timeout": "3s", "queue": "8",
		"max-concurrent-writes": "64"} {
		if got := cmd.Flags().Lookup(flag).Value.String(); got != want {
			t.Errorf("--%s is %s, want %s", flag, got, want)
		}
	}
}

func TestSetMemoryLimit(t *testing.T) {
	const keep = -1 // asks for the limit and leaves it
	before := debug.SetMemoryLimit(keep)
	defer debug.SetMemoryLimit(before)

	t.Setenv("GOMEMLIMIT", "")
	aimAtMemory(0)
	if got := debug.SetMemoryLimit(keep); got != before {
		t.Errorf("0 aims at %d bytes", got)
	}
	aimAtMemory(64)
	if got := debug.SetMemoryLimit(keep); got != 64<<20 {
		t.Errorf("64 aims at %d bytes", got)
	}
	t.Setenv("GOMEMLIMIT", "1GiB")
	aimAtMemory(32)
	if got := debug.SetMemoryLimit(keep); got != 64<<20 {
		t.Errorf("where Go's own variable is set, ours aims at %d bytes", got)
	}
}
