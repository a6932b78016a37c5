package dashboard_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/process"
	"github.com/ratchet-pay/ratchet/internal/testapp"
	"github.com/ratchet-pay/ratchet/web/webtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// env is an API with its dashboard over real HTTP, and a browser that keeps cookies.
type env struct {
	db     *pgtest.DB
	sim    *acquirertest.Sim
	server *httptest.Server
	client *http.Client
	key    string
	log    *testapp.Log
}

func newEnv(t *testing.T, password string, changes ...func(*process.Config)) *env {
	t.Helper()
	dashboard := func(c *process.Config) { c.Dashboard = &process.Dashboard{Password: password} }
	app := testapp.New(t, append([]func(*process.Config){testapp.Notified, dashboard}, changes...)...)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &env{
		db:     app.DB,
		sim:    app.Sim,
		server: app.Server,
		client: &http.Client{Jar: jar},
		key:    app.Open(t, "acct_1", "Toboggans"),
		log:    app.Log,
	}
}

// page is what a browser was shown in the end.
type page struct {
	status int
	path   string
	header http.Header
	body   string
}

func (s *env) do(t *testing.T, r *http.Request) page {
	t.Helper()
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := webtest.Read(response)
	if err != nil {
		t.Fatal(err)
	}
	return page{response.StatusCode, response.Request.URL.Path, response.Header, body}
}

func (s *env) get(t *testing.T, path string) page {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.do(t, r)
}

func (s *env) post(t *testing.T, path string, form url.Values, header ...string) page {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+path,
		strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return s.do(t, r)
}

// charge makes a payment as a merchant does, and returns its id.
func (s *env) charge(t *testing.T, more ...string) string {
	t.Helper()
	form := url.Values{"amount": {"2000"}, "currency": {"usd"}, "source": {"tok_visa"}}
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	made := s.post(t, "/v1/charges", form, "Authorization", "Bearer "+s.key)
	if made.status != http.StatusOK {
		t.Fatalf("the charge was answered %d %s", made.status, made.body)
	}
	return regexp.MustCompile(`ch_\w+`).FindString(made.body)
}

