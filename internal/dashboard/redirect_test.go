package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestRedirectsStayInTheDashboard checks the two places that redirect to an address from the request.
func TestRedirectsStayInTheDashboard(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	csrf := hidden(t, s.get(t, "/dashboard"), "csrf")
	ways := map[string]func(to string) page{
		"the login": func(to string) page { return s.get(t, "/dashboard/login?to="+url.QueryEscape(to)) },
		"the choice of an account": func(to string) page {
			return s.post(t, "/dashboard/scope", url.Values{"csrf": {csrf}, "scope": {"acct_1.test"}, "back": {to}})
		},
	}
	for name, redirect := range ways {
		t.Run(name, func(t *testing.T) {
			for to, want := range map[string]string{
				`/dashboard/../\evil.example/evil.html`:    "/dashboard",
				`/dashboard/%2e%2e/%5Cevil.example/evil`:   "/dashboard",
				`/dashboard/..//evil.example/`:             "/dashboard",
				`/dashboard/../docs`:                       "/dashboard",
				`/dashboard\..\evil.example`:               "/dashboard",
				`/dashboardelsewhere`:                      "/dashboard",
				"/dashboard/\t/evil.example":               "/dashboard",
				"/dashboard/%0d%0aSet-Cookie:x":            "/dashboard",
				"https://evil.example/dashboard/":          "/dashboard",
				"//evil.example/dashboard/":                "/dashboard",
				"":                                         "/dashboard",
				"/dashboard/payments?state=failed&q=a%5Cb": "/dashboard/payments?state=failed&q=a%5Cb",
				"/dashboard/./payments//pi_1":              "/dashboard/payments/pi_1",
				"/dashboard/search?q=%C3%A4":               "/dashboard/search?q=%C3%A4",
			} {
				p := redirect(to)
				if got := p.header.Get("Location"); p.status != http.StatusSeeOther || got != want {
					t.Errorf("%q led to %d %q, want %q", to, p.status, got, want)
				}
			}
		})
	}
}

// TestFormsLeadToTheirPages opens, and reloads, the addresses that forms are sent to.
func TestFormsLeadToTheirPages(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	charge := s.charge(t)
	endpoint := s.api(t, "/v1/webhook_endpoints", "url", "https://shop.example/webhook", "enabled_events[]", "*")
	request := s.get(t, "/v1/charges/"+charge).header.Get("Request-Id")
	for path, want := range map[string]string{
		"/dashboard/payments/" + charge + "/refund":     "/dashboard/payments/" + charge,
		"/dashboard/payments/" + charge + "/edit":       "/dashboard/payments/" + charge,
		"/dashboard/webhooks/" + endpoint + "/disable":  "/dashboard/webhooks/" + endpoint,
		"/dashboard/webhooks/" + endpoint + "/evt_none": "",
		"/dashboard/webhooks/we_none/evt_none/resend":   "/dashboard/webhooks/we_none/evt_none",
		"/dashboard/requests/" + request + "/again":     "/dashboard/requests/" + request,
		"/dashboard/balance/schedule":                   "/dashboard/balance",
		"/dashboard/clock/clock_none":                   "/dashboard/clock",
		"/dashboard/account/sessions/sess_none/end":     "/dashboard/account",
		"/dashboard/scope":                              "/dashboard",
		"/dashboard/payments/pi_none":                   "",
		"/dashboard/nothing":                            "",
	} {
		s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		p := s.get(t, path)
		status := map[bool]int{true: http.StatusSeeOther, false: http.StatusNotFound}[want != ""]
		if got := p.header.Get("Location"); p.status != status || got != want {
			t.Errorf("%s led to %d %q, want %d %q", path, p.status, got, status, want)
		}
	}
	s.client.CheckRedirect = nil
	drawn := s.get(t, "/dashboard/payments/"+charge)
	rejected := s.post(t, "/dashboard/payments/"+charge+"/refund",
		url.Values{"csrf": {hidden(t, drawn, "csrf")}, "key": {hidden(t, drawn, "key")}, "amount": {"lots"}})
	requireWords(t, rejected, ` data-at="/dashboard/payments/`+charge+`"`)
	if strings.Contains(drawn.body, " data-at=") {
		t.Error("a page at its own address names it")
	}
}
