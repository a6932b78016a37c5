package dashboard_test

import (
	"net/http"
	"net/url"
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
