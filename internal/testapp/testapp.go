// Package testapp starts the API for a test, as the program ratchet starts it: a migrated database, the simulated
// acquirer with its own database, and a server that a client reaches over HTTP.
//
//	app := testapp.New(t)
//	key := app.Open(t, "acct_1", "Toboggans")
//
// Everything ends with the test. A package adds to this the clients and the questions that only its tests have.
package testapp

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/process"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// App is an API that runs until its test ends.
type App struct {
	DB         *pgtest.DB
	AcquirerDB *pgtest.DB // the acquirer's own
	Sim        *acquirertest.Sim
	Config     process.Config // what the API was started with; a worker can be started with it, too
	API        *process.API
	Server     *httptest.Server
	Log        *Log
	Root       secret.Root
}

// New starts an API without any account. A change sees the configuration before the API does.
func New(t testing.TB, changes ...func(*process.Config)) *App {
	t.Helper()
	a := &App{DB: pgtest.New(t), AcquirerDB: pgtest.New(t), Log: &Log{}}
	a.Sim = acquirertest.Start(t, a.AcquirerDB.URL)
	root, err := secret.New(strings.Repeat("x", 32))
	if err != nil {
		t.Fatal(err)
	}
	a.Root = root
	a.Config = process.Config{
		DatabaseURL:    a.DB.URL,
		Secret:         root,
		AcquirerURL:    a.Sim.URL(),
		AcquirerSecret: a.Sim.Secret(),
		MaxConns:       8,
		Limits:         process.DefaultLimits(),
		Log:            slog.New(slog.NewTextHandler(a.Log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, change := range changes {
		change(&a.Config)
	}
	a.API, a.Server = a.Serve(t)
	return a
}

// Serve starts an API server with the same configuration, as a further process would.
func (a *App) Serve(t testing.TB) (*process.API, *httptest.Server) {
	t.Helper()
	api, err := process.NewAPI(t.Context(), a.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	server := httptest.NewServer(api.Handler)
	t.Cleanup(server.Close)
	return api, server
}

// Notified is a change that lets the acquirer send notifications.
func Notified(c *process.Config) { c.NotificationSecret = c.AcquirerSecret }

// Demo is a change that admits the demo's keys.
func Demo(c *process.Config) { c.Demo = true }

// Open opens an account and returns a secret key of its test mode.
func (a *App) Open(t testing.TB, account, name string) (key string) {
	t.Helper()
	a.Exec(t, "INSERT INTO accounts (id, name) VALUES ($1, $2)", account, name)
	return a.NewKey(t, account, apikey.Secret, false)
}

// NewKey makes an API key of an account.
func (a *App) NewKey(t testing.TB, account, kind string, livemode bool) string {
	t.Helper()
	_, key, err := apikey.Create(t.Context(), a.DB.Pool, a.Root.Keys(secret.APIKeys), account, kind, livemode)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Answer is a response of the API.
type Answer struct {
	Status int
	ID     string // of the object, "" for an error
	Body   string
}

// Send asks the API with a secret key. The headers are names, each followed by its value.
func (a *App) Send(t testing.TB, key, method, path, form string, headers ...string) Answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, a.Server.URL+path, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(key, "")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for n := 0; n < len(headers); n += 2 {
		request.Header.Set(headers[n], headers[n+1])
	}
	response, err := a.Server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var object struct{ ID string }
	if err := json.Unmarshal(body, &object); err != nil {
		t.Fatalf("%s %s: %s: %s", method, path, err, body)
	}
	return Answer{response.StatusCode, object.ID, string(body)}
}

// Exec changes the API's database behind its back.
func (a *App) Exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := a.DB.Pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// Log gathers what the API logs. Safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write appends a line. The application's goroutines call it at the same time.
func (l *Log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// String is everything written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
