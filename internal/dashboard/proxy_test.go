package dashboard_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestPagesBehindAProxyNeedAPassword sends what proxies add to a request that they pass on to 127.0.0.1.
func TestPagesBehindAProxyNeedAPassword(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		password string
		want     int
	}{"without a password": {"", http.StatusForbidden}, "with one": {"a password of some length", http.StatusOK}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newEnv(t, row.password)
			for header, value := range map[string]string{"X-Forwarded-For": "192.0.2.1", "x-forwarded-proto": "https",
				"Forwarded": "for=192.0.2.1", "Via": "1.1 proxy", "X-Real-IP": "192.0.2.1"} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/dashboard", nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set(header, value)
				p := s.do(t, r)
				if p.status != row.want ||
					row.want == http.StatusForbidden && !strings.Contains(p.body, "RATCHET_DASHBOARD_PASSWORD") {
					t.Errorf("with %s the dashboard answers %d %s", header, p.status, p.body)
				}
				r.URL.Path = "/v1/account"
				if p := s.do(t, r); p.status != http.StatusUnauthorized {
					t.Errorf("with %s the API answers %d", header, p.status)
				}
			}
		})
	}
}