func (s *env) count(t *testing.T, sql string) (n int) {
	t.Helper()
	if err := s.db.Pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func hidden(t *testing.T, p page, name string) string {
	t.Helper()
	found := regexp.MustCompile(`name="` + name + `" value="([^"]+)"`).FindStringSubmatch(p.body)
	if found == nil {
		t.Fatalf("no field %s on %s: %d %s", name, p.path, p.status, p.body)
	}
	return found[1]
}

func TestDashboardAccess(t *testing.T) {
	t.Parallel()

	t.Run("with a password nobody sees anything before giving it", func(t *testing.T) {
		t.Parallel()
		s := newEnv(t, "open sesame, please")
		for _, path := range []string{"/dashboard", "/dashboard/payments", "/dashboard/payments.csv",
			"/dashboard/keys", "/dashboard/stream", "/dashboard/nothing"} {
			if p := s.get(t, path); p.path != "/dashboard/login" {
				t.Errorf("%s led to %s", path, p.path)
			}
		}
		login := s.get(t, "/dashboard/login")
		p := s.post(t, "/dashboard/login", url.Values{"csrf": {hidden(t, login, "csrf")}, "password": {"sesame"}})
		if p.status != http.StatusUnauthorized {
			t.Errorf("a wrong password was answered %d", p.status)
		}
		p = s.post(t, "/dashboard/login",
			url.Values{"csrf": {hidden(t, login, "csrf")}, "password": {"open sesame, please"}})
		if p.status != http.StatusOK || p.path != "/dashboard" {
			t.Errorf("the password led to %d %s", p.status, p.path)
		}
	})

	t.Run("who logs in comes to the page that was asked for, here and nowhere else, and can log out", func(t *testing.T) {
		t.Parallel()
		s := newEnv(t, "open sesame, please")
		enter := func(login page) page {
			return s.post(t, "/dashboard/login", url.Values{
				"csrf":     {hidden(t, login, "csrf")},
				"to":       {hidden(t, login, "to")},
				"password": {"open sesame, please"},
			})
		}
		leave := func(from page) {
			p := s.post(t, "/dashboard/logout", url.Values{"csrf": {hidden(t, from, "csrf")}})
			if p.path != "/dashboard/login" {
				t.Errorf("logging out led to %s", p.path)
			}
		}
		in := enter(s.get(t, "/dashboard/payments?state=failed"))
		if in.path != "/dashboard/payments" || !strings.Contains(in.body, "Log out") {
			t.Errorf("the password led to %s", in.path)
		}
		leave(in)
		for _, elsewhere := range []string{"//elsewhere.example/", "https://elsewhere.example/", "/dashboardelsewhere",
			"/dashboard/logout"} {
			in := enter(s.get(t, "/dashboard/login?to="+url.QueryEscape(elsewhere)))
			if in.path != "/dashboard" {
				t.Errorf("asked for %s, the password led to %s", elsewhere, in.path)
			}
			leave(in)
		}
	})

	t.Run("without one it answers to this machine's names only, and so does the API", func(t *testing.T) {
		t.Parallel()
		s := newEnv(t, "")
		for host, want := range map[string]int{
			"rebound.example": http.StatusMisdirectedRequest,
			"localhost:1":     http.StatusOK,
			"[::1]:80":        http.StatusOK,
		} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/dashboard/keys", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host
			if p := s.do(t, r); p.status != want {
				t.Errorf("the host %s was answered %d, want %d", host, p.status, want)
			}
			r.URL.Path = "/v1/account"
			if want == http.StatusOK {
				want = http.StatusUnauthorized // no key
			}
			if p := s.do(t, r); p.status != want {
				t.Errorf("the API under the host %s answers %d, want %d", host, p.status, want)
			}
		}
	})

	t.Run("an address that a page would be led on from is refused as the API refuses, if it means the API", func(t *testing.T) {
		t.Parallel()
		s := newEnv(t, "")
		for _, path := range []string{"//v1/account", "/./v1/account", "/docs/../v1/account", "//v1//account"} {
			p := s.get(t, path)
			if p.status != http.StatusNotFound || p.path != path ||
				!strings.Contains(p.body, "Unrecognized request URL") {
				t.Errorf("%s led to %d %s %s", path, p.status, p.path, p.body)
			}
		}
		if p := s.get(t, "//docs"); p.status != http.StatusOK || p.path != "/docs" {
			t.Errorf("a page with two slashes led to %d %s", p.status, p.path)
		}
	})

	t.Run("at an address that is nobody's a browser sees a page, and whoever means the API its error", func(t *testing.T) {
		t.Parallel()
		s := newEnv(t, "")
		const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
		for _, asked := range []struct{ path, accept, kind string }{
			{"/nothing", browser, "text/html; charset=utf-8"}, {"/3ds/<b>/more", browser, "text/html; charset=utf-8"},
			{"/nothing", "*/*", "application/json"}, {"/nothing", "application/json", "application/json"},
			{"/nothing", "", "application/json"}, {"/v1/nothing", browser, "application/json"},
			{"/v1", browser, "application/json"}, {"//v1/nothing", browser, "application/json"},
		} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+asked.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept", asked.accept)
			p := s.do(t, r)
			if got := p.header.Get("Content-Type"); p.status != http.StatusNotFound || got != asked.kind {
				t.Errorf("%s with Accept %q was answered %d %s", asked.path, asked.accept, p.status, got)
			}
			policy := p.header.Get("Content-Security-Policy")
			if asked.accept == browser && asked.kind != "application/json" &&
				!strings.Contains(policy, "default-src 'none'") || strings.Contains(p.body, "<b>") {
				t.Errorf("%s has the policy %q and shows %s", asked.path, policy, p.body)
			}
		}
	})

	t.Run("no page is framed, runs what is inline, or shows a key", func(t *testing.T) {
		t.Parallel()
		s := newEnv(t, "")
		for _, path := range []string{"/", "/dashboard", "/dashboard/keys", "/docs", "/docs/api/charges"} {
			p := s.get(t, path)
			policy := p.header.Get("Content-Security-Policy")
			if !strings.Contains(policy, "script-src 'self'") || !strings.Contains(policy, "frame-ancestors 'none'") {
				t.Errorf("%s has the policy %q", path, policy)
			}
			if strings.Contains(p.body, s.key) ||
				regexp.MustCompile(`<script>|<style|style="| on\w+="`).MatchString(p.body) {
				t.Errorf("%s shows a key, or has something inline", path)
			}
		}
	})
}

