package apitest_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/apitest"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/process"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// TestExamples sends every example of openapi.yaml to its own server.
func TestExamples(t *testing.T) {
	t.Parallel()
	send := startServer(t)
	for _, o := range apitest.Operations() {
		for _, e := range o.Examples {
			t.Run(o.ID+" answers the example "+e.Name+" as it says", func(t *testing.T) {
				t.Parallel()
				o.Send(t, send, e)
			})
		}
	}
}

// startServer starts an API with an account, and returns a way to ask it whose
// answers are all checked.
func startServer(t *testing.T) apitest.Sender {
	t.Helper()
	db, sim := pgtest.New(t), acquirertest.Start(t, pgtest.New(t).URL)
	root, err := secret.New(strings.Repeat("x", 32))
	if err != nil {
		t.Fatal(err)
	}
	p, err := process.NewAPI(t.Context(), process.Config{
		DatabaseURL:        db.URL,
		Secret:             root,
		AcquirerURL:        sim.URL(),
		AcquirerSecret:     sim.Secret(),
		NotificationSecret: sim.Secret(),
		Log:                slog.New(slog.DiscardHandler),
		MaxConns:           8,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	_, err = db.Pool.Exec(t.Context(), `INSERT INTO accounts (id, name) VALUES ('acct_1', 'Toboggans')`)
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := apikey.Create(t.Context(), db.Pool, root.For(secret.APIKeys), "acct_1", apikey.Secret, false)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(p.Handler)
	t.Cleanup(server.Close)

	send := sender(server, key)
	sim.Notify(server.URL)
	// A notification that arrives before its charge is booked is stored, and no worker is here to try it again.
	ctx, stop := context.WithCancel(t.Context())
	var trying sync.WaitGroup
	trying.Go(func() {
		for ctx.Err() == nil {
			_, _ = p.Inbox().ApplyDue(ctx)
			time.Sleep(100 * time.Millisecond)
		}
	})
	t.Cleanup(func() { stop(); trying.Wait() })
	return send
}

func sender(server *httptest.Server, key string) apitest.Sender {
	return func(t testing.TB, method, target, body string) (int, []byte) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+target, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.SetBasicAuth(key, "")
		if method == http.MethodPost {
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		response, err := apitest.Checked(t, server.Client().Transport).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, answer
	}
}
