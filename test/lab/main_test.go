//go:build unix

// Package lab_test runs the lab's matrix with real processes and holds it to the
// one that is recorded in the repository.
package lab_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/lab/runner"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// build compiles programs under test and returns the directory they are in. Without
// what only debuggers need, linking takes half the time.
func build(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	args := []string{"build", "-ldflags=-s -w", "-o", dir + "/"}
	for _, name := range names {
		args = append(args, "github.com/ratchet-pay/ratchet/cmd/"+name)
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("build the programs under test: %v\n%s", err, out)
	}
	return dir
}

// open starts a lab of the test's own.
func open(t *testing.T, programs string, c runner.Config) *runner.Runner {
	t.Helper()
	c.Ratchet, c.Lab = filepath.Join(programs, "ratchet"), filepath.Join(programs, "ratchet-lab")
	c.DatabaseURL = pgtest.New(t).URL
	s, err := runner.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
