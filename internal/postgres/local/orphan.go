//go:build unix

package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopOrphan ends a server that a killed program left behind. We hold the
// directory's lock, so nobody can be using it. Starting our own is simpler than
// adopting it: it would not be our child, and its settings may be older.
func (c *cluster) stopOrphan() error {
	pid := postmaster(c.state.data())
	if pid == 0 {
		return nil
	}
	c.options.Log("postgres: stopping the server (pid %d) that a killed run left behind", pid)
	for _, shutdown := range []syscall.Signal{fastShutdown, immediateShutdown} {
		_ = syscall.Kill(pid, shutdown)
		for deadline := time.Now().Add(shutdownPatience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if postmaster(c.state.data()) == 0 {
				return nil
			}
		}
	}
	return fmt.Errorf("a PostgreSQL server (pid %d) is still running in %s and does not stop", pid, c.state.data())
}

// postmaster is the process id of the server that has data open; 0 if there is
// none. One that is dead but not yet collected by init (a zombie) counts:
// PostgreSQL counts it too, and refuses to start beside it. Deleting
// postmaster.pid instead of waiting could put two servers on one directory.
func postmaster(data string) int {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(firstLine(text))
	if err != nil || pid <= 1 {
		return 0
	}
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return 0
	}
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err == nil && !strings.HasPrefix(filepath.Base(program), "postgres") {
		return 0 // the number went to another program since
	}
	return pid
}

// RemoveAbandoned deletes the state directories directly below dir whose program
// has ended. One whose server still runs (Options.Outlive) is left alone for as
// long as spare says, counted from its start, and then stopped. Only for ephemeral servers.
func RemoveAbandoned(dir string, spare time.Duration) {
	children, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, path := range children {
		lock, err := os.Stat(filepath.Join(path, "lock"))
		if err != nil {
			continue // no server of ours
		}
		running := postmaster(filepath.Join(path, "postgres", "data")) != 0
		if running && time.Since(lock.ModTime()) < spare {
			continue
		}
		removeAbandoned(path)
	}
}

func removeAbandoned(path string) {
	_, err := os.Stat(filepath.Join(path, "postgres"))
	if err != nil {
		return // only just being made: the lock file comes before its lock
	}
	state, err := openState(path)
	if err != nil {
		return // in use
	}
	defer state.close()
	c := &cluster{state: state, options: Options{Log: func(string, ...any) {}}}
	err = c.stopOrphan()
	if err == nil {
		_ = state.remove()
	}
}
