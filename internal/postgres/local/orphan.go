//go:build unix

package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// stopOrphan ends a server that a killed program left behind. We hold the
// directory's lock, so no program of ours uses the server. Starting our own is
// simpler than adopting it: it would not be our child, and its settings may be older.
func (c *cluster) stopOrphan() error {
	orphan := runningPostmaster(c.state, procfs)
	if orphan == nil {
		return nil
	}
	c.options.Log("postgres: stopping the server (pid %d) that a killed run left behind", orphan.pid)
	for _, shutdown := range []syscall.Signal{fastShutdown, immediateShutdown} {
		_ = syscall.Kill(orphan.pid, shutdown)
		deadline := time.Now().Add(shutdownTimeout)
		for time.Now().Before(deadline) {
			if orphan.hasEnded(c.state.data()) {
				return nil
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return fmt.Errorf("a PostgreSQL server (pid %d) is still running in %s and does not stop", orphan.pid,
		c.state.data())
}

// procfs is where Linux describes its processes. Other systems have no such directory.
const procfs = "/proc"

// postmaster is what a server writes about itself into postmaster.pid. The file
// outlives a server that was killed, and its number may belong to another process
// by now: even to another PostgreSQL server.
type postmaster struct {
	pid     int
	started time.Time
	port    int
	id      string // the lines that name one run of one server: process, directory, start
}

// readPostmaster returns nil if no server has written a file that we can read.
func readPostmaster(data string) *postmaster {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return nil
	}
	return parsePostmaster(string(text))
}

func parsePostmaster(text string) *postmaster {
	lines := strings.Split(text, "\n")
	if len(lines) < 4 {
		return nil
	}
	pid, err := strconv.Atoi(lines[0])
	if err != nil || pid <= 1 {
		return nil
	}
	started, err := strconv.ParseInt(lines[2], 10, 64)
	if err != nil {
		return nil
	}
	port, err := strconv.Atoi(lines[3])
	if err != nil {
		return nil
	}
	return &postmaster{pid: pid, started: time.Unix(started, 0), port: port, id: strings.Join(lines[:3], "\n")}
}

// runningPostmaster is the server that has the state's data open, or nil. Only a
// process that has proved to be that server is returned: it will get a signal. One
// that is dead but not yet collected by init (a zombie) counts: PostgreSQL counts it,
// too, and refuses to start beside it. Deleting postmaster.pid instead of waiting
// could put two servers on one directory.
func runningPostmaster(s *stateDir, proc string) *postmaster {
	p := readPostmaster(s.data())
	if p == nil || errors.Is(syscall.Kill(p.pid, 0), syscall.ESRCH) {
		return nil
	}
	switch p.identify(s.data(), proc) {
	case itself:
		return p
	case unclear:
		if p.answers(s) {
			return p
		}
	}
	return nil
}

// hasEnded reports whether the server is gone. It removes its file before it exits;
// one that crashes leaves the file.
func (p *postmaster) hasEnded(data string) bool {
	now := readPostmaster(data)
	return now == nil || now.id != p.id || errors.Is(syscall.Kill(p.pid, 0), syscall.ESRCH) ||
		p.identify(data, procfs) == another
}

// identity says whose a process number is.
type identity int

const (
	unclear identity = iota
	itself
	another
)

// clockPlay is how far the start that a server wrote down may be from the start that
// the kernel knows: a loaded machine takes seconds between the two.
const clockPlay = time.Minute

// identify asks the kernel. A process of PostgreSQL works in its data directory, and
// a number that was given again belongs to a process that started at another time.
func (p *postmaster) identify(data, proc string) identity {
	process := filepath.Join(proc, strconv.Itoa(p.pid))
	started, err := processStart(proc, process)
	if err != nil {
		return unclear
	}
	ours, err := os.Stat(data)
	if err != nil {
		return unclear
	}
	its, err := os.Stat(filepath.Join(process, "cwd"))
	sameStart := started.Sub(p.started).Abs() <= clockPlay
	switch {
	case errors.Is(err, fs.ErrPermission):
		return unclear // root without CAP_SYS_PTRACE, as in a container
	case errors.Is(err, fs.ErrNotExist) && sameStart:
		return itself // a zombie: it has no directory any more, and signals do nothing to it
	case err != nil || !os.SameFile(ours, its):
		return another
	case !sameStart:
		return unclear // another process in our directory, or the clock has been set
	}
	return itself
}

// ticksPerSecond is the unit of process times in /proc: USER_HZ, 100 on all
// platforms that Go supports.
const ticksPerSecond = 100

// processStart is when a process started.
func processStart(proc, process string) (time.Time, error) {
	text, err := os.ReadFile(filepath.Join(process, "stat"))
	if err != nil {
		return time.Time{}, err
	}
	// The second field is the program's name in parentheses, which may contain any
	// character. The start is the 22nd field, see proc(5).
	const startField, firstBehindName = 22, 3
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= startField-firstBehindName {
		return time.Time{}, fmt.Errorf("%s/stat is too short", process)
	}
	ticks, err := strconv.ParseInt(fields[startField-firstBehindName], 10, 64)
	if err != nil {
		return time.Time{}, err
	}
	booted, err := bootTime(proc)
	if err != nil {
		return time.Time{}, err
	}
	return booted.Add(time.Duration(ticks) * time.Second / ticksPerSecond), nil
}

func bootTime(proc string) (time.Time, error) {
	text, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return time.Time{}, err
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "btime "); found {
			seconds, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return time.Unix(seconds, 0), err
		}
	}
	return time.Time{}, fmt.Errorf("%s/stat has no btime", proc)
}

// answers asks the server at the address in the file. Only a server of our directory
// accepts our password, and only the one that wrote the file reads the same file.
// The password is not sent: the program on the port has to agree to SCRAM.
func (p *postmaster) answers(s *stateDir) bool {
	password, err := os.ReadFile(s.password())
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	address := serverURL(p.port, strings.TrimSpace(string(password))) + "&require_auth=scram-sha-256"
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return false
	}
	defer conn.Close(ctx)
	var text string
	err = conn.QueryRow(ctx, `SELECT pg_read_file('postmaster.pid')`).Scan(&text)
	if err != nil {
		return false
	}
	its := parsePostmaster(text)
	return its != nil && its.id == p.id
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
		running := runningPostmaster(&stateDir{path: path}, procfs) != nil
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
