package login

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/limit"
	"github.com/ratchet-pay/ratchet/internal/people"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/web"
)

const (
	// triesPerMinute is how often one address may try, and how often one user's password and codes may be tried. A
	// person who has forgotten the password tries less often; a program that guesses gets 14,400 tries a day.
	triesPerMinute = 10
	// triesOfAllPerMinute bounds guessing from many addresses. It is larger, so that one
	// address cannot lock out all the others.
	triesOfAllPerMinute = 60
)

// tries bounds how often passwords are tried, by this process.
type tries struct{ peer, user, all *limit.Rates }

func newTries() tries {
	return tries{
		peer: limit.NewRatesEvery(time.Minute/triesPerMinute, triesPerMinute),
		user: limit.NewRatesEvery(time.Minute/triesPerMinute, triesPerMinute),
		all:  limit.NewRatesEvery(time.Minute/triesOfAllPerMinute, triesOfAllPerMinute),
	}
}

// allow takes a try of the address first, so that one that has none left takes none of the others'.
func (t tries) allow(address, user string) bool {
	now := time.Now()
	return t.peer.Allow(address, now) && t.user.Allow(user, now) && t.all.Allow("", now)
}

// loginPage is what the login page shows.
type loginPage struct {
	Named   bool // there are users: logging in takes an email
	Email   string
	Wrong   bool
	TooMany bool   // tries: this one was not looked at
	Expired bool   // a form was sent after its session had ended
	To      string // the page that was asked for
	Kept    string // the form that was sent, for after the login
}

func (g *Guard) showLogin(w http.ResponseWriter, r *http.Request) {
	if g.Known(r) {
		http.Redirect(w, r, wanted(r), http.StatusSeeOther)
		return
	}
	g.showLoginForm(w, r, http.StatusOK, loginPage{})
}

func (g *Guard) showLoginForm(w http.ResponseWriter, r *http.Request, status int, p loginPage) {
	p.To, p.Named = wanted(r), g.hasUsers(r.Context())
	if p.Kept == "" {
		p.Kept = r.PostFormValue(keptField)
	}
	g.Render(w, r, status, "dashboard/login", web.Page{Title: "Log in", Data: p})
}

func (g *Guard) postLogin(w http.ResponseWriter, r *http.Request) {
	if !g.ours(w, r) {
		g.notOurs(w, r)
		return
	}
	email := people.Email(r.PostFormValue("email"))
	if !g.tries.allow(Peer(r), email) { // the right password, too: otherwise guessing would go on
		g.limited(w, r)
		g.showLoginForm(w, r, http.StatusTooManyRequests, loginPage{TooMany: true, Email: email})
		return
	}
	user, is, err := g.authenticate(r, email, r.PostFormValue("password"))
	switch {
	case err != nil:
		g.Fail(w, r, err)
	case !is:
		if err := g.refused(r, email); err != nil {
			g.Fail(w, r, err)
			return
		}
		g.showLoginForm(w, r, http.StatusUnauthorized, loginPage{Wrong: true, Email: email})
	case user != nil && user.TOTPSecret != nil:
		if err := g.begin(w, r, user, false); err != nil {
			g.Fail(w, r, err)
			return
		}
		g.showCodeForm(w, r, http.StatusOK, codePage{})
	default:
		g.enter(w, r, user)
	}
}

// authenticate tells whether a password is right, and which user has it. The installation's password has no user.
func (g *Guard) authenticate(r *http.Request, email, password string) (user *people.User, is bool, err error) {
	if !g.hasUsers(r.Context()) {
		return nil, g.right(password), nil
	}
	user, err = people.Authenticate(r.Context(), g.Pool, email, password)
	return user, user != nil, err
}

// enter begins a session and leads to where the person was going.
func (g *Guard) enter(w http.ResponseWriter, r *http.Request, user *people.User) {
	if err := g.begin(w, r, user, true); err != nil {
		g.Fail(w, r, err) // every login has a row in the audit trail
		return
	}
	actor := people.Installation
	if user != nil {
		actor = user.Email
	}
	g.Log.Info("dashboard login", "outcome", "done", "peer", Peer(r), "user", actor)
	if kept, is := keptIn(r); is {
		g.Site.Render(w, r, http.StatusOK, "dashboard/kept",
			web.Page{Title: "Send again", CSRF: g.Token(r), Person: actor, Data: kept})
		return
	}
	http.Redirect(w, r, wanted(r), http.StatusSeeOther)
}

