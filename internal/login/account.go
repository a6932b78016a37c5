package login

import (
	"errors"
	"html/template"
	"net/http"

	"github.com/ratchet-pay/ratchet/internal/people"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/web"
)

// accountPage is what people see of themselves.
type accountPage struct {
	User *people.User // nil: the password of the installation was given, or none is needed
	Role people.Role

	Sessions []people.Session
	Present  string // the session that is open here
	Wrong    string
	Least    int
	Required bool // a second factor
}

func (g *Guard) account(w http.ResponseWriter, r *http.Request) {
	g.showAccount(w, r, http.StatusOK, "")
}

func (g *Guard) showAccount(w http.ResponseWriter, r *http.Request, status int, wrong string) {
	s := g.visit(r).session
	page := accountPage{User: s.User, Role: s.Role(), Present: s.ID, Wrong: wrong, Least: people.LeastPassword,
		Required: g.TOTPRequired}
	if s.User != nil {
		var err error
		if page.Sessions, err = people.Sessions(r.Context(), g.Pool, s.User); err != nil {
			g.Fail(w, r, err)
			return
		}
	}
	g.Render(w, r, status, "dashboard/account",
		web.Page{Title: "Your account", Here: "account", Dashboard: true, Data: page})
}

func (g *Guard) postPassword(w http.ResponseWriter, r *http.Request) {
	s := g.visit(r).session
	if s.User == nil {
		http.Redirect(w, r, "/dashboard/account", http.StatusSeeOther)
		return
	}
	if !g.tries.allow(Peer(r), s.User.Email) {
		g.limited(w, r)
		g.showAccount(w, r, http.StatusTooManyRequests, "Too many attempts. Wait a minute, then try again.")
		return
	}
	err := people.ChangePassword(r.Context(), g.Pool, by(r), s, r.PostFormValue("present"), r.PostFormValue("next"))
	if wrong := passwordRefusal(err); wrong != "" {
		g.showAccount(w, r, http.StatusUnprocessableEntity, wrong)
		return
	}
	if err != nil {
		g.Fail(w, r, err)
		return
	}
	g.note(r, "user.password", s.User.ID)
	Say(w, r, "Password changed. Your other sessions ended.")
	http.Redirect(w, r, "/dashboard/account", http.StatusSeeOther)
}

// passwordRefusal says to a person why a password was not changed, or "".
func passwordRefusal(err error) string {
	switch {
	case errors.Is(err, people.ErrWrongPassword):
		return "Your current password is incorrect."
	case errors.Is(err, people.ErrShort):
		return "The new password must have at least 12 characters."
	case errors.Is(err, people.ErrLong):
		return "The new password is too long."
	case errors.Is(err, people.ErrCommon):
		return "The new password is too easy to guess. Use several unrelated words, or a password manager."
	}
	return ""
}

// totpPage sets up an authenticator app.
type totpPage struct {
	Shared   string // as people type it
	Sealed   string // the same, for the form: only this server can read it
	Link     template.URL
	QR       qrCode
	Replaces bool
	Wrong    string
	Codes    []string // recovery codes, once it is set up
}

func (g *Guard) totp(w http.ResponseWriter, r *http.Request) {
	s := g.visit(r).session
	if s.User == nil {
		http.Redirect(w, r, "/dashboard/account", http.StatusSeeOther)
		return
	}
	g.showTOTP(w, r, http.StatusOK, people.NewTOTPSecret(), "")
}

func (g *Guard) showTOTP(w http.ResponseWriter, r *http.Request, status int, shared, wrong string) {
	u := g.visit(r).session.User
	sealed, err := g.Roots.Keys(secret.TOTP).Seal("form "+u.ID, shared)
	if err != nil {
		g.Fail(w, r, err)
		return
	}
	link := people.TOTPLink(shared, u.Email)
	code, err := newQRCode(link)
	if err != nil {
		g.Fail(w, r, err)
		return
	}
	g.Render(w, r, status, "dashboard/totp", web.Page{Title: "Authenticator app", Here: "account", Dashboard: true,
		Data: totpPage{Shared: shared, Sealed: sealed, Link: template.URL(link), QR: code,
			Replaces: u.TOTPSecret != nil, Wrong: wrong}})
}

// postTOTP sets the app up. It takes the password again: a browser that was left open must not be enough.
func (g *Guard) postTOTP(w http.ResponseWriter, r *http.Request) {
	s := g.visit(r).session
	if s.User == nil {
		http.Redirect(w, r, "/dashboard/account", http.StatusSeeOther)
		return
	}
	shared, err := g.Roots.Keys(secret.TOTP).Open("form "+s.User.ID, r.PostFormValue("sealed"))
	if err != nil { // a form that was drawn before the secret changed
		g.notOurs(w, r)
		return
	}
	if !g.tries.allow(Peer(r), s.User.Email) {
		g.limited(w, r)
		g.showTOTP(w, r, http.StatusTooManyRequests, shared, "Too many attempts. Wait a minute, then try again.")
		return
	}
	user, err := people.Authenticate(r.Context(), g.Pool, s.User.Email, r.PostFormValue("password"))
	if err != nil {
		g.Fail(w, r, err)
		return
	}
	if user == nil {
		g.showTOTP(w, r, http.StatusUnprocessableEntity, shared, "Your password is incorrect.")
		return
	}
	codes, err := people.Enroll(r.Context(), g.Pool, by(r), g.Roots.Keys(secret.TOTP), s, shared,
		r.PostFormValue("code"))
	switch {
	case errors.Is(err, people.ErrWrongCode):
		g.showTOTP(w, r, http.StatusUnprocessableEntity, shared,
			"That code is incorrect or expired. Check your phone’s clock, and enter the code that it shows now.")
	case err != nil:
		g.Fail(w, r, err)
	default:
		g.note(r, "user.totp", s.User.ID)
		g.Render(w, r, http.StatusOK, "dashboard/totp",
			web.Page{Title: "Recovery codes", Here: "account", Dashboard: true, Data: totpPage{Codes: codes}})
	}
}

func (g *Guard) postEndSession(w http.ResponseWriter, r *http.Request) {
	s := g.visit(r).session
	if s.User == nil {
		http.Redirect(w, r, "/dashboard/account", http.StatusSeeOther)
		return
	}
	if err := people.LogOut(r.Context(), g.Pool, by(r), r.PathValue("id"), s.User.ID); err != nil {
		g.Fail(w, r, err)
		return
	}
	Say(w, r, "Session ended.")
	http.Redirect(w, r, "/dashboard/account", http.StatusSeeOther)
}

// note leaves a line of the log about a change of a user, beside the audit row.
func (g *Guard) note(r *http.Request, operation, userID string) {
	g.Log.Info("dashboard user changed", "operation", operation, "user", userID, "by", Actor(r), "peer", Peer(r))
}
