package login_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/people"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/process"
	"github.com/ratchet-pay/ratchet/internal/supervisor"
	"github.com/ratchet-pay/ratchet/internal/testapp"
	"github.com/ratchet-pay/ratchet/web/webtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// env is an API with its dashboard over real HTTP.
type env struct {
	db     *pgtest.DB
	server *httptest.Server
}

func newEnv(t *testing.T, d process.Dashboard) *env {
	t.Helper()
	app := testapp.New(t, func(c *process.Config) { c.Dashboard = &d })
	app.Open(t, "acct_1", "Toboggans")
	return &env{app.DB, app.Server}
}

func (h *env) count(t *testing.T, sql string, args ...any) (n int) {
	t.Helper()
	if err := h.db.Pool.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// user makes a user who has chosen a password.
func (h *env) user(t *testing.T, email string, role people.Role) *people.User {
	t.Helper()
	by := people.By{Actor: "tester"}
	u, first, err := people.Create(t.Context(), h.db.Pool, by, email, role)
	if err != nil {
		t.Fatal(err)
	}
	session := &people.Session{User: u}
	if err := people.ChangePassword(t.Context(), h.db.Pool, by, session, first, password); err != nil {
		t.Fatal(err)
	}
	return u
}

const password = "seven green kettles sing"

// browser keeps cookies and follows redirects.
type browser struct {
	h      *env
	client *http.Client
}

type page struct {
	status int
	path   string
	body   string
}

func (h *env) browser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{h, &http.Client{Jar: jar}}
}

func (b *browser) get(t *testing.T, path string) page {
	t.Helper()
	return b.send(t, http.MethodGet, path, nil)
}