func (g *Guard) limited(w http.ResponseWriter, r *http.Request) {
	g.Log.Warn("dashboard login", "outcome", "limited", "peer", Peer(r))
	w.Header().Set("Retry-After", "60")
}

// refused leaves an audit row and a line of the log. An email that belongs to no user may be a password that was typed
// into the wrong field, so it is written nowhere.
func (g *Guard) refused(r *http.Request, email string) error {
	actor := people.Installation
	user, err := people.Find(r.Context(), g.Pool, email)
	switch {
	case err == nil:
		actor = user.Email
	case !errors.Is(err, people.ErrUnknown):
		return err
	}
	g.Log.Warn("dashboard login", "outcome", "refused", "peer", Peer(r), "user", actor)
	ctx := context.WithoutCancel(r.Context())
	return pgx.BeginFunc(ctx, g.Pool, func(tx pgx.Tx) error {
		return people.RecordLogin(ctx, tx, people.By{Actor: actor, Address: Peer(r)}, "", http.StatusUnauthorized)
	})
}

// codePage is the page that asks for the second factor.
type codePage struct {
	Wrong   bool
	TooMany bool
	To      string
	Kept    string
}

func (g *Guard) showCode(w http.ResponseWriter, r *http.Request) {
	if s := g.visit(r).session; s == nil || s.Complete {
		http.Redirect(w, r, "/dashboard/login", http.StatusSeeOther)
		return
	}
	g.showCodeForm(w, r, http.StatusOK, codePage{})
}

func (g *Guard) showCodeForm(w http.ResponseWriter, r *http.Request, status int, p codePage) {
	p.To, p.Kept = wanted(r), r.PostFormValue(keptField)
	g.Render(w, r, status, "dashboard/code", web.Page{Title: "Enter your code", Data: p})
}

func (g *Guard) postCode(w http.ResponseWriter, r *http.Request) {
	if !g.ours(w, r) {
		g.notOurs(w, r)
		return
	}
	v := g.visit(r)
	switch s := v.session; {
	case v.err != nil:
		g.Fail(w, r, v.err)
	case s == nil || s.Complete || s.User == nil: // it took too long
		http.Redirect(w, r, "/dashboard/login", http.StatusSeeOther)
	case !g.tries.allow(Peer(r), s.User.Email):
		g.limited(w, r)
		g.showCodeForm(w, r, http.StatusTooManyRequests, codePage{TooMany: true})
	default:
		g.checkCode(w, r, s.User)
	}
}

func (g *Guard) checkCode(w http.ResponseWriter, r *http.Request, user *people.User) {
	err := people.UseCode(r.Context(), g.Pool, by(r), g.Roots.Keys(secret.TOTP), user.ID, r.PostFormValue("code"))
	switch {
	case errors.Is(err, people.ErrWrongCode):
		if err := g.refused(r, user.Email); err != nil {
			g.Fail(w, r, err)
			return
		}
		g.showCodeForm(w, r, http.StatusUnauthorized, codePage{Wrong: true})
	case err != nil:
		g.Fail(w, r, err)
	default:
		g.enter(w, r, user)
	}
}

func (g *Guard) postLogout(w http.ResponseWriter, r *http.Request) {
	if s := g.visit(r).session; s != nil && s.ID != "" {
		if err := people.LogOut(r.Context(), g.Pool, by(r), s.ID, ""); err != nil {
			g.Fail(w, r, err)
			return
		}
		g.Log.Info("dashboard logout", "user", s.Actor(), "peer", Peer(r))
	}
	SetCookie(w, r, sessionCookie, "", -1)
	http.Redirect(w, r, "/dashboard/login", http.StatusSeeOther)
}

// Peer is the address of the connection, or of the client of a trusted proxy.
func Peer(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}
