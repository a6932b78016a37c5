package developers

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/login"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/web"
)

type idempotencyPage struct {
	Counts   []ui.Chip
	Requests []logged
	Pager    ui.Pager
	State    string
	Wrong    string
	Acts     bool // a person can do something about one of them
}

// Waits tells whether a person can have the request tried again.
func (l logged) Waits() bool { return l.State == idempotency.Parked || l.State == idempotency.Held }

var stateNames = [][2]string{{"", "Open"}, {idempotency.Running, "Running"}, {idempotency.Parked, "Waiting to retry"},
	{idempotency.Held, "Needs review"},
	{idempotency.Finished, "Finished"}, {idempotency.Archived, "Archived"}}

// idempotencyKeys lists requests by where their keys stand.
func (s Pages) idempotencyKeys(r *http.Request) (*ui.Page, error) {
	return s.showKeys(r, "")
}

func (s Pages) showKeys(r *http.Request, wrong string) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	page := idempotencyPage{State: r.FormValue("state"), Wrong: wrong, Counts: ui.Chips(r, "state", stateNames...)}
	list, states, which := unfinished, []string{page.State}, requestsPage{By: byAnybody}
	switch page.State {
	case "":
		states = idempotency.Unfinished()
	case idempotency.Finished, idempotency.Archived: // machines' own need no action
		list = requestLog
		which = requestsPage{By: byClients, keyed: true, archived: page.State == idempotency.Archived}
	}
	page.Requests, page.Pager, err = s.logged(r, of, list, which, states)
	if err != nil {
		return nil, err
	}
	page.Acts = slices.ContainsFunc(page.Requests, logged.Waits)
	return ui.List(of, "dashboard/idempotency", "idempotency", "Idempotency keys", page), nil
}

// postResume has a parked or held request tried again now, as the operators'
// command does, and leaves the same trail. A held request needs a reason.
func (s Pages) postResume(r *http.Request) (*ui.Page, error) {
	reason := strings.TrimSpace(r.PostFormValue("reason"))
	return s.operate(r, "The request will be retried now.", func(tx pgx.Tx, of idempotency.Summary) error {
		if of.State == idempotency.Held && reason == "" {
			return errNoReason
		}
		err := idempotency.TryNow(r.Context(), tx, of.AccountID, of.ID)
		if err != nil {
			return err
		}
		return audit.RecordOperator(r.Context(), tx,
			act(r, of, "request.resume", map[string]any{"was": of.State, "because": of.HeldReason, "reason": reason}))
	})
}

// postRelease records an operator's decision that a held request's call did nothing. If
// that is wrong, money moves twice, so it requires evidence.
func (s Pages) postRelease(r *http.Request) (*ui.Page, error) {
	evidence := strings.TrimSpace(r.PostFormValue("evidence"))
	if evidence == "" || r.PostFormValue("sure") != "yes" {
		return s.showKeys(r, "Nothing changed. Enter how you confirmed it, and check the box.")
	}
	const done = "Released. The next call uses a new derived key."
	return s.operate(r, done, func(tx pgx.Tx, of idempotency.Summary) error {
		retired, next, err := idempotency.Release(r.Context(), tx,
			s.Roots.Keys(secret.Idempotency).Oldest(), of.AccountID, of.ID,
			"", "operator "+login.Actor(r)+": "+evidence)
		if err != nil {
			return err
		}
		return audit.RecordOperator(r.Context(), tx, act(r, of, "request.release", map[string]any{
			"decision": "not-executed",
			"evidence": evidence,
			"held":     of.HeldReason,
			"phase":    retired.Phase,
			"retired":  retired.Key,
			"next":     next.Key,
		}))
	})
}

var errNoReason = errors.New("a held request was resumed without a reason")

func (s Pages) operate(
	r *http.Request, done string, do func(pgx.Tx, idempotency.Summary) error,
) (*ui.Page, error) {
	found, err := idempotency.LookUp(r.Context(), s.Pool, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, ui.ErrNotFound
	}
	err = pgx.BeginFunc(r.Context(), s.Pool, func(tx pgx.Tx) error { return do(tx, found[0]) })
	switch {
	case errors.Is(err, errNoReason):
		return s.showKeys(r, "Nothing changed. Enter a reason.")
	case errors.Is(err, idempotency.ErrNothingToRelease):
		return s.showKeys(r, "Nothing changed. The acquirer did nothing under any of this request’s derived keys. "+
			"Retry the request: the next call uses a new one.")
	case errors.Is(err, idempotency.ErrNotYours):
		return s.showKeys(r, "The request is already "+web.Words(found[0].State)+". There’s nothing to resolve.")
	case err != nil:
		return nil, err
	default:
		return ui.RedirectWithNotice("/dashboard/requests/"+found[0].ID, done), nil
	}
}

func act(r *http.Request, of idempotency.Summary, operation string, details any) audit.OperatorAct {
	a := audit.OperatorAct{
		User:      login.Actor(r),
		Address:   login.Peer(r),
		Operation: operation,
		AccountID: of.AccountID,
		Livemode:  of.Livemode,
		RequestID: of.ID,
		Details:   details,
	}
	if !of.KeyGenerated {
		a.Key = of.Key
	}
	return a
}
