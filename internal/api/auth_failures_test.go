package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
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

func TestAuthFailuresBehindAProxy(t *testing.T) {
	t.Parallel()
	s := newEnv(t, func(c *process.Config) {
		c.Limits.API.AuthFailureRate = 1
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}
	})
	guess := func(remote string, forwarded func(int) string) (last int) {
		for i := range 10 {
			last = s.readFrom(t, remote, fmt.Sprintf("sk_test_guess%020d", i), "X-Forwarded-For", forwarded(i))
		}
		return last
	}
	same := func(int) string { return "203.0.113.7" }
	if last := guess("192.0.2.1:1", same); last != http.StatusTooManyRequests {
		t.Errorf("the tenth guess of one client is answered %d", last)
	}
	fresh := s.newKey(t, "acct_kites", apikey.Secret, false)
	if status := s.readFrom(t, "192.0.2.1:1", fresh, "X-Forwarded-For", "203.0.113.8"); status != http.StatusOK {
		t.Errorf("another client of the proxy is answered %d", status)
	}
	if !strings.Contains(s.log.String(), "peer=203.0.113.7") {
		t.Error("the log does not name the client")
	}
	madeUp := func(i int) string { return fmt.Sprintf("198.51.100.%d", i) }
	if last := guess("192.0.2.9:1", madeUp); last != http.StatusTooManyRequests {
		t.Errorf("a peer that is no proxy and names a new address each time is answered %d", last)
	}
	left := func(i int) string { return madeUp(i) + ", 203.0.113.9" }
	if last := guess("192.0.2.1:1", left); last != http.StatusTooManyRequests {
		t.Errorf("a client that adds a new address on the left each time is answered %d", last)
	}
}

// readFrom reads the balance from another address, with a header, and returns the status.
func (s *env) readFrom(t *testing.T, remote, key string, header ...string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/v1/balance", nil)
	r.RemoteAddr = remote
	r.Header.Set("Authorization", "Bearer "+key)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.process.Handler.ServeHTTP(w, r)
	return w.Code
}
