package local

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func TestStart(t *testing.T) {
	t.Parallel()

	t.Run("a cold start serves, keeps its data and comes back under the same URL", func(t *testing.T) {
		t.Parallel()
		state := tempState(t)

		first, _ := start(t, Options{StateDir: state})
		execute(t, first.URL, `CREATE TABLE kept AS SELECT 42 AS answer`)
		if got := query(t, first.URL, `
			SELECT current_user || current_setting('fsync')
			       || current_setting('data_checksums')`); got != "ratchetonon" {
			t.Errorf("user, fsync, checksums = %s", got)
		}
		stop(t, first)

		second, said := start(t, Options{StateDir: state})
		if second.URL != first.URL {
			t.Error("the URL changed between two runs although its port was free")
		}
		if got := query(t, second.URL, `SELECT answer::text FROM kept`); got != "42" {
			t.Errorf("answer = %s", got)
		}
		if strings.Contains(said.String(), "new cluster") {
			t.Errorf("a cluster was made although there was one:\n%s", said)
		}
	})

	t.Run("secrets are readable by their owner only, and the server is not root", func(t *testing.T) {
		t.Parallel()
		state := tempState(t)
		server, _ := start(t, Options{StateDir: state, Ephemeral: true})

		for _, file := range []string{"url", "lock", "postgres/password"} {
			info, err := os.Stat(filepath.Join(state, file))
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %04o, want 0600", file, info.Mode().Perm())
			}
		}
		if runtime.GOOS == "linux" {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", server.PID()))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(status), "Uid:\t0") {
				t.Error("postgres runs as root")
			}
		}
	})

	t.Run("a second instance is refused and told who has the directory", func(t *testing.T) {
		t.Parallel()
		state := tempState(t)
		start(t, Options{StateDir: state, Ephemeral: true})

		_, err := Start(t.Context(), Options{StateDir: state})
		mustSay(t, err, fmt.Sprintf("another instance (pid %d) is using %s", os.Getpid(), state))
	})

	t.Run("a second command attaches while the server runs and only then", func(t *testing.T) {
		t.Parallel()
		state := tempState(t)
		_, err := Attach(state)
		mustSay(t, err, "no server is running in "+state)

		server, _ := start(t, Options{StateDir: state, Ephemeral: true})
		url, err := Attach(state)
		if err != nil || url != server.URL {
			t.Errorf("attached to %q, %v", url, err)
		}

		stop(t, server)
		_, err = Attach(state)
		mustSay(t, err, "no server is running in "+state)
	})

	t.Run("a URL that does not answer is an error and nothing is started", func(t *testing.T) {
		t.Parallel()
		state := filepath.Join(tempState(t), "never")
		_, err := Start(t.Context(), Options{StateDir: state, URL: "postgres://u:hunter2@127.0.0.1:1/db"})
		mustSay(t, err, "DATABASE_URL is set but the server does not respond")
		if strings.Contains(err.Error(), "hunter2") {
			t.Error("the error shows the password")
		}
		if _, err := os.Stat(state); err == nil {
			t.Error("something was made in the state directory")
		}
	})

	t.Run("a URL that answers is used and never stopped", func(t *testing.T) {
		t.Parallel()
		other, _ := start(t, Options{StateDir: tempState(t), Ephemeral: true})
		server, err := Start(t.Context(), Options{URL: other.URL})
		if err != nil {
			t.Fatal(err)
		}
		stop(t, server)
		query(t, other.URL, `SELECT 'still there'`)
	})

	t.Run("an ephemeral server forgets everything it was given", func(t *testing.T) {
		t.Parallel()
		state := filepath.Join(tempState(t), "gone")
		server, _ := start(t, Options{
			StateDir:      state,
			Ephemeral:     true,
			ExtraSettings: []string{"max_connections=7", "superuser_reserved_connections=1"},
		})
		if got := query(t, server.URL, `
			SELECT current_setting('fsync') || current_setting('max_connections')`); got != "off7" {
			t.Errorf("fsync, max_connections = %s", got)
		}
		stop(t, server)
		if _, err := os.Stat(state); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", state, err)
		}
	})

	t.Run("a server that cannot start shows what its log says", func(t *testing.T) {
		t.Parallel()
		_, err := Start(t.Context(),
			Options{StateDir: tempState(t), Ephemeral: true, ExtraSettings: []string{"no_such_setting=1"}})
		mustSay(t, err, "postgres exited immediately", "no_such_setting")
	})

	t.Run("a port that was taken meanwhile makes way for another", func(t *testing.T) {
		t.Parallel()
		other, _ := start(t, Options{StateDir: tempState(t), Ephemeral: true})
		state := tempState(t)
		taken, err := os.ReadFile(filepath.Join(other.state.path, "port"))
		if err != nil {
			t.Fatal(err)
		}
		err = os.WriteFile(filepath.Join(state, "port"), taken, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		server, _ := start(t, Options{StateDir: state, Ephemeral: true})
		if server.state.lastPort() == other.state.lastPort() {
			t.Error("two servers on one port")
		}
	})
}

