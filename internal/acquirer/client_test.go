package acquirer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// knowledge is what an error says about the key, as the engine reads it.
type knowledge string

const (
	answered      knowledge = "answered"
	notSent       knowledge = "not sent"
	unused        knowledge = "unused"
	neverHappened knowledge = "never happened"
	reversed      knowledge = "reversed"
	unknown       knowledge = "unknown"
)

func knownFrom(err error) knowledge {
	switch {
	case err == nil:
		return answered
	case errors.Is(err, phase.ErrNotExecuted):
		return neverHappened
	case errors.Is(err, phase.ErrReversed):
		return reversed
	}
	// The engine's own marks are not exported; the tests recognize them by their text.
	switch {
	case strings.HasPrefix(err.Error(), "not sent: "):
		return notSent
	case strings.HasPrefix(err.Error(), "key retired: "):
		return unused
	default:
		return unknown
	}
}

var sale = acquirer.Request{
	Verb:  acquirer.VerbAuthorize,
	Order: acquirer.Order{Card: "visa", Amount: 2000, Currency: "usd", Capture: true},
}

// honest is what an acquirer answers to sale under "key".
func honest() acquirer.Operation {
	return acquirer.Operation{
		Key: "key", Verb: sale.Verb, Order: sale.Order,
		Result: acquirer.Result{
			Approved:       true,
			Reference:      "auth_1",
			Amount:         2000,
			Currency:       "usd",
			CapturedAmount: 2000,
		},
	}
}

// answering returns a client of a server that always answers the same.
func answering(t *testing.T, status int, body any) *acquirer.Client {
	t.Helper()
	text, isText := body.(string)
	if !isText {
		encoded, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		text = string(encoded)
	}
	return clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	}))
}

func clientOf(t *testing.T, handler http.Handler) *acquirer.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client := acquirer.NewClient(acquirer.Config{URL: server.URL, Secret: "s"})
	t.Cleanup(client.Close)
	return client
}

