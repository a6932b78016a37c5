package pgtest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/postgres/local"
)

func TestDocker(t *testing.T) {
	t.Parallel()
	options := local.Options{StateDir: t.TempDir(), Sources: []local.Source{local.Docker}, Docker: runContainer}

	// Where there is no Docker, that is said, and what a user would read then is
	// tested instead.
	if err := daemonAnswers(t.Context()); err != nil {
		_, refusal := local.Start(t.Context(), options)
		if refusal == nil || !strings.Contains(refusal.Error(), "docker: the Docker daemon does not answer: ") {
			t.Errorf("the user reads: %v", refusal)
		}
		t.Skipf("SKIPPED, no container was started: the Docker daemon does not answer: %v", err)
	}

	server, err := local.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	err = conn.QueryRow(t.Context(), `SELECT current_user || current_setting('fsync')`).Scan(&got)
	if err != nil || got != "ratcheton" {
		t.Errorf("user and fsync are %q, %v", got, err)
	}
	_ = conn.Close(t.Context())
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := pgx.Connect(ctx, server.URL); err == nil {
		t.Error("the container still answers after Stop")
	}
}
