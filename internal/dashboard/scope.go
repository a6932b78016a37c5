package dashboard

import (
	"context"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/login"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

// scope is whose lists are shown: one account in one mode. An operator sees all
// accounts and chooses one; an object's page is shown no matter whose object it is.
type scope struct {
	AccountID string
	Livemode  bool
	all       []web.Scope
}

const scopeCookie = "ratchet_scope"

type account struct {
	ID       string
	Name     string
	Livemode bool
}

// An account has a live side once it has a key for it.
const selectAccounts = `
	SELECT a.id, a.name, false AS livemode FROM accounts a
	UNION ALL
	SELECT a.id, a.name, true FROM accounts a
	WHERE EXISTS (SELECT FROM api_keys k WHERE k.account_id = a.id AND k.livemode)
	ORDER BY livemode, id
	LIMIT 200`

// scope reads the choice, or chooses the first account there is.
func (s *Server) scope(r *http.Request) (scope, error) {
	accounts, err := read[account](r.Context(), s, selectAccounts, nil)
	if err != nil {
		return scope{}, err
	}
	chosen := ""
	if cookie, err := login.Cookie(r, scopeCookie); err == nil {
		chosen = cookie.Value
	}
	var of scope
	for _, a := range accounts {
		value, mode := a.ID+".test", ""
		if a.Livemode {
			value, mode = a.ID+".live", ", live"
		}
		of.all = append(of.all, web.Scope{Value: value, Name: a.Name + mode})
		if of.AccountID == "" || value == chosen {
			of.AccountID, of.Livemode = a.ID, a.Livemode
		}
	}
	for i := range of.all {
		of.all[i].Current = of.all[i].Value == of.value()
	}
	return of, nil
}

func (of scope) value() string {
	if of.Livemode {
		return of.AccountID + ".live"
	}
	return of.AccountID + ".test"
}

func (of scope) args(more postgres.Args) postgres.Args {
	args := postgres.Args{"account_id": of.AccountID, "livemode": of.Livemode}
	for name, value := range more {
		args[name] = value
	}
	return args
}

func (s *Server) postScope(w http.ResponseWriter, r *http.Request) {
	login.SetCookie(w, r, scopeCookie, r.PostFormValue("scope"), 365*24*3600)
	http.Redirect(w, r, login.OwnPage(r.PostFormValue("back")), http.StatusSeeOther)
}

// read runs a statement and collects its rows.
func read[T any](ctx context.Context, s *Server, sql string, args postgres.Args) ([]T, error) {
	var given []any
	if args != nil {
		given = []any{args}
	}
	rows, err := s.Pool.Query(ctx, sql, given...)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return found, nil
}
