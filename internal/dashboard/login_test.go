package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/process"
)

const password = "a password of some length"

func TestLogin(t *testing.T) {
	t.Parallel()
	try := func(t *testing.T, s *env, given string) page {
		t.Helper()
		return s.post(t, "/dashboard/login",
			url.Values{"csrf": {hidden(t, s.get(t, "/dashboard/login"), "csrf")}, "password": {given}})
	}

	t.Run("every try leaves an audit row with its address and outcome, and no password", func(t *testing.T) {
		t.Parallel()
		s := newEnv(t, password)
		try(t, s, "a wrong password")
		try(t, s, password)
		for operation, status := range map[string]string{"dashboard.login_refused": "401", "dashboard.login": "200"} {
			if n := s.count(t, `
				SELECT count(*) FROM audit_events WHERE actor = 'operator:dashboard' AND address = '127.0.0.1'
				AND operation = '`+operation+`' AND status = `+status); n != 1 {
				t.Errorf("%s is there %d times", operation, n)
			}
		}
		if n := s.count(t, `SELECT count(*) FROM audit_events WHERE audit_events::text LIKE '%password%'`); n != 0 {
			t.Error("the trail has a password")
		}
		log := s.log.String()
		for _, want := range []string{"outcome=refused peer=127.0.0.1", "outcome=done peer=127.0.0.1"} {
			if !strings.Contains(log, want) {
				t.Errorf("the log has no %s", want)
			}
		}
		if strings.Contains(log, password) || strings.Contains(log, "a wrong password") {
			t.Error("the log has a password")
		}
	})

	t.Run("after ten tries in a minute even the right password is not looked at", func(t *testing.T) {
		t.Parallel()
		s := newEnv(t, password)
		for i := range 10 {
			if p := try(t, s, "a wrong password"); p.status != http.StatusUnauthorized {
				t.Errorf("try %d was answered %d", i+1, p.status)
			}
		}
		limited := 0
		for range 5 { // a slow machine gives a try back in between
			if p := try(t, s, "another wrong password"); p.status == http.StatusTooManyRequests {
				limited++
				if !strings.Contains(p.body, "Wait a minute") || p.header.Get("Retry-After") == "" {
					t.Errorf("nobody learns what to do: %s", p.body)
				}
			}
		}
		if limited == 0 {
			t.Error("fifteen tries were looked at")
		}
		p := try(t, s, password)
		if p.status == http.StatusTooManyRequests && s.get(t, "/dashboard").path != "/dashboard/login" {
			t.Error("a try that was refused has logged in")
		}
	})

	t.Run("behind HTTPS the cookies are this host's alone, and browsers use nothing else", func(t *testing.T) {
		t.Parallel()
		s := newEnv(t, password, func(c *process.Config) { c.PublicURL = "https://pay.example.com" })
		s.client.Jar = nil
		s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		login := s.get(t, "/dashboard/login")
		if got := login.header.Get("Strict-Transport-Security"); got != "max-age=31536000" {
			t.Errorf("Strict-Transport-Security is %q", got)
		}
		browser := only(t, login, "__Host-ratchet_browser")
		in := s.post(t, "/dashboard/login", url.Values{"csrf": {hidden(t, login, "csrf")}, "password": {password}},
			"Cookie", browser)
		session := only(t, in, "__Host-ratchet_session")
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/dashboard", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Cookie", browser+"; "+session)
		if p := s.do(t, r); p.status != http.StatusOK {
			t.Errorf("the session was answered %d", p.status)
		}
	})

	t.Run("without HTTPS browsers would keep no secure cookie, so there is none", func(t *testing.T) {
		t.Parallel()
		s := newEnv(t, password)
		login := s.get(t, "/dashboard/login")
		text := strings.Join(login.header.Values("Set-Cookie"), "")
		if strings.Contains(text, "Secure") || login.header.Get("Strict-Transport-Security") != "" {
			t.Errorf("the headers are %v", login.header)
		}
	})
}

// only is the cookie that a response sets, as a browser sends it back. It must be Secure and limited to this host.
func only(t *testing.T, p page, name string) string {
	t.Helper()
	for _, line := range p.header.Values("Set-Cookie") {
		cookie, err := http.ParseSetCookie(line)
		if err != nil {
			t.Fatal(err)
		}
		if cookie.Name != name {
			continue
		}
		if !cookie.Secure || !cookie.HttpOnly || cookie.Path != "/" || cookie.Domain != "" {
			t.Errorf("%s is set as %s", name, line)
		}
		return cookie.Name + "=" + cookie.Value
	}
	t.Fatalf("%d: no cookie %s in %v", p.status, name, p.header)
	return ""
}