func TestWhatAnAnswerProves(t *testing.T) {
	t.Parallel()
	altered := func(change func(*acquirer.Operation)) acquirer.Operation {
		op := honest()
		change(&op)
		return op
	}
	refusal := func(key, reason string) acquirer.Refusal { return acquirer.Refusal{Key: key, Reason: reason} }

	for _, tc := range []struct {
		name   string
		status int
		body   any
		want   knowledge
	}{
		{"an answer to what was asked is believed", 200, honest(), answered},
		{"another key's answer is not believed", 200, altered(func(o *acquirer.Operation) { o.Key = "other" }),
			unknown},
		{"another amount is not believed", 200, altered(func(o *acquirer.Operation) { o.Result.Amount = 2001 }),
			unknown},
		{"another currency is not believed", 200, altered(func(o *acquirer.Operation) { o.Result.Currency = "eur" }),
			unknown},
		{"another order is not believed", 200, altered(func(o *acquirer.Operation) { o.Order.Card = "amex" }), unknown},
		{"another verb is not believed", 200, altered(func(o *acquirer.Operation) {
			o.Verb = acquirer.VerbRefund
		}), unknown},
		{"an approval without a reference is not believed", 200,
			altered(func(o *acquirer.Operation) { o.Result.Reference = "" }), unknown},
		{"a body that is no JSON tells nothing", 200, "<html>welcome</html>", unknown},
		{"an empty body tells nothing", 200, "", unknown},
		{"an endless body tells nothing", 200, strings.Repeat(" ", 1<<20) + "{}", unknown},
		{"a redirect tells nothing", 302, "", unknown},
		{"a 500 tells nothing", 500, refusal("key", acquirer.ReasonKeyRetired), unknown},
		{"a 503 tells nothing", 503, refusal("key", acquirer.ReasonUnavailable), unknown},
		{"a reused key tells nothing", 409, refusal("key", acquirer.ReasonKeyReused), unknown},
		{"a wrong secret tells nothing", 401, refusal("", acquirer.ReasonUnauthorized), unknown},
		{"a 404 with its reason proves that nothing happened", 404, refusal("key", acquirer.ReasonNeverHappened),
			neverHappened},
		{"a 404 of a proxy tells nothing", 404, "404 page not found", unknown},
		{"a 404 about another key tells nothing", 404, refusal("other", acquirer.ReasonNeverHappened), unknown},
		{"a tombstone proves that nothing stands", 410, refusal("key", acquirer.ReasonReversed), reversed},
		{"a tombstone of another key tells nothing", 410, refusal("other", acquirer.ReasonReversed), unknown},
		{"a spent key proves that nothing was done", 422, refusal("key", acquirer.ReasonKeyRetired), unused},
		{"a 422 for another reason tells nothing", 422, refusal("key", acquirer.ReasonInvalid), unknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			answer, err := answering(t, tc.status, tc.body).Do(t.Context(), "key", phase.Send, sale)
			if got := knownFrom(err); got != tc.want {
				t.Errorf("known: %s (%v), want %s", got, err, tc.want)
			}
			if err != nil && answer != (acquirer.Result{}) {
				t.Errorf("an error came with the answer %+v", answer)
			}
		})
	}

	t.Run("a contradiction can be told from a missing answer", func(t *testing.T) {
		t.Parallel()
		wrong := altered(func(o *acquirer.Operation) { o.Result.Amount = 1 })
		_, err := answering(t, 200, wrong).Do(t.Context(), "key", phase.Send, sale)
		if !errors.Is(err, acquirer.ErrContradiction) {
			t.Errorf("error %v is no ErrContradiction", err)
		}
	})

	t.Run("a reversal is believed for its own key only", func(t *testing.T) {
		t.Parallel()
		_, err := answering(t, 200, acquirer.Reversal{Key: "key", Reversed: true}).
			Do(t.Context(), "key", phase.Reverse, sale)
		if knownFrom(err) != reversed {
			t.Errorf("reversing: %v", err)
		}
		_, err = answering(t, 200, acquirer.Reversal{Key: "other", Reversed: true}).
			Do(t.Context(), "key", phase.Reverse, sale)
		if knownFrom(err) != unknown {
			t.Errorf("a reversal of another key: %v", err)
		}
		_, err = answering(t, 200, "{}").Do(t.Context(), "key", phase.Reverse, sale)
		if knownFrom(err) != unknown {
			t.Errorf("an empty reversal: %v", err)
		}
	})
}

