package local

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDocker(t *testing.T) {
	t.Parallel()

	// Docker is the last of four sources. Where there is none, that is said, and
	// what a user would read then is tested instead.
	err := daemonAnswers(t.Context())
	if err != nil {
		t.Run("a daemon that does not answer is said to be so", func(t *testing.T) {
			_, err := Start(t.Context(), Options{StateDir: tempState(t), Sources: []Source{Docker}})
			mustSay(t, err, "no PostgreSQL to run on", "docker: the Docker daemon does not answer: ")
		})
		t.Skipf("SKIPPED, no container was started: the Docker daemon does not answer: %v", err)
	}

	t.Run("a container serves durably and ends with Stop", func(t *testing.T) {
		server, _ := start(t, Options{StateDir: tempState(t), Sources: []Source{Docker}})
		if got := query(t, server.URL, `SELECT current_user || current_setting('fsync')`); got != "ratcheton" {
			t.Errorf("user, fsync = %s", got)
		}
		url := server.URL
		stop(t, server)
		if _, err := ping(t.Context(), url); err == nil {
			t.Error("the container still answers after Stop")
		}
	})

	t.Run("a container is refused where it would hide data", func(t *testing.T) {
		state := tempState(t)
		data := filepath.Join(state, "postgres", "data")
		err := os.MkdirAll(data, 0o755)
		if err != nil {
			t.Fatal(err)
		}
		err = os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("17\n"), 0o644)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Start(t.Context(), Options{StateDir: state, Sources: []Source{Docker}})
		mustSay(t, err, "it would hide the data in "+data)
	})
}
