package simulator_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/acquirer/simulator"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

func TestRun(t *testing.T) {
	t.Parallel()

	t.Run("it stops when told to, after answering what is under way", func(t *testing.T) {
		t.Parallel()
		log := &lockedBuffer{}
		sim, err := simulator.New(t.Context(), simulator.Config{
			DatabaseURL: pgtest.New(t).URL,
			Secret:      "s",
			Fault:       "slow:200",
			Log:         slog.New(slog.NewTextHandler(log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(sim.Close)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- sim.Run(ctx, "127.0.0.1:0") }()

		body := jsonOf(t, acquirer.Request{Verb: acquirer.VerbAuthorize, Order: visa(100)})
		answered, underWay := make(chan int, 1), make(chan struct{})
		url := "http://" + log.address(t) + "/operations/k"
		go func() { answered <- postAskedFor(t, url, body, underWay) }()
		<-underWay
		stop()

		if status := <-answered; status != http.StatusOK {
			t.Errorf("the request under way was answered %d", status)
		}
		if err := <-ended; err != nil {
			t.Errorf("stopped with %v", err)
		}
	})

	t.Run("it does not start without a secret or with a misspelled fault", func(t *testing.T) {
		t.Parallel()
		for _, cfg := range []simulator.Config{{}, {Secret: "s", Fault: "mayhem"}} {
			_, err := simulator.New(t.Context(), cfg)
			if err == nil {
				t.Errorf("started with %+v", cfg)
			}
		}
	})
}

func TestFaultSwitches(t *testing.T) {
	t.Parallel()

	t.Run("faults for everyone is set and read over HTTP", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		status, body := d.send(t, http.MethodPost, "/fault", "fail_before_acting")
		if status != http.StatusNoContent {
			t.Fatalf("setting it: %d %s", status, body)
		}
		status, body = d.send(t, http.MethodGet, "/fault", "")
		if status != http.StatusOK || strings.TrimSpace(body) != "fail_before_acting" {
			t.Errorf("reading it: %d %s", status, body)
		}
		status, _ = d.ask(t, "k", acquirer.VerbAuthorize, visa(1))
		if status != http.StatusServiceUnavailable {
			t.Errorf("with a fault: %d", status)
		}
		status, _ = d.send(t, http.MethodPost, "/fault", "mayhem")
		if status != http.StatusBadRequest {
			t.Errorf("a misspelled fault: %d", status)
		}
		d.send(t, http.MethodPost, "/fault", "")
		d.must(t, "k", acquirer.VerbAuthorize, visa(1))
	})

	t.Run("a request gets no fault for itself where that is not allowed", func(t *testing.T) {
		t.Parallel()
		sim, err := simulator.New(t.Context(), simulator.Config{DatabaseURL: pgtest.New(t).URL, Secret: "s"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(sim.Close)
		server := httptest.NewServer(sim.Handler())
		t.Cleanup(server.Close)
		body := jsonOf(t, acquirer.Request{Verb: acquirer.VerbAuthorize, Order: visa(100)})
		status := post(t, server.URL+"/operations/k", body, "fail_before_acting")
		if status != http.StatusOK {
			t.Errorf("answered %d", status)
		}
	})
}

// post asks an acquirer whose secret is "s".
func post(t *testing.T, url, body, fault string) (status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0
	}
	req.Header.Set("Authorization", "Bearer s")
	req.Header.Set(acquirer.FaultHeader, fault)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// postAskedFor keeps the body back until the acquirer asks for it. Then the
// request is under way, however slow the machine, and underWay is closed.
func postAskedFor(t *testing.T, url, body string, underWay chan struct{}) (status int) {
	t.Helper()
	began := sync.OnceFunc(func() { close(underWay) })
	defer began() // at the latest when it has failed
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: began})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0
	}
	req.Header.Set("Authorization", "Bearer s")
	req.Header.Set("Expect", "100-continue")
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	resp, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// lockedBuffer is a log that can be read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// address waits until the log says where the acquirer listens.
func (b *lockedBuffer) address(t *testing.T) string {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		b.mu.Lock()
		_, after, found := strings.Cut(b.text.String(), "address=")
		b.mu.Unlock()
		if found {
			return strings.Fields(after)[0]
		}
	}
	t.Fatal("the acquirer never listened")
	return ""
}
