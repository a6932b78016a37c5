package dashboard

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/web"
)

// guard decides who may see and do what.
//
// Without a password, the server listens on this machine alone. Then the danger
// is a page of another site in the same browser: it may not send forms (forgery), and may
// not reach us under a host name that it controls (DNS rebinding).
type guard struct {
	key      []byte // of this installation and this password: a new password ends all sessions
	password string
	demo     bool // its keys are public anyway
	secure   bool // browsers reach the pages over HTTPS
	across   *http.CrossOriginProtection
}

const (
	sessionCookie = "ratchet_session"
	browserCookie = "ratchet_browser"
	flashCookie   = "ratchet_flash"
	sessionTime   = 12 * time.Hour
)

func newGuard(c Config) *guard {
	mac := hmac.New(sha256.New, c.Secret.For(secret.Dashboard))
	mac.Write([]byte(c.Password))
	return &guard{key: mac.Sum(nil), password: c.Password, demo: c.Demo, secure: c.HTTPS,
		across: http.NewCrossOriginProtection()}
}

func (g *guard) sign(what string) string {
	mac := hmac.New(sha256.New, g.key)
	mac.Write([]byte(what))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// host turns away requests that name us by a name that is not this machine's.
func (g *guard) host(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if g.password == "" && !api.LoopbackHost(r.Host) {
			http.Error(w, "This dashboard is available at 127.0.0.1 and localhost only.", http.StatusMisdirectedRequest)
			return
		}
		if g.password == "" && !g.demo && proxied(r) {
			http.Error(w,
				"This request came through a proxy, and the dashboard has no password, so anyone who can reach the "+
					"proxy could see and change everything. Set RATCHET_DASHBOARD_PASSWORD, or open the server's "+
					"address on its own machine.", http.StatusForbidden)
			return
		}
		if g.secure {
			r = r.WithContext(context.WithValue(r.Context(), secureKey{}, true))
		}
		name(w, r)
		next(w, r)
	}
}

// proxied says whether a proxy has passed a request on. Many send it to 127.0.0.1 under
// exactly that name, so the Host header tells nothing about who is in front of them.
func proxied(r *http.Request) bool {
	for name := range r.Header {
		if name == "Forwarded" || name == "Via" || name == "X-Real-Ip" || strings.HasPrefix(name, "X-Forwarded-") {
			return true
		}
	}
	return false
}

// name gives a browser that has none a name, which its forms are signed for.
func name(w http.ResponseWriter, r *http.Request) {
	if cookie, err := cookie(r, browserCookie); err == nil && cookie.Value != "" {
		return
	}
	name := rand.Text()
	set(w, r, browserCookie, name, 0)
	r.AddCookie(&http.Cookie{Name: cookieName(r, browserCookie), Value: name}) // as if it had sent it already
}

// login sends those to the login page who have not given the password.
func (g *guard) login(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !g.known(r) {
			door := "/dashboard/login"
			if r.Method == http.MethodGet && r.URL.Path != "/dashboard" {
				door += "?to=" + url.QueryEscape(r.URL.RequestURI())
			}
			http.Redirect(w, r, door, http.StatusSeeOther)
			return
		}
		next(w, r)
	}
}

func (g *guard) known(r *http.Request) bool {
	if g.password == "" {
		return true
	}
	cookie, err := cookie(r, sessionCookie)
	if err != nil {
		return false
	}
	until, mac, _ := strings.Cut(cookie.Value, ".")
	seconds, err := strconv.ParseInt(until, 10, 64)
	return err == nil && time.Now().Before(time.Unix(seconds, 0)) &&
		subtle.ConstantTimeCompare([]byte(mac), []byte(g.sign("session "+until))) == 1
}

func (g *guard) right(password string) bool {
	got, want := sha256.Sum256([]byte(password)), sha256.Sum256([]byte(g.password))
	return g.password != "" && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

func (g *guard) begin(w http.ResponseWriter, r *http.Request) {
	until := strconv.FormatInt(time.Now().Add(sessionTime).Unix(), 10)
	set(w, r, sessionCookie, until+"."+g.sign("session "+until), int(sessionTime/time.Second))
}

// forgery turns away forms that no page of ours has drawn.
func (s *Server) forgery(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead && !s.guard.ours(w, r) {
			s.notOurs(w, r)
			return
		}
		next(w, r)
	}
}

func (g *guard) ours(w http.ResponseWriter, r *http.Request) bool {
	if g.across.Check(r) != nil {
		return false
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	cookie, err := cookie(r, browserCookie)
	return err == nil &&
		subtle.ConstantTimeCompare([]byte(r.PostFormValue("csrf")), []byte(g.sign("form "+cookie.Value))) == 1
}

// token is what a form has to carry: it belongs to the browser that asked for the page.
func (g *guard) token(r *http.Request) string {
	cookie, err := cookie(r, browserCookie)
	if err != nil {
		return ""
	}
	return g.sign("form " + cookie.Value)
}

// say leaves a sentence for the next page.
func say(w http.ResponseWriter, r *http.Request, text string) {
	set(w, r, flashCookie, base64.RawURLEncoding.EncodeToString([]byte(text)), 60)
}

// complain leaves one that says what went wrong.
func complain(w http.ResponseWriter, r *http.Request, text string) { say(w, r, wrongMark+text) }

// wrongMark is in front of a sentence about what went wrong.
const wrongMark = "!"

func flash(w http.ResponseWriter, r *http.Request) (text string, wrong bool) {
	cookie, err := cookie(r, flashCookie)
	if err != nil {
		return "", false
	}
	set(w, r, flashCookie, "", -1)
	left, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(string(left), wrongMark)
}

// loginPage is what the login page shows.
type loginPage struct {
	Wrong   bool
	TooMany bool   // tries: this one was not looked at
	To      string // the page that was asked for
}

// wanted is the page that opens after the login: the one that was asked for, if it is a page.
func wanted(r *http.Request) string {
	to := ownPage(r.FormValue("to"))
	if strings.HasPrefix(to, "/dashboard/log") || strings.HasPrefix(to, "/dashboard/stream") {
		return "/dashboard"
	}
	return to
}

// ownPage is the address of a page of the dashboard, and "/dashboard" for any other address.
// http.Redirect cleans the path it is given, and browsers take a backslash for a slash, so
// only a path that is clean already, and contains none, still means what was checked here.
func ownPage(address string) string {
	const home = "/dashboard"
	u, err := url.Parse(address)
	if err != nil || u.IsAbs() || u.Host != "" || strings.ContainsFunc(address+u.Path, unfitForRedirect) {
		return home
	}
	clean := path.Clean(u.Path)
	if clean != home && !strings.HasPrefix(clean, home+"/") {
		return home
	}
	return (&url.URL{Path: clean, RawQuery: u.RawQuery}).String()
}

func unfitForRedirect(r rune) bool { return r == '\\' || unicode.IsControl(r) }

func (s *Server) showLogin(w http.ResponseWriter, r *http.Request) {
	if s.guard.known(r) {
		http.Redirect(w, r, wanted(r), http.StatusSeeOther)
		return
	}
	s.render(w, r, http.StatusOK, "dashboard/login", web.Page{Title: "Log in", Data: loginPage{To: wanted(r)}})
}

func (s *Server) postLogout(w http.ResponseWriter, r *http.Request) {
	set(w, r, sessionCookie, "", -1)
	http.Redirect(w, r, "/dashboard/login", http.StatusSeeOther)
}
