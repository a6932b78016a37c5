package apitest_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apitest"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/testapp"
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
	app := testapp.New(t, testapp.Notified)
	send := sender(app.Server, app.Open(t, "acct_1", "Toboggans"))
	app.Sim.Notify(app.Server.URL)
	// A notification that arrives before its charge is booked is stored, and no worker is here to try it again.
	ctx, stop := context.WithCancel(t.Context())
	var trying sync.WaitGroup
	trying.Go(func() {
		for ctx.Err() == nil {
			_, _ = app.API.Inbox().ApplyDue(ctx)
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
