//go:build unix

package lab_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// TestInterrupt presses Ctrl-C: a terminal interrupts `ratchet lab` and the lab's own program
// at once, and the first interrupts the second, too. The lab still removes what it has made.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	programs, temporary := build(t, "ratchet", "ratchet-lab"), t.TempDir()
	if err := os.Chmod(temporary, 0o755); err != nil { // as in the test of a run, its files are for other users, too
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(programs, "ratchet"), "lab", "run", "--design", "naive", "--at", "slow-bank")
	cmd.Env = append(os.Environ(), "TMPDIR="+temporary, "DATABASE_URL="+pgtest.New(t).URL)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	left := func() []string {
		found, err := filepath.Glob(filepath.Join(temporary, "ratchet-lab-*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	const both = 2 // the directories of the lab and of its database
	for deadline := time.Now().Add(5 * time.Minute); len(left()) < both; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the lab does not start: %s", said.String())
		}
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("an interrupted lab ends as if it had succeeded")
	}
	if found := left(); len(found) > 0 {
		t.Errorf("it leaves %q", found)
	}
	if said.String() != "ratchet lab: interrupted\n" {
		t.Errorf("it says %q", said.String())
	}
}
