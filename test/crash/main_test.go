//go:build unix

// Package crash_test kills, stops and drowns the real program and asks the
// outside world afterwards how often a card was charged.
//
// Every test runs processes of the real binary against real databases: the API
// (serve), the worker (work) and the acquirer, which keeps its journal in a
// separate database. What happened to a card is read there; our own tables
// only have to agree with it.
//
// Nothing here waits for luck. Processes die at a chosen point (package
// crashpoint), and tests wait for conditions, with deadlines far beyond what a
// slow machine needs.
package crash_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// binaryVar names the program under test. It is built where it is not set.
const binaryVar = "RATCHET_BINARY"

// olderBinaryVar names an older version of the program. Every other process of an installation then runs it.
const olderBinaryVar = "RATCHET_OLDER_BINARY"

// full dies at every boundary of every operation, not at a sample of most.
var full = os.Getenv("RATCHET_CRASH_FULL") == "1"

// sampleSeed chooses the sample. It is a constant: a run that fails fails again.
const sampleSeed = 20

func TestMain(m *testing.M) {
	if job := os.Getenv(jobVar); job != "" {
		if err := doJob(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(binaryVar) != "" {
		pgtest.Main(m)
	}
	code, err := buildAndRun()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// buildAndRun runs the tests in a separate process group, and ends what is
// left of it when they are over: even a test that panics leaves no server behind.
func buildAndRun() (code int, err error) {
	dir, err := os.MkdirTemp("", "ratchet-crash-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "ratchet")
	out, err := exec.Command("go", "build", "-o", binary, "github.com/ratchet-pay/ratchet/cmd/ratchet").CombinedOutput()
	if err != nil {
		return 1, fmt.Errorf("build the program under test: %w\n%s", err, out)
	}
	// Without this log go test keeps no result. It would serve an old one: it does
	// not see what the program under test is made of.
	args := slices.DeleteFunc(os.Args[1:], func(arg string) bool {
		return strings.HasPrefix(arg, "-test.testlogfile=")
	})
	// A part of a death is waiting for others to notice: several fit beside each other. With too many, statements
	// meet their timeouts.
	tests := exec.Command(os.Args[0], append(args, "-test.parallel="+strconv.Itoa(3*runtime.NumCPU()))...)
	tests.Env = append(os.Environ(), binaryVar+"="+binary)
	tests.Stdout, tests.Stderr = os.Stdout, os.Stderr
	tests.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := tests.Start(); err != nil {
		return 1, err
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	go func() {
		for s := range interrupts {
			_ = tests.Process.Signal(s)
		}
	}()
	_ = tests.Wait() // the code says it
	_ = syscall.Kill(-tests.Process.Pid, syscall.SIGKILL)
	if code = tests.ProcessState.ExitCode(); code < 0 {
		code = 1
	}
	return code, nil
}
