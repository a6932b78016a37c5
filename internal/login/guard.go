// Package login lets people into the dashboard: who may see its pages, and who may act on them. It knows no page of
// the dashboard but its own.
package login

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/web"
)

// Config is what the guard needs.
type Config struct {
	Pool     *pgxpool.Pool
	Secret   secret.Root
	Password string // "" needs no login: only for an address that only this machine reaches
	Site     *web.Site
	Demo     bool // its keys are public anyway
	HTTPS    bool // browsers reach the pages over HTTPS
	Log      *slog.Logger
}

// Guard decides who may see and do what.
//
// Without a password, the server listens on this machine alone. Then the danger
// is a page of another site in the same browser: it may not send forms (forgery), and may
// not reach us under a host name that it controls (DNS rebinding).
type Guard struct {
	Config
	key    []byte // of this installation and this password: a new password ends all sessions
	tries  tries
	across *http.CrossOriginProtection
}

const (
	sessionCookie = "ratchet_session"
	browserCookie = "ratchet_browser"
	flashCookie   = "ratchet_flash"
	sessionTime   = 12 * time.Hour
)

// New makes a guard.
func New(c Config) *Guard {
	mac := hmac.New(sha256.New, c.Secret.For(secret.Dashboard))
	mac.Write([]byte(c.Password))
	return &Guard{Config: c, key: mac.Sum(nil), tries: newTries(), across: http.NewCrossOriginProtection()}
}

// Open serves a page to everyone who reaches this machine.
func (g *Guard) Open(show http.HandlerFunc) http.Handler { return web.Harden(g.Host(show)) }

// Closed serves a page to those who have logged in.
func (g *Guard) Closed(show http.HandlerFunc) http.Handler {
	return web.Harden(g.Host(g.login(g.forgery(show))))
}

// Routes adds the guard's own pages. Register adds one of a mux's patterns.
func (g *Guard) Routes(register func(pattern string, page http.Handler)) {
	register("GET /dashboard/login", g.Open(g.showLogin))
	register("POST /dashboard/login", g.Open(g.postLogin))
	register("POST /dashboard/logout", g.Closed(g.postLogout))
}

func (g *Guard) sign(what string) string {
	mac := hmac.New(sha256.New, g.key)
	mac.Write([]byte(what))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Host turns away requests that name us by a name that is not this machine's.
func (g *Guard) Host(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if g.Password == "" && !api.LoopbackHost(r.Host) {
			http.Error(w, "This dashboard is available at 127.0.0.1 and localhost only.", http.StatusMisdirectedRequest)
			return
		}
		if g.Password == "" && !g.Demo && proxied(r) {
			http.Error(w,
				"This request came through a proxy, and the dashboard has no password, so anyone who can reach the "+
					"proxy could see and change everything. Set RATCHET_DASHBOARD_PASSWORD, or open the server's "+
					"address on its own machine.", http.StatusForbidden)
			return
		}
		if g.HTTPS {
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
	if cookie, err := Cookie(r, browserCookie); err == nil && cookie.Value != "" {
		return
	}
	name := rand.Text()
	SetCookie(w, r, browserCookie, name, 0)
	r.AddCookie(&http.Cookie{Name: cookieName(r, browserCookie), Value: name}) // as if it had sent it already
}

// login sends those to the login page who have not given the password.
func (g *Guard) login(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !g.Known(r) {
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

// Known tells whether the reader has logged in, or needs no login.
func (g *Guard) Known(r *http.Request) bool {
	if g.Password == "" {
		return true
	}
	cookie, err := Cookie(r, sessionCookie)
	if err != nil {
		return false
	}
	until, mac, _ := strings.Cut(cookie.Value, ".")
	seconds, err := strconv.ParseInt(until, 10, 64)
	return err == nil && time.Now().Before(time.Unix(seconds, 0)) &&
		subtle.ConstantTimeCompare([]byte(mac), []byte(g.sign("session "+until))) == 1
}

func (g *Guard) right(password string) bool {
	got, want := sha256.Sum256([]byte(password)), sha256.Sum256([]byte(g.Password))
	return g.Password != "" && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

func (g *Guard) begin(w http.ResponseWriter, r *http.Request) {
	until := strconv.FormatInt(time.Now().Add(sessionTime).Unix(), 10)
	SetCookie(w, r, sessionCookie, until+"."+g.sign("session "+until), int(sessionTime/time.Second))
}

// forgery turns away forms that no page of ours has drawn.
func (g *Guard) forgery(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead && !g.ours(w, r) {
			g.notOurs(w, r)
			return
		}
		next(w, r)
	}
}

func (g *Guard) ours(w http.ResponseWriter, r *http.Request) bool {
	if g.across.Check(r) != nil {
		return false
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	cookie, err := Cookie(r, browserCookie)
	return err == nil &&
		subtle.ConstantTimeCompare([]byte(r.PostFormValue("csrf")), []byte(g.sign("form "+cookie.Value))) == 1
}

// Token is what a form has to carry: it belongs to the browser that asked for the page.
func (g *Guard) Token(r *http.Request) string {
	cookie, err := Cookie(r, browserCookie)
	if err != nil {
		return ""
	}
	return g.sign("form " + cookie.Value)
}