// post sends a form as a page of ours does.
func (b *browser) post(t *testing.T, path string, fields ...string) page {
	t.Helper()
	form := url.Values{"csrf": {hidden(t, b.get(t, "/dashboard/login"), "csrf")}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return b.send(t, http.MethodPost, path, form)
}

func (b *browser) send(t *testing.T, method, path string, form url.Values) page {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, b.h.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := webtest.Read(response)
	if err != nil {
		t.Fatal(err)
	}
	return page{response.StatusCode, response.Request.URL.Path, body}
}

func (b *browser) login(t *testing.T, email string) *browser {
	t.Helper()
	if p := b.post(t, "/dashboard/login", "email", email, "password", password); p.path != "/dashboard" {
		t.Fatalf("%s was not let in: %d %s", email, p.status, p.path)
	}
	return b
}

func hidden(t *testing.T, p page, name string) string {
	t.Helper()
	found := regexp.MustCompile(`name="` + name + `" value="([^"]+)"`).FindStringSubmatch(p.body)
	if found == nil {
		t.Fatalf("no field %s on %s: %d %s", name, p.path, p.status, p.body)
	}
	return found[1]
}

func TestUsers(t *testing.T) {
	t.Parallel()

	t.Run("the installation's password opens the dashboard until there is a user", func(t *testing.T) {
		t.Parallel()
		h := newEnv(t, process.Dashboard{Password: password})
		b := h.browser(t)
		b.post(t, "/dashboard/login", "password", password)
		p := b.post(t, "/dashboard/users", "email", "Ann@Example.com", "role", "administer")
		first := regexp.MustCompile(`<code>([A-Z2-7]{24})</code>`).FindStringSubmatch(p.body)
		if first == nil {
			t.Fatalf("no first password: %d %s", p.status, p.body)
		}
		if p := b.get(t, "/dashboard"); p.path != "/dashboard/login" {
			t.Error("the session of the installation's password goes on")
		}
		if p := b.post(t, "/dashboard/login", "password", password); p.status != http.StatusUnauthorized {
			t.Error("the installation's password still opens the dashboard")
		}
		p = b.post(t, "/dashboard/login", "email", "ann@example.com", "password", first[1])
		if p.path != "/dashboard/account" {
			t.Errorf("the first password led to %s", p.path)
		}
		if p := b.get(t, "/dashboard/payments"); p.path != "/dashboard/account" {
			t.Error("the first password need not be changed")
		}
		for next, want := range map[string]string{"short": "at least 12", "Password123456": "too easy",
			"ann ann ann 2024": "too easy", "qwertyuiop12": "too easy"} {
			p := b.send(t, http.MethodPost, "/dashboard/account/password", url.Values{
				"csrf": {hidden(t, b.get(t, "/dashboard/account"), "csrf")}, "present": {first[1]}, "next": {next}})
			if !strings.Contains(p.body, want) {
				t.Errorf("%q was accepted: %d", next, p.status)
			}
		}
		b.send(t, http.MethodPost, "/dashboard/account/password", url.Values{
			"csrf": {hidden(t, b.get(t, "/dashboard/account"), "csrf")}, "present": {first[1]}, "next": {password}})
		if p := b.get(t, "/dashboard/payments"); p.path != "/dashboard/payments" {
			t.Errorf("after the change, payments led to %s", p.path)
		}
		if n := h.count(t, `SELECT count(*) FROM audit_events WHERE operation IN ('user.create', 'user.password')
			AND actor IN ('operator:dashboard', 'operator:ann@example.com') AND address = '127.0.0.1'`); n != 2 {
			t.Errorf("the trail has %d rows of them", n)
		}
	})

	t.Run("an unknown email and a wrong password get the same answer, and only a user is named", func(t *testing.T) {
		t.Parallel()
		h := newEnv(t, process.Dashboard{})
		h.user(t, "ann@example.com", people.View)
		same := regexp.MustCompile(`value="[^"]*"`)
		b := h.browser(t)
		known := b.post(t, "/dashboard/login", "email", "ann@example.com", "password", "no")
		unknown := b.post(t, "/dashboard/login", "email", "my secret@typed here", "password", "no")
		if known.status != http.StatusUnauthorized || same.ReplaceAllString(known.body, "") !=
			same.ReplaceAllString(unknown.body, "") {
			t.Error("the answers differ")
		}
		if n := h.count(t, `SELECT count(*) FROM audit_events WHERE operation = 'dashboard.login_refused'
			AND actor IN ('operator:ann@example.com', 'operator:dashboard')`); n != 2 {
			t.Errorf("the trail has %d refused logins", n)
		}
	})

	t.Run("a code works once, and a recovery code, too", func(t *testing.T) {
		t.Parallel()
		h := newEnv(t, process.Dashboard{TOTPRequired: true})
		u := h.user(t, "ann@example.com", people.View)
		b := h.browser(t)
		p := b.post(t, "/dashboard/login", "email", u.Email, "password", password)
		if p.path != "/dashboard/account/totp" {
			t.Fatalf("without a second factor, the login led to %s", p.path)
		}
		shared := regexp.MustCompile(`id="shared">([A-Z2-7]+)<`).FindStringSubmatch(p.body)[1]
		code, err := people.TOTP(shared, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		p = b.send(t, http.MethodPost, "/dashboard/account/totp", url.Values{"csrf": {hidden(t, p, "csrf")},
			"sealed": {hidden(t, p, "sealed")}, "password": {password}, "code": {code}})
		recovery := regexp.MustCompile(`<li>([a-z2-7]{5}-[a-z2-7]{5})</li>`).FindStringSubmatch(p.body)
		if recovery == nil {
			t.Fatalf("no recovery codes: %d %s", p.status, p.body)
		}
		enter := func(code string) page {
			b := h.browser(t)
			p := b.post(t, "/dashboard/login", "email", u.Email, "password", password)
			if other := b.get(t, "/dashboard/payments"); other.path == "/dashboard/payments" {
				t.Error("the password alone opens a page")
			}
			return b.send(t, http.MethodPost, "/dashboard/login/code", url.Values{"csrf": {hidden(t, p, "csrf")},
				"code": {code}})
		}
		if p := enter(code); p.status != http.StatusUnauthorized {
			t.Errorf("the code that set up the app worked again: %d", p.status)
		}
		if p := enter(recovery[1]); p.path != "/dashboard" {
			t.Errorf("the recovery code led to %d %s", p.status, p.path)
		}
		if p := enter(recovery[1]); p.status != http.StatusUnauthorized {
			t.Errorf("the recovery code worked again: %d", p.status)
		}
		if n := h.count(t, `SELECT count(*) FROM users WHERE users::text LIKE '%' || $1 || '%'`, shared); n != 0 {
			t.Error("the table has the secret in the clear")
		}
	})
}

const logouts = `
	SELECT count(*) FROM audit_events
	WHERE operation = 'dashboard.logout' AND object_id = $1 AND actor = 'operator:ann@example.com'`

func TestSessions(t *testing.T) {
	t.Parallel()
	h := newEnv(t, process.Dashboard{})
	h.user(t, "ann@example.com", people.Operate)
	enter := func(t *testing.T) (*browser, string) {
		t.Helper()
		var before string
		_ = h.db.Pool.QueryRow(t.Context(), `SELECT string_agg(id, ',') FROM user_sessions`).Scan(&before)
		b := h.browser(t).login(t, "ann@example.com")
		var id string
		err := h.db.Pool.QueryRow(t.Context(),
			`SELECT id FROM user_sessions WHERE NOT id = ANY (string_to_array($1, ','))`, before).Scan(&id)
		if err != nil {
			t.Fatal(err)
		}
		return b, id
	}
	for name, sql := range map[string]string{
		"30 minutes without use":    `UPDATE user_sessions SET seen_at = now() - interval '31 minutes' WHERE id = $1`,
		"12 hours":                  `UPDATE user_sessions SET expires_at = now() WHERE id = $1`,
		"the user's being disabled": `UPDATE users SET disabled_at = now() WHERE $1 <> ''`,
	} {
		t.Run("a session ends after "+name, func(t *testing.T) {
			b, id := enter(t)
			if _, err := h.db.Pool.Exec(t.Context(), sql, id); err != nil {
				t.Fatal(err)
			}
			if p := b.get(t, "/dashboard"); p.path != "/dashboard/login" {
				t.Errorf("the session goes on: %s", p.path)
			}
			if _, err := h.db.Pool.Exec(t.Context(), `UPDATE users SET disabled_at = NULL`); err != nil {
				t.Fatal(err)
			}
		})
	}

	t.Run("a cookie that was copied opens nothing after the logout", func(t *testing.T) {
		b, id := enter(t)
		at, err := url.Parse(h.server.URL)
		if err != nil {
			t.Fatal(err)
		}
		copied := h.browser(t)
		copied.client.Jar.SetCookies(at, b.client.Jar.Cookies(at))
		if p := copied.get(t, "/dashboard/account"); p.path != "/dashboard/account" {
			t.Fatal("the copy opens nothing at all")
		}
		b.send(t, http.MethodPost, "/dashboard/logout",
			url.Values{"csrf": {hidden(t, b.get(t, "/dashboard/account"), "csrf")}})
		if p := copied.get(t, "/dashboard/account"); p.path != "/dashboard/login" {
			t.Error("the copy still opens the dashboard")
		}
		if n := h.count(t, logouts, id); n != 1 {
			t.Errorf("the logout has %d audit rows", n)
		}
	})

	t.Run("a person sees other sessions and ends them", func(t *testing.T) {
		one, _ := enter(t)
		other, id := enter(t)
		p := one.get(t, "/dashboard/account")
		if !strings.Contains(p.body, id) {
			t.Fatal("the page does not show the other session")
		}
		one.send(t, http.MethodPost, "/dashboard/account/sessions/"+id+"/end",
			url.Values{"csrf": {hidden(t, p, "csrf")}})
		if p := other.get(t, "/dashboard"); p.path != "/dashboard/login" {
			t.Error("the session goes on")
		}
		if n := h.count(t, logouts, id); n != 1 {
			t.Errorf("the end of the session has %d audit rows", n)
		}
	})

	t.Run("what was typed survives a session that ended", func(t *testing.T) {
		b, id := enter(t)
		csrf := hidden(t, b.get(t, "/dashboard/account"), "csrf")
		if err := people.End(t.Context(), h.db.Pool, id, ""); err != nil {
			t.Fatal(err)
		}
		p := b.send(t, http.MethodPost, "/dashboard/new/customer", url.Values{"csrf": {csrf}, "key": {"dashboard-x-1"},
			"name": {"Zoe Example"}})
		if p.status != http.StatusUnauthorized {
			t.Fatalf("answered %d %s", p.status, p.path)
		}
		p = b.send(t, http.MethodPost, "/dashboard/login", url.Values{"csrf": {csrf}, "email": {"ann@example.com"},
			"password": {password}, "kept": {hidden(t, p, "kept")}})
		if hidden(t, p, "name") != "Zoe Example" || hidden(t, p, "key") != "dashboard-x-1" {
			t.Errorf("the form is gone: %s", p.body)
		}
	})

	t.Run("the job removes sessions a week after they ended", func(t *testing.T) {
		_, id := enter(t)
		if _, err := h.db.Pool.Exec(t.Context(), `UPDATE user_sessions SET ended_at = now() - interval '8 days'
			WHERE id = $1`, id); err != nil {
			t.Fatal(err)
		}
		if n, err := people.RemoveEnded(t.Context(), h.db.PoolAs(t, "ratchet_worker")); err != nil || n != 1 {
			t.Errorf("removed %d, %v", n, err)
		}
	})
}

// leastRole is the role that each form of the dashboard needs. A new form is added here, or the test fails.
var leastRole = map[string]people.Role{
	"POST /dashboard/login":                        "", // open
	"POST /dashboard/login/code":                   "",
	"POST /dashboard/logout":                       people.View,
	"POST /dashboard/scope":                        people.View,
	"POST /dashboard/account/password":             people.View,
	"POST /dashboard/account/totp":                 people.View,
	"POST /dashboard/account/sessions/{id}/end":    people.View,
	"POST /dashboard/views":                        people.View,
	"POST /dashboard/new/{what}":                   people.Operate,
	"POST /dashboard/payments/selected":            people.Operate,
	"POST /dashboard/payments/{id}/{action}":       people.Operate,
	"POST /dashboard/payments/{id}/edit":           people.Operate,
	"POST /dashboard/customers/{id}/edit":          people.Operate,
	"POST /dashboard/products/{id}/{action}":       people.Operate,
	"POST /dashboard/prices/{id}/{action}":         people.Operate,
	"POST /dashboard/checkout/{id}/expire":         people.Operate,
	"POST /dashboard/links/{id}/{action}":          people.Operate,
	"POST /dashboard/disputes/{id}/{action}":       people.Operate,
	"POST /dashboard/balance/schedule":             people.Operate,
	"POST /dashboard/payouts/{id}/cancel":          people.Operate,
	"POST /dashboard/clock":                        people.Operate,
	"POST /dashboard/kill":                         people.Operate,
	"POST /dashboard/clock/{id}":                   people.Operate,
	"POST /dashboard/events/{event}/resend":        people.Operate,
	"POST /dashboard/webhooks/{id}/{event}/resend": people.Operate,
	"POST /dashboard/requests/{id}/resume":         people.Operate,
	"POST /dashboard/requests/{id}/release":        people.Operate,
	"POST /dashboard/requests/{id}/again":          people.Operate,
	"POST /lab/runs":                               people.Operate,
	"POST /lab/matrix":                             people.Operate,
	"POST /lab/traces":                             people.Operate,
	"POST /docs/api/run":                           people.Operate,
	"POST /dashboard/webhooks":                     people.Administer,
	"POST /dashboard/webhooks/{id}/{action}":       people.Administer,
	"POST /dashboard/users":                        people.Administer,
	"POST /dashboard/users/{id}/{action}":          people.Administer,
}

// TestSessionsOfAnAttacker plants a session before its user logs in, and steals another one.
func TestSessionsOfAnAttacker(t *testing.T) {
	t.Parallel()
	h := newEnv(t, process.Dashboard{})
	h.user(t, "ann@example.com", people.Operate)
	at, err := url.Parse(h.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	cookies := func(b *browser) []*http.Cookie { return b.client.Jar.Cookies(at) }

	t.Run("a login makes a new session, no matter what the browser sends", func(t *testing.T) {
		victim, attacker := h.browser(t), h.browser(t)
		attacker.login(t, "ann@example.com") // whose session may even be valid
		planted := cookies(attacker)
		victim.client.Jar.SetCookies(at, append(planted, &http.Cookie{Name: "other", Value: "x"}))
		victim.get(t, "/dashboard")
		attacker.send(t, http.MethodPost, "/dashboard/logout",
			url.Values{"csrf": {hidden(t, attacker.get(t, "/dashboard/account"), "csrf")}})
		victim.login(t, "ann@example.com")
		if p := victim.get(t, "/dashboard/account"); p.path != "/dashboard/account" {
			t.Fatalf("the login opens nothing: %s", p.path)
		}
		if p := attacker.get(t, "/dashboard/account"); p.path != "/dashboard/login" {
			t.Error("the session that was planted became the user's")
		}
		for _, c := range cookies(victim) {
			for _, known := range planted {
				if strings.Contains(c.Name, "session") && c.Value == known.Value {
					t.Error("the login keeps the session's cookie")
				}
			}
		}
	})

	t.Run("another password ends the user's other sessions", func(t *testing.T) {
		thief := h.browser(t).login(t, "ann@example.com")
		ann := h.browser(t).login(t, "ann@example.com")
		p := ann.send(t, http.MethodPost, "/dashboard/account/password", url.Values{"present": {password},
			"next": {"eight yellow saucers hum"}, "csrf": {hidden(t, ann.get(t, "/dashboard/account"), "csrf")}})
		if p.status != http.StatusOK {
			t.Fatalf("answered %d", p.status)
		}
		if p := thief.get(t, "/dashboard/account"); p.path != "/dashboard/login" {
			t.Error("the stolen session goes on")
		}
		if p := ann.get(t, "/dashboard/account"); p.path != "/dashboard/account" {
			t.Error("the user's own session ended")
		}
	})
}

// TestEveryFormNeedsARole reads the forms' routes from the source, and sends each form as a person of each role.
func TestEveryFormNeedsARole(t *testing.T) {
	t.Parallel()
	h := newEnv(t, process.Dashboard{Supervisor: &supervisor.Client{}}) // which kills nothing
	browsers, csrf := map[people.Role]*browser{}, map[people.Role]string{}
	for _, role := range []people.Role{people.Administer, people.Operate, people.View} {
		h.user(t, string(role)+"@example.com", role)
		browsers[role] = h.browser(t).login(t, string(role)+"@example.com")
		csrf[role] = hidden(t, browsers[role].get(t, "/dashboard/account"), "csrf")
	}
	routes := postRoutes(t)
	for pattern := range leastRole {
		if !routes[pattern] {
			t.Errorf("%s is not a route", pattern)
		}
	}
	for pattern := range routes {
		least, listed := leastRole[pattern]
		if !listed {
			t.Errorf("%s has no role in this test", pattern)
		}
		if least == "" || pattern == "POST /dashboard/logout" {
			continue
		}
		path := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(strings.TrimPrefix(pattern, "POST "), "nothing")
		for role, b := range browsers {
			p := b.send(t, http.MethodPost, path, url.Values{"csrf": {csrf[role]}})
			refused := p.status == http.StatusForbidden && strings.Contains(p.body, "not allowed to do this")
			if refused == role.Includes(least) {
				t.Errorf("%s: the role %s is answered %d", pattern, role, p.status)
			}
		}
	}

	t.Run("a person who may only look gets no form that acts, and no link to one", func(t *testing.T) {
		acts := regexp.MustCompile(`(?:action|href)="/dashboard/(?:new|webhooks|clock|users)[^"]*"[^>]*method|` +
			`method="post" action="/dashboard/(?:new|webhooks|clock|users)|href="/dashboard/new|href="/dashboard/users`)
		for _, path := range []string{"/dashboard", "/dashboard/payments", "/dashboard/webhooks", "/dashboard/clock"} {
			if found := acts.FindString(browsers[people.View].get(t, path).body); found != "" {
				t.Errorf("%s has %s", path, found)
			}
			if path != "/dashboard" && !acts.MatchString(browsers[people.Administer].get(t, path).body) {
				t.Errorf("%s has no form for an administrator", path)
			}
		}
		if p := browsers[people.Operate].get(t, "/dashboard/users"); p.status != http.StatusForbidden {
			t.Errorf("the users are shown to somebody else: %d", p.status)
		}
	})

	t.Run("an act is in the audit trail under the person's name, and the activity page shows it", func(t *testing.T) {
		b := browsers[people.Operate]
		p := b.send(t, http.MethodPost, "/dashboard/new/customer", url.Values{"csrf": {csrf[people.Operate]},
			"key": {"dashboard-customer-1"}, "name": {"Zoe Example"}, "email": {"zoe@example.com"},
			"scope": {"acct_1.test"}})
		if n := h.count(t, `SELECT count(*) FROM audit_events WHERE operation = 'customer.create'
			AND actor = 'dashboard:operate@example.com'`); n != 1 {
			t.Errorf("the trail has it %d times: %d %s", n, p.status, p.path)
		}
		if p := b.get(t, "/dashboard/activity"); !strings.Contains(p.body, "customer create") ||
			!strings.Contains(p.body, "operate@example.com") {
			t.Error("the page does not show it")
		}
	})
}

func postRoutes(t *testing.T) map[string]bool {
	t.Helper()
	routes, route := map[string]bool{}, regexp.MustCompile(`"(POST /[^"]+)"`)
	for _, dir := range []string{".", "../dashboard", "../dashboard/ui", "../dashboard/sales",
		"../dashboard/developers", "../docsite", "../lab/page"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, found := range route.FindAllStringSubmatch(string(text), -1) {
				routes[found[1]] = true
			}
		}
	}
	return routes
}
