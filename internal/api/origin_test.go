package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/process"
)

// TestAPageOfAnotherSiteCannotUseASecretKey sends what browsers send for such a page.
func TestAPageOfAnotherSiteCannotUseASecretKey(t *testing.T) {
	t.Parallel()
	s := newEnv(t, func(c *process.Config) { c.PublicURL = "https://pay.example.com" })
	us := s.server.URL
	const charge, token = "/v1/charges", "/v1/tokens"
	for _, row := range []struct {
		name    string
		as      string // whose key; "toboggans" if ""
		target  string
		header  http.Header
		refused bool
	}{
		{name: "a form of another site", target: charge, refused: true,
			header: header("Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode",
				"navigate")},
		{
			name:    "a form of an older browser",
			target:  charge,
			header:  header("Origin", "http://evil.example"),
			refused: true,
		},
		{name: "a page that hides its origin", target: charge, header: header("Origin", "null"), refused: true},
		{
			name:    "another port of this machine",
			target:  charge,
			header:  header("Origin", "http://127.0.0.1:1"),
			refused: true,
		},
		{
			name:    "another port, by a current browser",
			target:  charge,
			header:  header("Sec-Fetch-Site", "same-site"),
			refused: true,
		},
		{name: "an address with a key, typed or linked", target: charge, refused: true,
			header: header("Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate")},
		{
			name:    "a live key",
			as:      "toboggans live",
			target:  charge,
			header:  header("Sec-Fetch-Site", "cross-site"),
			refused: true,
		},
		{name: "a server", target: charge},
		{name: "Node.js, whose fetch names a mode", target: charge, header: header("Sec-Fetch-Mode", "cors")},
		{
			name:   "a page of ours",
			target: charge,
			header: header("Origin", us, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"),
		},
		{name: "a page of ours in an older browser", target: charge, header: header("Origin", us)},
		{name: "a page of ours behind a proxy", target: charge, header: header("Origin", "https://pay.example.com")},
		{name: "a publishable key in a shop's page", as: "toboggans publishable", target: token,
			header: header("Origin", "https://shop.example", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors")},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := s.requests(t)
			body := "amount=2000&currency=usd&source=tok_visa"
			if row.target == token {
				body = "card[number]=" + number(t, "visa") + "&card[exp_month]=12&card[exp_year]=2040"
			}
			a := s.ask(t, sent{as: row.as, target: row.target, body: body, header: row.header})
			if !row.refused {
				if a.status != http.StatusOK {
					t.Errorf("answered %d %s", a.status, a.body)
				}
				return
			}
			if a.status != http.StatusForbidden || a.fault.Type != "invalid_request_error" ||
				!strings.Contains(a.fault.Message, "another site") {
				t.Errorf("answered %d %s", a.status, a.body)
			}
			if n := s.requests(t); n != before {
				t.Errorf("%d requests were made of it", n-before)
			}
		})
	}
}

// TestHosts covers DNS rebinding and links: a name that is not ours gets 421.
func TestHosts(t *testing.T) {
	t.Parallel()
	const public, other = "pay.example.com", "evil.example"
	for _, row := range []struct {
		name      string
		publicURL string
		demo      bool
		accepts   map[string]bool
	}{
		{"without a public URL only this machine's names are accepted", "", false,
			map[string]bool{
				"127.0.0.1:8080": true,
				"localhost":      true,
				"[::1]:80":       true,
				other:            false,
				other + ":8080":  false,
				"192.0.2.1":      false,
			}},
		{"with one a load balancer may use any name", "https://" + public, false,
			map[string]bool{"127.0.0.1": true, public: true, "serve-a:8080": true}},
		{"a demo accepts its own names only", "http://" + public + ":8080", true,
			map[string]bool{
				"127.0.0.1":            true,
				public + ":8080":       true,
				"PAY.example.com:8080": true,
				other:                  false,
				"evil." + public:       false,
			}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newEnv(t, func(c *process.Config) { c.PublicURL, c.Demo = row.publicURL, row.demo })
			for host, accepted := range row.accepts {
				for _, path := range []string{"/v1/balance", "//v1/balance", "/3d_secure/none", "/c/pay/none"} {
					r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://ours"+path, nil)
					r.Host, r.URL.Host = host, ""
					r.SetBasicAuth(s.keys["toboggans"], "")
					w := httptest.NewRecorder()
					s.process.Handler.ServeHTTP(w, r)
					if got := w.Code != http.StatusMisdirectedRequest; got != accepted {
						t.Errorf("%s under the host %s is answered %d", path, host, w.Code)
					}
					if w.Code == http.StatusMisdirectedRequest && strings.Contains(path, "/v1/") {
						a := readAnswer(t, w.Result())
						if a.fault.Type != "invalid_request_error" || !strings.Contains(a.fault.Message, host) {
							t.Errorf("%s", a.body)
						}
					}
				}
			}
		})
	}
}