func TestWhatIsDoneFromAPage(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")

	t.Run("a form that is sent twice refunds once, and the trail names the dashboard", func(t *testing.T) {
		at := "/dashboard/payments/" + s.charge(t)
		drawn := s.get(t, at)
		form := url.Values{"csrf": {hidden(t, drawn, "csrf")}, "key": {hidden(t, drawn, "key")}, "amount": {"5.00"}}
		for range 2 {
			if p := s.post(t, at+"/refund", form); p.status != http.StatusOK || p.path != at {
				t.Errorf("answered %d at %s", p.status, p.path)
			}
		}
		if n := s.count(t, `SELECT count(*) FROM refunds WHERE amount = 500`); n != 1 {
			t.Errorf("%d refunds were made", n)
		}
		if n := s.count(t, `
			SELECT count(*) FROM audit_events WHERE actor = 'dashboard' AND operation = 'refund.create'`); n != 1 {
			t.Errorf("the audit trail has it %d times", n)
		}
	})

	t.Run("what the API refuses is said on the page, and nothing is done", func(t *testing.T) {
		at := "/dashboard/payments/" + s.charge(t)
		for amount, want := range map[string]int{
			"20.01": http.StatusBadRequest,
			"-1":    http.StatusUnprocessableEntity,
			"1.001": http.StatusUnprocessableEntity,
			"":      http.StatusUnprocessableEntity,
		} {
			drawn := s.get(t, at)
			p := s.post(t, at+"/refund",
				url.Values{"csrf": {hidden(t, drawn, "csrf")}, "key": {hidden(t, drawn, "key")}, "amount": {amount}})
			if p.status != want || !strings.Contains(p.body, `role="alert"`) {
				t.Errorf("%q was answered %d", amount, p.status)
			}
		}
		if strings.Contains(s.get(t, at).body, "Partially refunded") {
			t.Error("something was refunded")
		}
	})

	t.Run("what an amount looks like is said in the payment's currency", func(t *testing.T) {
		for currency, want := range map[string]string{"usd": "such as 20.00.", "jpy": "such as 20."} {
			at := "/dashboard/payments/" +
				s.api(t, "/v1/charges", "amount", "2000", "currency", currency, "source", "tok_visa")
			drawn := s.get(t, at)
			p := s.post(t, at+"/refund",
				url.Values{"csrf": {hidden(t, drawn, "csrf")}, "key": {hidden(t, drawn, "key")}, "amount": {"20.001"}})
			if !strings.Contains(p.body, "Enter an amount, "+want) {
				t.Errorf("for %s, the page does not say %q", currency, want)
			}
		}
	})

	t.Run("a form without this browser's token, or from another site, changes nothing", func(t *testing.T) {
		at := "/dashboard/payments/" + s.charge(t)
		drawn := s.get(t, at)
		form := url.Values{"csrf": {hidden(t, drawn, "csrf")}, "key": {"forged"}, "amount": {"1.00"}}
		if p := s.post(t, at+"/refund", form, "Sec-Fetch-Site", "cross-site"); p.status != http.StatusForbidden {
			t.Errorf("another site's form was answered %d", p.status)
		}
		form.Set("csrf", "wrong")
		p := s.post(t, at+"/refund", form)
		if p.status != http.StatusForbidden || !strings.Contains(p.body, "Nothing changed") {
			t.Errorf("a form without a token was answered %d: %s", p.status, p.body)
		}
		if n := s.count(t, `SELECT count(*) FROM requests WHERE key = 'forged'`); n != 0 {
			t.Error("a request was made of it")
		}
	})
}

func TestLists(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	for i := range 60 {
		s.charge(t, "amount", fmt.Sprint(1000+i), "description", fmt.Sprintf("=HYPERLINK(%d)", i))
	}

	t.Run("the pages of a list show every payment once, there and back", func(t *testing.T) {
		row := regexp.MustCompile(`data-key="(ch_\w+)"`)
		older := regexp.MustCompile(`href="([^"]+)" rel="next"`)
		newer := regexp.MustCompile(`href="([^"]+)" rel="prev"`)
		var there, back []string
		at := s.get(t, "/dashboard/payments?state=succeeded")
		for {
			for _, found := range row.FindAllStringSubmatch(at.body, -1) {
				there = append(there, found[1])
			}
			next := older.FindStringSubmatch(at.body)
			if next == nil {
				break
			}
			at = s.get(t, strings.ReplaceAll(next[1], "&amp;", "&"))
		}
		for {
			var rows []string
			for _, found := range row.FindAllStringSubmatch(at.body, -1) {
				rows = append(rows, found[1])
			}
			back = append(rows, back...)
			previous := newer.FindStringSubmatch(at.body)
			if previous == nil {
				break
			}
			at = s.get(t, strings.ReplaceAll(previous[1], "&amp;", "&"))
		}
		if len(there) != 60 || s.count(t, `SELECT count(*) FROM charges`) != 60 {
			t.Errorf("%d payments were shown", len(there))
		}
		seen := map[string]bool{}
		for _, id := range append(there, back...) {
			seen[id] = true
		}
		if len(seen) != 60 || len(back) != 60 {
			t.Errorf("there %d, back %d, different %d", len(there), len(back), len(seen))
		}
	})

	t.Run("the file has all that the filter lets through, and nothing a spreadsheet would run", func(t *testing.T) {
		p := s.get(t, "/dashboard/payments.csv?state=succeeded")
		rows, err := csv.NewReader(strings.NewReader(p.body)).ReadAll()
		if err != nil || len(rows) != 61 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		if got := rows[1]; got[3] != "10.59" || got[5] != "1059" || got[9] != "'=HYPERLINK(59)" {
			t.Errorf("the newest is %q", got)
		}
		if p := s.get(t, "/dashboard/payments.csv?state=failed"); strings.Count(p.body, "\n") != 1 {
			t.Errorf("the failed ones are %q", p.body)
		}
	})
}