func TestDataIsNeverReplaced(t *testing.T) {
	t.Parallel()

	plant := func(t *testing.T, files map[string]string) (state string) {
		t.Helper()
		state = tempState(t)
		for name, content := range files {
			path := filepath.Join(state, "postgres", name)
			err := os.MkdirAll(filepath.Dir(path), 0o755)
			if err != nil {
				t.Fatal(err)
			}
			err = os.WriteFile(path, []byte(content), 0o644)
			if err != nil {
				t.Fatal(err)
			}
		}
		return state
	}

	t.Run("a cluster of another version is refused by name, not overwritten", func(t *testing.T) {
		t.Parallel()
		state := plant(t, map[string]string{"data/PG_VERSION": "99\n"})
		_, err := Start(t.Context(), Options{StateDir: state, Sources: []Source{Installed}})
		if _, missing := installed(t.Context()); missing == nil {
			mustSay(t, err, "was made by PostgreSQL 99", "install PostgreSQL 99 again")
		}
		mustSay(t, err, "no PostgreSQL found")
		if _, err := os.Stat(filepath.Join(state, "postgres", "data", "PG_VERSION")); err != nil {
			t.Errorf("the data is gone: %v", err)
		}
	})

	t.Run("a directory that is no cluster is left alone", func(t *testing.T) {
		t.Parallel()
		state := plant(t, map[string]string{"data/thesis.txt": "ten years of work"})
		_, err := Start(t.Context(), Options{StateDir: state, Sources: []Source{Installed, Download}})
		mustSay(t, err, "is not a PostgreSQL cluster; move it away")
	})

	t.Run("a cluster whose password is lost is refused", func(t *testing.T) {
		t.Parallel()
		programs, err := installed(t.Context())
		if err != nil {
			t.Skipf("no installed PostgreSQL to have made the cluster: %v", err)
		}
		state := plant(t, map[string]string{"data/PG_VERSION": strconv.Itoa(major(programs[0].version))})
		_, err = Start(t.Context(), Options{StateDir: state, Sources: []Source{Installed}})
		mustSay(t, err, "password not found")
	})

	t.Run("an initdb that was killed half-way is begun again", func(t *testing.T) {
		t.Parallel()
		state := plant(t, map[string]string{"data.new/PG_VERSION": "15\n", "data.new/base/1/half": "…"})
		server, _ := start(t, Options{StateDir: state, Ephemeral: true})
		query(t, server.URL, `SELECT 'fine'`)
		if _, err := os.Stat(server.state.data() + ".new"); !os.IsNotExist(err) {
			t.Errorf("the unfinished cluster is still there: %v", err)
		}
	})
}

func TestMajor(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]int{
		"17.10":                          17,
		"15":                             15,
		"15.18 (Debian 15.18-0+deb12u1)": 15,
		"18beta1":                        18,
		"":                               0,
		"none":                           0,
	} {
		if got := major(version); got != want {
			t.Errorf("major(%q) = %d, want %d", version, got, want)
		}
	}
}

func TestStateDirectories(t *testing.T) {
	t.Parallel()

	t.Run("removing an ephemeral server leaves what others put beside it", func(t *testing.T) {
		t.Parallel()
		state := tempState(t)
		theirs := filepath.Join(state, "notes.txt")
		err := os.WriteFile(theirs, []byte("mine"), 0o644)
		if err != nil {
			t.Fatal(err)
		}
		server, _ := start(t, Options{StateDir: state, Ephemeral: true})
		stop(t, server)

		var left []string
		err = filepath.WalkDir(state, func(path string, entry fs.DirEntry, err error) error {
			if !entry.IsDir() {
				left = append(left, path)
			}
			return err
		})
		if err != nil || len(left) != 1 || left[0] != theirs {
			t.Errorf("left %v, %v; want only %s", left, err, theirs)
		}
	})
}
