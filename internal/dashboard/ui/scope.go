package ui

import (
	"net/http"

	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

// Scope is whose lists are shown: one account in one mode. An operator sees all
// accounts and chooses one; an object's page is shown no matter whose object it is.
type Scope struct {
	AccountID string
	Livemode  bool
	All       []web.Scope
}

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

// AccountWith and ThatID, around a table, are the account of its row with @id: an object's page knows only the ID. It
// looks in each account, by the primary key. OFFSET 0 keeps the lookup apart: with many accounts PostgreSQL would
// otherwise read all of the index, which grows with the payments.
const (
	AccountWith = `(SELECT a.id FROM accounts a CROSS JOIN LATERAL (SELECT FROM `
	ThatID      = ` WHERE account_id = a.id AND id = @id OFFSET 0) found LIMIT 1)`
)

// SessionsOfMode and BelowSessionsOfMode bound the IDs of checkout sessions to a mode's. The IDs have the mode before
// the time, so a statement with both bounds reads no session of the other mode.
const (
	SessionsOfMode      = `CASE WHEN @livemode THEN 'cs_live_' ELSE 'cs_test_' END`
	BelowSessionsOfMode = `CASE WHEN @livemode THEN 'cs_live_~' ELSE 'cs_test_~' END`
)

// Scope reads the choice, or chooses the first account there is.
func (d *Env) Scope(r *http.Request) (Scope, error) {
	accounts, err := Read[account](r.Context(), d.Pool, selectAccounts, nil)
	if err != nil {
		return Scope{}, err
	}
	chosen := d.Chosen(r)
	var of Scope
	for _, a := range accounts {
		value, mode := a.ID+".test", ""
		if a.Livemode {
			value, mode = a.ID+".live", ", live"
		}
		of.All = append(of.All, web.Scope{Value: value, Name: a.Name + mode})
		if of.AccountID == "" || value == chosen {
			of.AccountID, of.Livemode = a.ID, a.Livemode
		}
	}
	for i := range of.All {
		of.All[i].Current = of.All[i].Value == of.Value()
	}
	return of, nil
}

const selectAhead = `SELECT account_ahead(@account_id, @livemode) > interval '0' AS ahead`

// OnClock shows a page about what becomes due. If a test clock is ahead of real time, it leaves out how far away its
// times are.
func (d *Env) OnClock(r *http.Request, of Scope, page *Page) (*Page, error) {
	found, err := ReadOne[struct{ Ahead bool }](r.Context(), d.Pool, selectAhead, of.Args(nil))
	if err != nil {
		return nil, err
	}
	page.Ahead = found != nil && found.Ahead
	return page, nil
}

// Value names the scope in a form.
func (of Scope) Value() string {
	if of.Livemode {
		return of.AccountID + ".live"
	}
	return of.AccountID + ".test"
}

// Args are a statement's arguments, with whose objects it reads.
func (of Scope) Args(more postgres.Args) postgres.Args {
	args := postgres.Args{"account_id": of.AccountID, "livemode": of.Livemode}
	for name, value := range more {
		args[name] = value
	}
	return args
}
