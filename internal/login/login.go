package login

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/limit"
	"github.com/ratchet-pay/ratchet/web"
)

const (
	// triesPerMinute is how often one address may try. A person who has forgotten the
	// password tries less often; a program that guesses gets 14,400 tries a day.
	triesPerMinute = 10
	// triesOfAllPerMinute bounds guessing from many addresses. It is larger, so that one
	// address cannot lock out all the others.
	triesOfAllPerMinute = 60
)

// tries bounds how often passwords are tried, by this process.
type tries struct{ peer, all *limit.Rates }

func newTries() tries {
	return tries{
		peer: limit.NewRatesEvery(time.Minute/triesPerMinute, triesPerMinute),
		all:  limit.NewRatesEvery(time.Minute/triesOfAllPerMinute, triesOfAllPerMinute),
	}
}

// allow takes a try of the address first, so that one that has none left takes none of the others'.
func (t tries) allow(address string) bool {
	now := time.Now()
	return t.peer.Allow(address, now) && t.all.Allow("", now)
}

// Actor is who the audit trail names for what is done in the dashboard.
const Actor = "dashboard"

// Operations of the audit trail.
const (
	loginDone    = "dashboard.login"
	loginRefused = "dashboard.login_refused"
)

// loginPage is what the login page shows.
type loginPage struct {
	Wrong   bool
	TooMany bool   // tries: this one was not looked at
	To      string // the page that was asked for
}

func (g *Guard) postLogin(w http.ResponseWriter, r *http.Request) {
	if !g.ours(w, r) {
		g.notOurs(w, r)
		return
	}
	address := peer(r)
	if !g.tries.allow(address) { // the right password, too: otherwise guessing would go on
		g.Log.Warn("dashboard login", "outcome", "limited", "peer", address)
		w.Header().Set("Retry-After", "60")
		g.showLoginForm(w, r, http.StatusTooManyRequests, loginPage{TooMany: true})
		return
	}
	if !g.right(r.PostFormValue("password")) {
		g.Log.Warn("dashboard login", "outcome", "refused", "peer", address)
		if err := g.recordLogin(r.Context(), loginRefused, address, http.StatusUnauthorized); err != nil {
			g.Fail(w, r, err)
			return
		}
		g.showLoginForm(w, r, http.StatusUnauthorized, loginPage{Wrong: true})
		return
	}
	if err := g.recordLogin(r.Context(), loginDone, address, http.StatusOK); err != nil {
		g.Fail(w, r, err) // every login has a row in the audit trail
		return
	}
	g.Log.Info("dashboard login", "outcome", "done", "peer", address)
	g.begin(w, r)
	http.Redirect(w, r, wanted(r), http.StatusSeeOther)
}

// recordLogin writes the audit row of a login. It belongs to no account.
func (g *Guard) recordLogin(ctx context.Context, operation, address string, status int) error {
	return pgx.BeginFunc(context.WithoutCancel(ctx), g.Pool, func(tx pgx.Tx) error {
		return audit.RecordOperator(ctx, tx, audit.OperatorAct{
			User:      Actor,
			Operation: operation,
			Address:   address,
			Status:    status,
			Details:   map[string]any{},
		})
	})
}

func (g *Guard) showLoginForm(w http.ResponseWriter, r *http.Request, status int, p loginPage) {
	p.To = wanted(r)
	g.Render(w, r, status, "dashboard/login", web.Page{Title: "Log in", Data: p})
}

// peer is the address of the connection, never what a header claims.
func peer(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}

func (g *Guard) showLogin(w http.ResponseWriter, r *http.Request) {
	if g.Known(r) {
		http.Redirect(w, r, wanted(r), http.StatusSeeOther)
		return
	}
	g.Render(w, r, http.StatusOK, "dashboard/login", web.Page{Title: "Log in", Data: loginPage{To: wanted(r)}})
}

func (g *Guard) postLogout(w http.ResponseWriter, r *http.Request) {
	SetCookie(w, r, sessionCookie, "", -1)
	http.Redirect(w, r, "/dashboard/login", http.StatusSeeOther)
}