func TestWhatALostConnectionProves(t *testing.T) {
	t.Parallel()

	t.Run("a refused connection proves that nothing was sent", func(t *testing.T) {
		t.Parallel()
		client := acquirer.NewClient(acquirer.Config{URL: "http://" + unusedAddress(t)})
		_, err := client.Do(t.Context(), "key", phase.Send, sale)
		if knownFrom(err) != notSent {
			t.Errorf("error %v, want not sent", err)
		}
	})

	t.Run("a permit without a key is not sent", func(t *testing.T) {
		t.Parallel()
		_, err := answering(t, 200, honest()).Authorize(t.Context(), phase.Permit{}, sale.Order)
		if knownFrom(err) != notSent {
			t.Errorf("error %v, want not sent", err)
		}
	})

	t.Run("a connection cut before the answer proves nothing, and is not tried again", func(t *testing.T) {
		t.Parallel()
		var calls atomic.Int32
		client := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if calls.Add(1) == 1 {
				_ = json.NewEncoder(w).Encode(honest())
				return
			}
			panic(http.ErrAbortHandler)
		}))
		// The second call goes out on a connection that has been used before, where
		// net/http repeats requests it takes for repeatable.
		for i, want := range []knowledge{answered, unknown} {
			_, err := client.Do(t.Context(), "key", phase.Send, sale)
			if knownFrom(err) != want {
				t.Errorf("call %d: %v, want %s", i+1, err, want)
			}
		}
		if calls.Load() != 2 {
			t.Errorf("the acquirer was called %d times for 2 asks", calls.Load())
		}
	})

	t.Run("an answer cut in the middle proves nothing", func(t *testing.T) {
		t.Parallel()
		client := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"key":"key"`)
		}))
		_, err := client.Do(t.Context(), "key", phase.Send, sale)
		if knownFrom(err) != unknown {
			t.Errorf("error %v, want unknown", err)
		}
	})

	t.Run("a time-out proves nothing", func(t *testing.T) {
		t.Parallel()
		release := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
		t.Cleanup(server.Close)
		t.Cleanup(func() { close(release) })
		// connecting is within it, too
		client := acquirer.NewClient(acquirer.Config{URL: server.URL, Timeout: time.Second})
		_, err := client.Do(t.Context(), "key", phase.Send, sale)
		if knownFrom(err) != unknown {
			t.Errorf("error %v, want unknown", err)
		}
	})
}

func TestClientBreaker(t *testing.T) {
	t.Parallel()

	// fails answers the first three calls with an error, and all others well.
	fails := func(t *testing.T) (server *httptest.Server, calls *atomic.Int32) {
		calls = &atomic.Int32{}
		server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if calls.Add(1) <= 3 {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			_ = json.NewEncoder(w).Encode(honest())
		}))
		t.Cleanup(server.Close)
		return server, calls
	}
	// opened is a client whose breaker has opened by these three.
	opened := func(t *testing.T, url string, pause time.Duration) *acquirer.Client {
		client := acquirer.NewClient(acquirer.Config{URL: url, BreakerLimit: 3, BreakerPause: pause})
		for range 3 {
			_, err := client.Do(t.Context(), "key", phase.Send, sale)
			if knownFrom(err) != unknown {
				t.Fatalf("error %v, want unknown", err)
			}
		}
		return client
	}

	t.Run("an acquirer that only fails is left alone", func(t *testing.T) {
		t.Parallel()
		server, calls := fails(t)
		client := opened(t, server.URL, time.Hour)
		_, err := client.Do(t.Context(), "key", phase.Send, sale)
		if knownFrom(err) != notSent {
			t.Errorf("error %v, want not sent while the breaker is open", err)
		}
		if calls.Load() != 3 {
			t.Errorf("the acquirer was called %d times, want 3", calls.Load())
		}
	})

	t.Run("and found again when it is back and the pause is over", func(t *testing.T) {
		t.Parallel()
		server, _ := fails(t)
		pause := 20 * time.Millisecond
		client := opened(t, server.URL, pause)
		time.Sleep(pause)
		for range 2 {
			_, err := client.Do(t.Context(), "key", phase.Send, sale)
			if err != nil {
				t.Errorf("after it came back: %v", err)
			}
		}
	})

	t.Run("refusals do not open it", func(t *testing.T) {
		t.Parallel()
		client := answering(t, http.StatusConflict, acquirer.Refusal{Key: "key", Reason: acquirer.ReasonKeyReused})
		for range 40 {
			_, err := client.Do(t.Context(), "key", phase.Send, sale)
			if knownFrom(err) != unknown {
				t.Fatalf("error %v, want the refusal itself", err)
			}
		}
	})

	t.Run("callers who give up do not open it", func(t *testing.T) {
		t.Parallel()
		var slowAccepted atomic.Bool
		gone, giveUp := context.WithCancel(t.Context())
		client := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if slowAccepted.Load() {
				_ = json.NewEncoder(w).Encode(honest())
				return
			}
			_, _ = io.Copy(io.Discard, r.Body) // the server sees a caller hang up only when it has read everything
			giveUp()
			<-r.Context().Done()
		}))
		for range 40 {
			_, err := client.Do(gone, "key", phase.Send, sale)
			if err == nil {
				t.Fatal("answered a caller who had given up")
			}
		}
		slowAccepted.Store(true)
		_, err := client.Do(t.Context(), "key", phase.Send, sale)
		if err != nil {
			t.Errorf("the next caller: %v", err)
		}
	})
}

// An acquirer that accepts a connection and never answers does not end reconciliation.
func TestADownloadOfTheSettlementFileEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := acquirer.NewClient(acquirer.Config{URL: "http://acquirer.example",
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				here, there := net.Pipe()
				go func() { _, _ = io.Copy(io.Discard, there) }()
				return here, nil
			}})
		_, err := client.Settlement(t.Context(), time.Now().Add(-time.Hour), time.Now())
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the download ended with %v, want the deadline", err)
		}
	})
}

// unusedAddress is a loopback address that no longer has a listener.
func unusedAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
