package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/process"
)

func TestAuthFailuresAreLimited(t *testing.T) {
	t.Parallel()
	metrics, get := shown(t)
	s := newEnv(t, func(c *process.Config) { c.Metrics, c.Limits.API.AuthFailureRate = metrics, 1 })
	read := func(as string) answer { return s.ask(t, sent{as: as, method: http.MethodGet, target: "/v1/balance"}) }
	if a := read("toboggans"); a.status != http.StatusOK {
		t.Fatalf("a valid key is answered %d %s", a.status, a.body)
	}
	guesses := 0
	for {
		s.keys["guess"] = fmt.Sprintf("sk_test_guess%020d", guesses)
		a := read("guess")
		if a.status == http.StatusTooManyRequests {
			requireLimited(t, a, "global-rate")
			break
		}
		if guesses++; a.status != http.StatusUnauthorized || guesses > 100 {
			t.Fatalf("guess %d was answered %d %s", guesses, a.status, a.body)
		}
	}

	t.Run("a key that has worked here goes on working for others at the same address", func(t *testing.T) {
		if a := read("toboggans"); a.status != http.StatusOK {
			t.Errorf("answered %d %s", a.status, a.body)
		}
		time.Sleep(2100 * time.Millisecond) // longer than a key is remembered: it is looked up again
		for read("guess").status != http.StatusTooManyRequests {
		}
		if a := read("toboggans"); a.status != http.StatusOK {
			t.Errorf("looked up again, it is answered %d %s", a.status, a.body)
		}
	})

	t.Run("another address is not concerned", func(t *testing.T) {
		for read("guess").status != http.StatusTooManyRequests {
		}
		fresh := s.newKey(t, "acct_kites", apikey.Secret, false)
		if status := s.readFrom(t, "192.0.2.1:1", fresh); status != http.StatusOK {
			t.Errorf("a new key is answered %d", status)
		}
	})

	t.Run("any number of valid keys can be new at one address", func(t *testing.T) {
		for range 10 {
			fresh := s.newKey(t, "acct_kites", apikey.Secret, false)
			if status := s.readFrom(t, "192.0.2.2:1", fresh); status != http.StatusOK {
				t.Errorf("a new key is answered %d", status)
			}
		}
	})

	t.Run("the addresses of one IPv6 customer share a bucket", func(t *testing.T) {
		last := 0
		for i := range 10 {
			last = s.readFrom(t, fmt.Sprintf("[2001:db8:0:7::%d]:1", i), fmt.Sprintf("sk_test_v6guess%020d", i))
		}
		if last != http.StatusTooManyRequests {
			t.Errorf("the tenth is answered %d", last)
		}
	})

	t.Run("failures are counted by reason, and the log names the address and no key", func(t *testing.T) {
		read("toboggans revoked")
		s.ask(t, sent{method: http.MethodGet, target: "/v1/balance", header: http.Header{"Authorization": nil}})
		_, text := get("/metrics")
		for _, reason := range []string{"unknown", "limited", "missing"} {
			if !strings.Contains(text, `ratchet_auth_failures_total{reason="`+reason+`"} `) {
				t.Errorf("%s is not counted", reason)
			}
		}
		if log := s.log.String(); !strings.Contains(log, "peer=127.0.0.1") || strings.Contains(log, s.keys["guess"]) {
			t.Error("the log names no address, or a key")
		}
	})
}

// readFrom reads the balance from another address, and returns the status.
func (s *env) readFrom(t *testing.T, remote, key string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/v1/balance", nil)
	r.RemoteAddr = remote
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	s.process.Handler.ServeHTTP(w, r)
	return w.Code
}
