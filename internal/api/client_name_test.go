package api_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestTheClientsNameIsKeptWithTheRequest(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	pan := number(t, "visa")
	for name, want := range map[string]string{
		"Stripe/v1 GoBindings/82.0.0": "Stripe/v1 GoBindings/82.0.0",
		"shop " + pan:                 "[hidden]",
		"shop " + pan[:4] + "-" + pan[4:10] + " " + pan[10:]: "[hidden]",
		"shop sk_test_0123456789abcdef":                      "shop [hidden]",
		"shop Bearer 0123456789abcdef":                       "shop [hidden]",
		"shop whsec_0123456789abcdef/1":                      "shop [hidden]",
		strings.Repeat("a", 500):                             strings.Repeat("a", 64) + "…",
		"":                                                   "",
	} {
		a := s.ask(t, sent{target: "/v1/customers", header: http.Header{"User-Agent": {name}}})
		if a.status != http.StatusOK {
			t.Fatalf("%q was answered %d %s", hide(name, pan), a.status, a.body)
		}
		var got string
		err := s.db.Pool.QueryRow(t.Context(), `SELECT coalesce(context->>'client', '') FROM requests WHERE id = $1`,
			a.header.Get("Request-Id")).Scan(&got)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("of %q, %q is kept, want %q", hide(name, pan), hide(got, pan), want)
		}
	}
	for table, text := range s.db.Text(t) {
		if holds(text, pan) || strings.Contains(text, "0123456789abcdef") {
			t.Errorf("%s has a number or a secret in it", table)
		}
	}
}
