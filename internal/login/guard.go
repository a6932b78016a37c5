// Package login lets people into the dashboard: who may see its pages, and who may act on them.
// It knows only its own pages of the dashboard.
package login

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/people"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/web"
)

// Config is what the guard needs.
type Config struct {
	Pool         *pgxpool.Pool
	Roots        *secret.Roots
	Password     string // opens the dashboard while there is no user
	TOTPRequired bool   // every user needs a second factor
	Site         *web.Site
	Demo         bool // its keys are public anyway
	HTTPS        bool // browsers reach the pages over HTTPS
	Log          *slog.Logger
}

// Guard decides who may see and do what.
//
// While there is neither a user nor a password, the server listens on this machine alone. Then the danger
// is a page of another site in the same browser: it may not send forms (forgery), and may
// not reach us under a host name that it controls (DNS rebinding).
type Guard struct {
	Config
	tries        tries
	across       *http.CrossOriginProtection
	acts         *http.ServeMux // the role that each form needs
	noUsersUntil atomic.Int64   // until when there counts as no user; never, once there is one
}

const (
	sessionCookie = "ratchet_session"
	browserCookie = "ratchet_browser"
	flashCookie   = "ratchet_flash"
)

// New returns a guard that lets no request through to the dashboard without a session.
func New(c Config) *Guard {
	return &Guard{Config: c, tries: newTries(), across: http.NewCrossOriginProtection(),
		acts: http.NewServeMux()}
}

// Open serves a page to everyone who reaches this machine. It returns its arguments for a mux's Handle, as do Closed,
// Act, Own and Stream.
func (g *Guard) Open(pattern string, show http.HandlerFunc) (string, http.Handler) {
	return pattern, web.Harden(g.Host(show))
}

// Closed serves a page to people with the role to see it. A form needs the role to operate.
func (g *Guard) Closed(pattern string, show http.HandlerFunc) (string, http.Handler) {
	if strings.HasPrefix(pattern, http.MethodPost+" ") {
		return g.Act(people.Operate, pattern, show)
	}
	return pattern, g.closed(people.View, show)
}

// Act serves a page or a form to people with a role.
func (g *Guard) Act(least people.Role, pattern string, show http.HandlerFunc) (string, http.Handler) {
	g.acts.Handle(pattern, needs(least))
	return pattern, g.closed(least, show)
}

// Own serves a page or a form that is about the person who asks: every role may.
func (g *Guard) Own(pattern string, show http.HandlerFunc) (string, http.Handler) {
	return g.Act(people.View, pattern, show)
}

// Stream serves an answer that lasts. It ends with the session, and does not count as using it.
func (g *Guard) Stream(pattern string, show http.HandlerFunc) (string, http.Handler) {
	return g.Closed(pattern, func(w http.ResponseWriter, r *http.Request) {
		ctx, stop := context.WithCancel(r.Context())
		defer stop()
		go g.watch(ctx, r, stop)
		show(w, r.WithContext(ctx))
	})
}

// lookEvery is how soon a stream ends after its session.
const lookEvery = 15 * time.Second

func (g *Guard) watch(ctx context.Context, r *http.Request, stop func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
		if v := g.look(r); v.err == nil && v.session == nil {
			stop()
		}
	}
}

func (g *Guard) closed(least people.Role, show http.HandlerFunc) http.Handler {
	return web.Harden(g.Host(g.login(g.forgery(g.allow(least, show)))))
}

// needs is the role of a pattern, in a mux that finds it.
type needs people.Role

// ServeHTTP does nothing: the mux only finds the role that a path needs.
func (needs) ServeHTTP(http.ResponseWriter, *http.Request) {}

// May tells whether the reader's role allows a form to be sent to a path.
func (g *Guard) May(r *http.Request, path string) bool {
	target, err := url.Parse(path)
	if err != nil {
		return false
	}
	if target.Path == "/dashboard/new/" {
		target.Path = "/dashboard/new/payment" // the page that lists what can be made
	}
	h, pattern := g.acts.Handler(&http.Request{Method: http.MethodPost, URL: target, Host: r.Host})
	least, known := h.(needs)
	return pattern == "" || !known || g.visit(r).role().Includes(people.Role(least))
}

// allow answers 403 to people whose role is too small.
func (g *Guard) allow(least people.Role, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		role := g.visit(r).role()
		if role.Includes(least) {
			next(w, r)
			return
		}
		g.Log.Warn("dashboard action refused", "user", Actor(r), "role", string(role), "needs", string(least),
			"method", r.Method, "path", r.URL.Path, "peer", Peer(r))
		g.Render(w, r, http.StatusForbidden, "dashboard/problem", web.Page{Title: "Not allowed", Dashboard: true,
			Data: Problem{"You’re not allowed to do this", "Your role is “" + string(role) +
				"”. This needs the role “" + string(least) + "”. Nothing changed. " +
				"An administrator can change your role.", "/dashboard", "Go to overview"}})
	}
}

// keys are derived from the installation's secrets and this password, newest first: a new password ends all sessions.
func (g *Guard) keys() (keys [][]byte) {
	for _, key := range g.Roots.Keys(secret.Dashboard).All() {
		keys = append(keys, g.withPassword(key))
	}
	return keys
}

func (g *Guard) newestKey() []byte {
	_, key := g.Roots.Keys(secret.Dashboard).Newest()
	return g.withPassword(key)
}

func (g *Guard) withPassword(key []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(g.Password))
	return mac.Sum(nil)
}

func sign(key []byte, what string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(what))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Host turns away requests that name us by a name that is not this machine's.
func (g *Guard) Host(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		unlocked := g.unlocked(r.Context())
		if unlocked && !api.LoopbackHost(r.Host) {
			http.Error(w, "This dashboard is available at 127.0.0.1 and localhost only.", http.StatusMisdirectedRequest)
			return
		}
		if unlocked && !g.Demo && proxied(r) {
			http.Error(w,
				"This request came through a proxy, and the dashboard has no password, so anyone who can reach the "+
					"proxy could see and change everything. Set RATCHET_DASHBOARD_PASSWORD, create a user with "+
					`"ratchet users create", or open the server's address on its own machine.`, http.StatusForbidden)
			return
		}
		if g.HTTPS {
			r = r.WithContext(context.WithValue(r.Context(), secureKey{}, true))
		}
		name(w, r)
		next(w, r.WithContext(context.WithValue(r.Context(), visitKey{}, &visit{})))
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
	r.AddCookie(&http.Cookie{Name: cookieName(r, browserCookie), Value: name}) //nolint:gosec // as if it had sent it
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
