//go:build unix

package pgtest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/postgres/local"
)

// DurableServer is a server only one test uses, configured as in production:
// what it says it committed is on disk.
type DurableServer struct {
	// URL stays the same over Kill and Restart.
	URL string

	// Pool is as DB.Pool. Restart replaces it.
	Pool *pgxpool.Pool

	t        testing.TB
	stateDir string
	server   *local.Server
	settings []string // name=value
}

// Durable starts such a server, migrated. For tests that count commits or kill
// the database; all others are served faster by New. It is removed when the test
// ends. A container cannot be crashed the same way, so this needs binaries,
// installed or downloaded.
func Durable(t testing.TB) *DurableServer {
	t.Helper()
	dir, err := os.MkdirTemp("", "ratchet-durable-")
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	err = os.Chmod(dir, 0o755) // the server may run as another user
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}

	d := &DurableServer{t: t, stateDir: dir}
	t.Cleanup(d.end)
	d.choosePort()
	d.start()
	err = postgres.Migrate(t.Context(), d.URL)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return d
}

// choosePort has the server take a port that the system does not hand out. While
// it is down, one of the others would soon be some connection's.
func (d *DurableServer) choosePort() {
	d.t.Helper()
	const lowest, ephemeral = 15_000, 32_768 // where Linux begins to give ports away
	for {
		port := strconv.Itoa(lowest + rand.IntN(ephemeral-lowest))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue // it is in use
		}
		l.Close()
		if err := os.WriteFile(filepath.Join(d.stateDir, "port"), []byte(port+"\n"), 0o644); err != nil {
			d.t.Fatalf("pgtest: %v", err)
		}
		return
	}
}

func (d *DurableServer) start() {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), startTimeout)
	defer cancel()
	server, err := local.Start(ctx, local.Options{
		StateDir: d.stateDir,
		Sources:  []local.Source{local.Installed, local.Download},
		Outlive:  Keeping(),

		ExtraSettings: d.settings,
	})
	if err != nil {
		d.t.Fatalf("pgtest: start a durable server: %v", err)
	}
	d.server, d.URL = server, server.URL
	d.Pool = open(d.t, d.URL, "")
}

func (d *DurableServer) end() {
	if d.server != nil && d.t.Failed() && Keeping() {
		d.t.Logf("pgtest: kept the server of this failed test:\n\tpsql '%s'\n\t(it runs until kill -INT %d; its "+
			"files are in %s)",
			d.URL, d.server.PID(), d.stateDir)
		return
	}
	d.stop()
	err := os.RemoveAll(d.stateDir)
	if err != nil {
		d.t.Logf("pgtest: %v", err)
	}
}

func (d *DurableServer) stop() {
	if d.server == nil {
		return
	}
	err := d.server.Stop()
	if err != nil {
		d.t.Errorf("pgtest: %v", err)
	}
}

// Kill ends every process of the server with SIGKILL, the nearest a test comes
// to a power cut: what the operating system has been given stays. Connections break.
func (d *DurableServer) Kill() {
	d.t.Helper()
	postmaster := d.server.PID()

	// Halted first, it cannot start others for those we kill. Killing it alone
	// would let its sessions finish what they are at, commits included.
	_ = syscall.Kill(postmaster, syscall.SIGSTOP)
	children, err := childrenOf(postmaster)
	for _, pid := range append(children, postmaster) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		d.t.Fatalf("pgtest: kill postgres: %v", err)
	}
	select {
	case <-d.server.Done():
	case <-time.After(time.Minute):
		d.t.Fatalf("pgtest: postgres (pid %d) survived SIGKILL", postmaster)
	}
	// A new server refuses to start beside a process of the old one, dead or not,
	// that still holds its shared memory.
	for _, pid := range children {
		for deadline := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				d.t.Fatalf("pgtest: a session (pid %d) survived SIGKILL", pid)
			}
		}
	}
}

// Freeze halts every process of the server, as a network that is gone does for those
// who talk to it, until the function it returns is called.
func (d *DurableServer) Freeze() (thaw func()) {
	d.t.Helper()
	postmaster := d.server.PID()
	_ = syscall.Kill(postmaster, syscall.SIGSTOP)
	children, err := childrenOf(postmaster)
	if err != nil {
		d.t.Fatalf("pgtest: freeze postgres: %v", err)
	}
	all := append(children, postmaster)
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
	}
	thaw = sync.OnceFunc(func() {
		for _, pid := range all {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	})
	d.t.Cleanup(thaw)
	return thaw
}

// Restart starts the server again on the same data and address, stopping it
// first if it runs. PostgreSQL recovers what was committed before a Kill.
func (d *DurableServer) Restart() {
	d.t.Helper()
	before := d.URL
	d.Pool.Close()
	d.stop()
	d.start()
	if d.URL != before {
		d.t.Fatal("pgtest: another program took the server's port while it was down")
	}
}

func childrenOf(parent int) ([]int, error) {
	list, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var children []int
	for lines := bufio.NewScanner(bytes.NewReader(list)); lines.Scan(); {
		var pid, ppid int
		_, err := fmt.Sscan(lines.Text(), &pid, &ppid)
		if err == nil && ppid == parent {
			children = append(children, pid)
		}
	}
	return children, nil
}
