package model

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/process"
	"github.com/ratchet-pay/ratchet/internal/testapp"
)

// installation is the whole product in one process: API servers, the acquirer,
// and a worker where a test starts one.
type installation struct {
	pool     *pgxpool.Pool
	acquirer *acquirertest.Sim
	config   process.Config
	servers  []string // their addresses
	apiKey   string
}

func install(t *testing.T, servers int) *installation {
	t.Helper()
	app := testapp.New(t)
	in := &installation{pool: app.DB.Pool, acquirer: app.Sim, config: app.Config, servers: []string{app.Server.URL},
		apiKey: app.Open(t, "acct_test", "Test")}
	for len(in.servers) < servers {
		_, server := app.Serve(t)
		in.servers = append(in.servers, server.URL)
	}
	return in
}

// work runs a worker until the test ends.
func (in *installation) work(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- process.Work(ctx, in.config) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Errorf("the worker: %v", err)
		}
	})
}

const chargeForm = "amount=2000&currency=usd&source=tok_visa"

// reply is what a client got. Status 0 means that the connection was lost.
type reply struct {
	status   int
	replayed bool
	body     string
}

// charge asks a server for a charge and waits for timeout.
func (in *installation) charge(server int, key, form string, timeout time.Duration) reply {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, in.servers[server]+"/v1/charges",
		strings.NewReader(form))
	if err != nil {
		return reply{}
	}
	ask.Header.Set("Authorization", "Bearer "+in.apiKey)
	ask.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	ask.Header.Set("Idempotency-Key", key)
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		return reply{}
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return reply{}
	}
	return reply{answer.StatusCode, answer.Header.Get("Idempotent-Replayed") == "true", string(body)}
}

func (in *installation) count(t *testing.T, sql string) (n int) {
	t.Helper()
	if err := in.pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (in *installation) want(t *testing.T, what string, want int, sql string) {
	t.Helper()
	if got := in.count(t, sql); got != want {
		t.Errorf("%s: %d, want %d", what, got, want)
	}
}
