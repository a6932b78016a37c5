//go:build unix

package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestStrangers is about a number in postmaster.pid that was given again after our
// server was killed. The process that has it now is never touched.
func TestStrangers(t *testing.T) {
	t.Parallel()

	// stale makes a directory whose server was killed, and whose file now names a process of other.
	stale := func(t *testing.T, other *Server, pid int) *stateDir {
		t.Helper()
		state := &stateDir{path: tempState(t)}
		err := os.MkdirAll(state.data(), 0o700)
		if err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string]string{
			state.password(): "ours alone\n",
			filepath.Join(state.data(), "PG_VERSION"): fmt.Sprintf("%d\n", major(other.Version)),
			filepath.Join(state.data(), "postmaster.pid"): fmt.Sprintf("%d\n%s\n%d\n%d\n\n127.0.0.1\n",
				pid, state.data(), time.Now().Unix(), other.state.lastPort()),
		} {
			err := os.WriteFile(path, []byte(text), 0o600)
			if err != nil {
				t.Fatal(err)
			}
		}
		return state
	}
	// startBeside starts a server on such a directory. There is no cluster in it, so
	// PostgreSQL refuses to; what matters is what happens to the other process before.
	startBeside := func(t *testing.T, state *stateDir) {
		t.Helper()
		var said strings.Builder
		log := func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) }
		server, err := Start(t.Context(),
			Options{StateDir: state.path, Sources: []Source{Installed, Download}, Log: log})
		if err == nil {
			_ = server.Stop()
			t.Fatal("a server started without a cluster")
		}
		mustSay(t, err, "postgres exited immediately")
		if strings.Contains(said.String(), "stopping the server") {
			t.Errorf("it stops a server that is not its own:\n%s", &said)
		}
	}

	t.Run("another server's postmaster goes on", func(t *testing.T) {
		t.Parallel()
		other, _ := start(t, Options{StateDir: tempState(t), Ephemeral: true})
		began := query(t, other.URL, `SELECT pg_postmaster_start_time()::text`)

		startBeside(t, stale(t, other, other.PID()))

		if got := query(t, other.URL, `SELECT pg_postmaster_start_time()::text`); got != began {
			t.Errorf("the other server started at %s, and again at %s", began, got)
		}
	})

	t.Run("another server's backend finishes its statement", func(t *testing.T) {
		t.Parallel()
		other, _ := start(t, Options{StateDir: tempState(t), Ephemeral: true})
		conn, err := pgx.Connect(t.Context(), other.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		state := stale(t, other, int(conn.PgConn().PID()))
		statement := make(chan error, 1)
		go func() {
			_, err := conn.Exec(context.Background(), `SELECT pg_sleep(3)`)
			statement <- err
		}()
		const sleeping = `
			SELECT count(*)::text FROM pg_stat_activity
			WHERE state = 'active' AND query LIKE '%pg_sleep(3)%' AND pid <> pg_backend_pid()`
		for query(t, other.URL, sleeping) == "0" {
			time.Sleep(10 * time.Millisecond)
		}

		startBeside(t, state)

		err = <-statement
		if err != nil {
			t.Errorf("the statement of another server: %v", err)
		}
	})

	t.Run("a program that was started in our data directory at another time goes on", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS != "linux" {
			t.Skip("needs /proc")
		}
		program := filepath.Join(t.TempDir(), "postgres")
		sleep, err := exec.LookPath("sleep")
		if err != nil {
			t.Fatal(err)
		}
		err = os.Symlink(sleep, program)
		if err != nil {
			t.Fatal(err)
		}
		data := t.TempDir()
		bystander := exec.Command(program, "60")
		bystander.Dir = data
		err = bystander.Start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = bystander.Process.Kill(), bystander.Wait() })

		named := postmaster{pid: bystander.Process.Pid, started: time.Now()}
		if got := named.identify(data, procfs); got != itself {
			t.Errorf("with its own start it is identified as %d, want itself (%d)", got, itself)
		}
		named.started = time.Now().Add(-time.Hour)
		if got := named.identify(data, procfs); got == itself {
			t.Error("with a start an hour ago it is taken for the server")
		}
		named.started = time.Now()
		if got := named.identify(t.TempDir(), procfs); got != another {
			t.Errorf("for another directory it is identified as %d, want another (%d)", got, another)
		}
	})

	t.Run("without /proc the server is asked who it is", func(t *testing.T) {
		t.Parallel()
		noProc := t.TempDir()
		ours, _ := start(t, Options{StateDir: tempState(t), Ephemeral: true})
		if got := runningPostmaster(ours.state, noProc); got == nil || got.pid != ours.PID() {
			t.Errorf("our own server (pid %d) is not found: %+v", ours.PID(), got)
		}

		state := stale(t, ours, ours.PID())
		if got := runningPostmaster(state, noProc); got != nil {
			t.Errorf("another server is taken for ours: %+v", got)
		}
		// Even with the same password, as in a copy of a cluster: its file is not this one.
		password, err := os.ReadFile(ours.state.password())
		if err != nil {
			t.Fatal(err)
		}
		err = os.WriteFile(state.password(), password, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if got := runningPostmaster(state, noProc); got != nil {
			t.Errorf("another server with the same password is taken for ours: %+v", got)
		}
	})
}
