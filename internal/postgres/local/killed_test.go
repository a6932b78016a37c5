//go:build unix

package local

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestKilledProgram(t *testing.T) {
	t.Parallel()

	t.Run("the server shuts down cleanly when its program is killed", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS != "linux" {
			t.Skip("only Linux tells a child of its parent's death; elsewhere the next start stops the server")
		}
		state := tempState(t)
		p := startProgram(t, state)
		execute(t, urlOf(t, state), `CREATE TABLE kept AS SELECT 42 AS answer`)
		p.kill()

		_, err := Attach(state)
		for deadline := time.Now().Add(5 * time.Minute); err == nil &&
			time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			_, err = Attach(state)
		}
		mustSay(t, err, "does not respond (was its program killed?)")

		server, _ := start(t, Options{StateDir: state})
		if got := query(t, server.URL, `SELECT answer::text FROM kept`); got != "42" {
			t.Errorf("answer = %s", got)
		}
		if said := logOf(t, state); strings.Contains(said, "not properly shut down") {
			t.Errorf("the cluster had to be recovered:\n%s", said)
		}
	})

	t.Run("an orphan is stopped and its data taken over", func(t *testing.T) {
		t.Parallel()
		state := tempState(t)
		p := startProgram(t, state, envOutlive+"=1")
		execute(t, urlOf(t, state), `CREATE TABLE kept AS SELECT 42 AS answer`)
		p.kill()
		if _, err := Attach(state); err != nil {
			t.Fatalf("this test needs an orphan, and it is gone: %v", err)
		}

		server, said := start(t, Options{StateDir: state})
		if !strings.Contains(said.String(), "that a killed run left behind") {
			t.Errorf("the orphan is not mentioned:\n%s", said)
		}
		if got := query(t, server.URL, `SELECT answer::text FROM kept`); got != "42" {
			t.Errorf("answer = %s", got)
		}
	})

	t.Run("a server killed with its program recovers, even before the dead one is collected", func(t *testing.T) {
		t.Parallel()
		state := tempState(t)
		p := startProgram(t, state, envOutlive+"=1")
		execute(t, urlOf(t, state), `CREATE TABLE kept AS SELECT 42 AS answer`)
		p.kill()
		err := syscall.Kill(p.serverPID, syscall.SIGKILL)
		if err != nil {
			t.Fatal(err)
		}

		server, _ := start(t, Options{StateDir: state})
		if got := query(t, server.URL, `SELECT answer::text FROM kept`); got != "42" {
			t.Errorf("answer = %s", got)
		}
	})

	t.Run("the directories of dead test runs are removed, those of living ones are not", func(t *testing.T) {
		t.Parallel()
		root := tempState(t)
		dead, alive := filepath.Join(root, "dead"), filepath.Join(root, "alive")
		p := startProgram(t, dead, envOutlive+"=1")
		p.kill()
		server, _ := start(t, Options{StateDir: alive, Ephemeral: true})

		RemoveAbandoned(root, time.Hour)
		if _, err := Attach(dead); err != nil {
			t.Errorf("a server that may still be wanted was removed: %v", err)
		}

		RemoveAbandoned(root, 0)
		if _, err := os.Stat(dead); !os.IsNotExist(err) {
			t.Errorf("the abandoned directory is still there: %v", err)
		}
		query(t, server.URL, `SELECT 'still there'`)
	})
}

func TestRoot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("not root: postgres runs as ourselves and reaches what we reach")
	}

	t.Run("a directory the server's user cannot enter is named", func(t *testing.T) {
		t.Parallel()
		closed := filepath.Join(tempState(t), "closed")
		err := os.Mkdir(closed, 0o700)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Start(t.Context(),
			Options{StateDir: filepath.Join(closed, "state"), Sources: []Source{Installed, Download}})
		mustSay(t, err, "running as root, PostgreSQL runs as uid", "cannot enter "+closed+" (mode 0700)",
			"/var/lib/ratchet")
	})

	t.Run("only our own directory is given to the server's user", func(t *testing.T) {
		t.Parallel()
		state := tempState(t)
		start(t, Options{StateDir: state, Ephemeral: true})
		info, err := os.Stat(state)
		if err != nil {
			t.Fatal(err)
		}
		if owner := info.Sys().(*syscall.Stat_t).Uid; owner != 0 {
			t.Errorf("%s belongs to uid %d now", state, owner)
		}
	})
}

func urlOf(t *testing.T, state string) string {
	t.Helper()
	url, err := Attach(state)
	if err != nil {
		t.Fatal(err)
	}
	return url
}

func logOf(t *testing.T, state string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(state, "postgres", "log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
