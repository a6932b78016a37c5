package dashboard

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

// Operations of the audit trail.
const (
	loginDone    = "dashboard.login"
	loginRefused = "dashboard.login_refused"
)

func (s *Server) postLogin(w http.ResponseWriter, r *http.Request) {
	if !s.guard.ours(w, r) {
		s.notOurs(w, r)
		return
	}
	address := peer(r)
	if !s.tries.allow(address) { // the right password, too: otherwise guessing would go on
		s.Log.Warn("dashboard login", "outcome", "limited", "peer", address)
		w.Header().Set("Retry-After", "60")
		s.showLoginForm(w, r, http.StatusTooManyRequests, loginPage{TooMany: true})
		return
	}
	if !s.guard.right(r.PostFormValue("password")) {
		s.Log.Warn("dashboard login", "outcome", "refused", "peer", address)
		if err := s.recordLogin(r.Context(), loginRefused, address, http.StatusUnauthorized); err != nil {
			s.fail(w, r, err)
			return
		}
		s.showLoginForm(w, r, http.StatusUnauthorized, loginPage{Wrong: true})
		return
	}
	if err := s.recordLogin(r.Context(), loginDone, address, http.StatusOK); err != nil {
		s.fail(w, r, err) // every login has a row in the audit trail
		return
	}
	s.Log.Info("dashboard login", "outcome", "done", "peer", address)
	s.guard.begin(w, r)
	http.Redirect(w, r, wanted(r), http.StatusSeeOther)
}

// recordLogin writes the audit row of a login. It belongs to no account.
func (s *Server) recordLogin(ctx context.Context, operation, address string, status int) error {
	return pgx.BeginFunc(context.WithoutCancel(ctx), s.Pool, func(tx pgx.Tx) error {
		return audit.RecordOperator(ctx, tx, audit.OperatorAct{
			User:      actor,
			Operation: operation,
			Address:   address,
			Status:    status,
			Details:   map[string]any{},
		})
	})
}

func (s *Server) showLoginForm(w http.ResponseWriter, r *http.Request, status int, p loginPage) {
	p.To = wanted(r)
	s.render(w, r, status, "dashboard/login", web.Page{Title: "Log in", Data: p})
}

// peer is the address of the connection, never what a header claims.
func peer(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}
