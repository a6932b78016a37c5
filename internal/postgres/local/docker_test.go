package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestContainer(t *testing.T) {
	t.Parallel()

	t.Run("a container serves, and ends with Stop", func(t *testing.T) {
		t.Parallel()
		other, _ := start(t, Options{StateDir: tempState(t), Ephemeral: true})
		ended := 0
		runs := func(_ context.Context, user string, settings []string) (string, func() error, error) {
			if user != superuser || len(settings) != 3 || settings[2] != "max_connections=7" {
				t.Errorf("asked for %s and %q", user, settings)
			}
			return other.URL, func() error { ended++; return nil }, nil
		}
		server, _ := start(t, Options{
			StateDir:      tempState(t),
			Sources:       []Source{Docker},
			Docker:        runs,
			ExtraSettings: []string{"max_connections=7"},
		})
		if server.URL != other.URL || server.Source != Docker || server.PID() != 0 {
			t.Errorf("started %+v", server)
		}
		stop(t, server)
		if ended != 1 {
			t.Errorf("ended %d times", ended)
		}
	})

	t.Run("a container that does not answer is ended, and the error is not hidden", func(t *testing.T) {
		t.Parallel()
		ended := 0
		dead := func(context.Context, string, []string) (string, func() error, error) {
			return "postgres://ratchet@127.0.0.1:1/postgres", func() error { ended++; return nil }, nil
		}
		_, err := Start(t.Context(),
			Options{StateDir: tempState(t), Sources: []Source{Docker, Installed}, Docker: dead})
		mustSay(t, err, "docker: ", "127.0.0.1:1")
		if ended != 1 {
			t.Errorf("ended %d times", ended)
		}
	})

	t.Run("no container where it would hide data, and none where Docker cannot be used", func(t *testing.T) {
		t.Parallel()
		state := tempState(t)
		data := filepath.Join(state, "postgres", "data")
		if err := os.MkdirAll(data, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("17\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		without := func(context.Context, string, []string) (string, func() error, error) {
			return "", nil, errors.New("no daemon")
		}
		_, err := Start(t.Context(), Options{StateDir: state, Sources: []Source{Docker}, Docker: without})
		mustSay(t, err, "it would hide the data in "+data, "start Docker")
		_, err = Start(t.Context(), Options{StateDir: tempState(t), Sources: []Source{Docker}, Docker: without})
		mustSay(t, err, "no PostgreSQL found", "docker: no daemon")
		_, err = Start(t.Context(), Options{StateDir: tempState(t), Sources: []Source{Docker}})
		mustSay(t, err, "docker: this program does not use Docker")
	})
}
