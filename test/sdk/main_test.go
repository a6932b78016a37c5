//go:build unix

// Package sdk_test is an integration: Stripe's own Go SDK, unchanged, against
// the real program.
//
// Every test runs the binary as an installation would (an acquirer, an API, a
// database for each) and reads what the SDK makes of the answers. Each answer is
// also held to our contract and to Stripe's schema (apitest.Checked), so a test
// here says only what no schema can.
package sdk_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// binaryVar names the program under test. It is built where it is not set.
const binaryVar = "RATCHET_BINARY"

func TestMain(m *testing.M) {
	if os.Getenv(binaryVar) != "" {
		pgtest.Main(m)
	}
	code, err := buildAndRun()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// places limits the tests that run beside each other, their subtests, and those of their subtests.
var places = [...]chan struct{}{
	make(chan struct{}, 2*runtime.NumCPU()), // each has its own servers, and waits for a part of the time
	make(chan struct{}, runtime.NumCPU()),
	make(chan struct{}, runtime.NumCPU()),
}

// inTurn lets a test run beside others of its level. With t.Parallel alone, a test whose subtests wait makes room for
// another test, until the servers of all tests take the processors from the few subtests that run.
func inTurn(t *testing.T) {
	t.Helper()
	t.Parallel()
	level := places[min(strings.Count(t.Name(), "/"), len(places)-1)] // names may contain more slashes
	level <- struct{}{}
	t.Cleanup(func() { <-level })
}

// buildAndRun runs the tests in a separate process group and ends what is
// left of it: a test that panics leaves no server behind.
func buildAndRun() (code int, err error) {
	dir, err := os.MkdirTemp("", "ratchet-sdk-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "ratchet")
	out, err := exec.Command("go", "build", "-o", binary, "github.com/ratchet-pay/ratchet/cmd/ratchet").CombinedOutput()
	if err != nil {
		return 1, fmt.Errorf("build the program under test: %w\n%s", err, out)
	}
	// go test keeps a result by this log, which does not know what the program
	// under test is made of.
	args := slices.DeleteFunc(os.Args[1:], func(arg string) bool {
		return strings.HasPrefix(arg, "-test.testlogfile=")
	})
	tests := exec.Command(os.Args[0], append(args, "-test.parallel=1000")...) // inTurn has the limit
	tests.Env = append(os.Environ(), binaryVar+"="+binary)
	tests.Stdout, tests.Stderr = os.Stdout, os.Stderr
	tests.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = tests.Start()
	if err != nil {
		return 1, err
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	go func() {
		for s := range interrupts {
			_ = tests.Process.Signal(s) // they may have ended
		}
	}()
	defer syscall.Kill(-tests.Process.Pid, syscall.SIGKILL) //nolint:errcheck // there may be nothing left
	_ = tests.Wait()                                        // the state tells
	if !tests.ProcessState.Success() {
		return 1, nil
	}
	return 0, nil
}
