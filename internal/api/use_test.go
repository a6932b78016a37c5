package api_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/process"
)

// TestLastUse asks a process for something and ends it: then it is known which
// keys were used, and until then nothing was written for it.
func TestLastUse(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	p, err := process.NewAPI(t.Context(), s.config)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s.server = httptest.NewServer(p.Handler)
	defer s.server.Close()

	used := map[string]int{
		"toboggans":         http.StatusOK,
		"kites":             http.StatusOK,
		"toboggans revoked": http.StatusUnauthorized,
	}
	for as, want := range used {
		for range 2 { // the second time it is remembered
			if a := s.ask(t, sent{as: as, method: http.MethodGet, target: "/v1/account"}); a.status != want {
				t.Errorf("%s: %d", as, a.status)
			}
		}
	}
	if n := s.lastUsed(t, "toboggans"); n != nil {
		t.Errorf("a request wrote at once that its key was used: %v", n)
	}
	p.Close()
	for as, want := range used {
		at := s.lastUsed(t, as)
		if (at != nil) != (want == http.StatusOK) {
			t.Errorf("the key of %s, answered %d, was last used %v", as, want, at)
		}
		if at != nil && time.Since(*at) > time.Minute {
			t.Errorf("the key of %s was last used %v ago", as, time.Since(*at))
		}
	}
	if at := s.lastUsed(t, "toboggans live"); at != nil {
		t.Errorf("a key that nobody used was used at %v", at)
	}
}

func (s *env) lastUsed(t *testing.T, as string) (at *time.Time) {
	t.Helper()
	err := s.db.Pool.QueryRow(t.Context(), `
		SELECT last_used_at FROM api_keys WHERE right(display, 4) = right($1, 4)`, s.keys[as]).Scan(&at)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
