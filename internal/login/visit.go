package login

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/people"
	"github.com/ratchet-pay/ratchet/web"
)

// visit is who sent a request. It is looked up once.
type visit struct {
	looked  bool
	session *people.Session // nil: the reader has not logged in
	err     error
}

type visitKey struct{}

// noLogin is the session of an installation without a login.
var noLogin = people.Session{Complete: true}

func (v *visit) role() people.Role {
	if v.session == nil || !v.session.Complete {
		return ""
	}
	return v.session.Role()
}

// visit is who sent a request.
func (g *Guard) visit(r *http.Request) *visit {
	v, is := r.Context().Value(visitKey{}).(*visit)
	if !is {
		return &visit{}
	}
	if !v.looked {
		*v = g.look(r)
	}
	return v
}

func (g *Guard) look(r *http.Request) visit {
	if g.unlocked(r.Context()) {
		return visit{looked: true, session: &noLogin}
	}
	cookie, err := Cookie(r, sessionCookie)
	if err != nil {
		return visit{looked: true}
	}
	session, err := people.Open(r.Context(), g.Pool, g.keys(), cookie.Value)
	return visit{true, session, err}
}

// Known tells whether the reader has logged in, or needs no login.
func (g *Guard) Known(r *http.Request) bool { return g.visit(r).role() != "" }

// Actor is who the audit trail names for what a request does.
func Actor(r *http.Request) string {
	if v, is := r.Context().Value(visitKey{}).(*visit); is && v.session != nil {
		return v.session.Actor()
	}
	return people.Installation
}

// by is who changes a user.
func by(r *http.Request) people.By { return people.By{Actor: Actor(r), Address: Peer(r)} }

// rememberUsers is how long the answer that there is no user counts for pages. A login asks again.
const rememberUsers = time.Second

// never is the time of noUsersUntil once there are users: a user is never deleted.
const never = math.MinInt64

// unlocked tells whether the dashboard needs no login: there is neither a password nor a user. If the database does
// not answer, a login is needed.
func (g *Guard) unlocked(ctx context.Context) bool {
	if g.Password != "" {
		return false
	}
	return time.Now().UnixNano() < g.noUsersUntil.Load() || !g.hasUsers(ctx)
}

// hasUsers tells whether logging in takes an email.
func (g *Guard) hasUsers(ctx context.Context) bool {
	if g.noUsersUntil.Load() == never {
		return true
	}
	is, err := people.Any(ctx, g.Pool)
	switch {
	case err != nil:
		g.Log.Error("dashboard", "error", err)
		return true
	case is:
		g.noUsersUntil.Store(never)
	default:
		g.noUsersUntil.Store(time.Now().Add(rememberUsers).UnixNano())
	}
	return is
}

// login sends people to the login page who have not logged in.
func (g *Guard) login(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := g.visit(r)
		switch {
		case v.err != nil:
			g.Fail(w, r, v.err)
		case v.session == nil:
			g.askToLogIn(w, r)
		case g.first(r, v.session) != "":
			http.Redirect(w, r, g.first(r, v.session), http.StatusSeeOther)
		default:
			g.touch(r, v.session)
			next(w, r)
		}
	}
}

// askToLogIn keeps what was typed into a form of ours, for after the login.
func (g *Guard) askToLogIn(w http.ResponseWriter, r *http.Request) {
	door := "/dashboard/login"
	switch {
	case r.Method == http.MethodGet && r.URL.Path != "/dashboard":
		door += "?to=" + url.QueryEscape(r.URL.RequestURI())
	case r.Method == http.MethodPost && r.URL.Path != "/dashboard/logout" && g.ours(w, r):
		g.showLoginForm(w, r, http.StatusUnauthorized, loginPage{Expired: true, Kept: keep(r)})
		return
	}
	http.Redirect(w, r, door, http.StatusSeeOther)
}

// first is the page that a person has to go to before any other, or "".
func (g *Guard) first(r *http.Request, s *people.Session) string {
	own := strings.HasPrefix(r.URL.Path, "/dashboard/account") || r.URL.Path == "/dashboard/logout"
	switch {
	case !s.Complete && r.URL.Path != "/dashboard/logout":
		return "/dashboard/login/code"
	case own || s == &noLogin:
		return ""
	case s.User == nil && g.TOTPRequired && !strings.HasPrefix(r.URL.Path, "/dashboard/users"):
		return "/dashboard/users"
	case s.User != nil && s.User.PasswordInitial:
		return "/dashboard/account"
	case s.User != nil && s.User.TOTPSecret == nil && g.TOTPRequired:
		return "/dashboard/account/totp"
	}
	return ""
}

// touch keeps a session alive. A page that refreshes automatically does not.
func (g *Guard) touch(r *http.Request, s *people.Session) {
	if s.ID == "" || r.Header.Get("Ratchet-Live") != "" || strings.HasPrefix(r.URL.Path, "/dashboard/stream") {
		return
	}
	if err := people.Touch(r.Context(), g.Pool, s.ID); err != nil {
		g.Log.Warn("dashboard session not extended", "error", err)
	}
}

// right tells whether a password is that of the installation.
func (g *Guard) right(password string) bool {
	got, want := sha256.Sum256([]byte(password)), sha256.Sum256([]byte(g.Password))
	return g.Password != "" && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// begin begins a session, in place of one that the browser may have.
func (g *Guard) begin(w http.ResponseWriter, r *http.Request, user *people.User, complete bool) error {
	old := g.visit(r).session
	ctx := context.WithoutCancel(r.Context())
	browser := r.UserAgent()
	token, err := people.Begin(ctx, g.Pool, g.newestKey(), user, complete,
		people.Visit{Address: Peer(r), Browser: browser[:min(len(browser), 200)]})
	if err != nil {
		return err
	}
	if old != nil && old.ID != "" {
		if err := people.End(ctx, g.Pool, old.ID, ""); err != nil {
			return err
		}
	}
	SetCookie(w, r, sessionCookie, token, int(people.Absolute/time.Second))
	return nil
}

// dress adds to a page who sees it, and what that person may do.
func (g *Guard) dress(r *http.Request, page *web.Page) {
	session := g.visit(r).session
	if session == nil || session == &noLogin || !session.Complete {
		return
	}
	page.Leave = page.Dashboard
	page.Person = session.Actor()
	if session.Role() != people.Administer {
		page.May = func(path string) bool { return g.May(r, path) }
	}
}
