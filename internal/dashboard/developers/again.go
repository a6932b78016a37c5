package developers

import (
	"bytes"
	"net/http"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/inspect"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/web"
)

// replayPage compares the answer of a request that was sent again with the stored one.
type replayPage struct {
	Request  idempotency.Summary
	Status   int
	Replayed string // the header Idempotent-Replayed
	Body     []byte
	Same     bool // as many bytes as are stored, and the same ones
	Wrong    string
}

// postAgain sends a request of the log again: under its own key, which shows the stored response, or under the key
// that was made with the form, which repeats the request.
func (s Pages) postAgain(r *http.Request) (*ui.Page, error) {
	found, err := idempotency.LookUp(r.Context(), s.Pool, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ui.ErrNotFound
	}
	of, back := found[0], "/dashboard/requests/"+found[0].ID
	sent, err := inspect.ReadSent(r.Context(), s.Pool, s.Roots.Keys(secret.Idempotency), of)
	switch {
	case err != nil:
		return nil, err
	case sent == nil:
		return nil, ui.ErrNotFound
	case sent.Unsendable != "":
		return ui.RedirectWithError(back, sent.Unsendable), nil
	}
	switch with := r.PostFormValue("with"); {
	case with == "same" && !of.KeyGenerated:
		return s.replay(r, of, sent)
	case with == "new" && r.PostFormValue("key") != "":
		return s.repeat(r, of, sent)
	}
	return ui.RedirectWithError(back, "Choose a key. Nothing was sent."), nil
}

// replay sends the request under its own key. The API answers with the stored response, and records nothing: the
// audit trail gets the act from here, before it happens.
func (s Pages) replay(r *http.Request, of idempotency.Summary, sent *inspect.Sent) (*ui.Page, error) {
	err := pgx.BeginFunc(r.Context(), s.Pool, func(tx pgx.Tx) error {
		return audit.RecordOperator(r.Context(), tx, act(r, of, "request.send_again", map[string]any{"key": "same"}))
	})
	if err != nil {
		return nil, err
	}
	a, err := s.send(r, of, sent, of.Key)
	if err != nil {
		return nil, err
	}
	return ui.Show("dashboard/again", web.Page{Title: "Sent again " + of.ID, Here: "requests", Data: replayPage{
		Request:  of,
		Status:   a.Status,
		Replayed: a.Header().Get("Idempotent-Replayed"),
		Body:     a.Body.Bytes(),
		Same:     of.Status != nil && a.Status == int(*of.Status) && bytes.Equal(a.Body.Bytes(), of.Body),
		Wrong:    ui.Refusal(a),
	}}), nil
}

// repeat sends the request under a new key, and leads to the log of the new request. Its audit row names the person.
func (s Pages) repeat(r *http.Request, of idempotency.Summary, sent *inspect.Sent) (*ui.Page, error) {
	a, err := s.send(r, of, sent, r.PostFormValue("key"))
	if err != nil {
		return nil, err
	}
	wrong := ui.Refusal(a)
	made, err := idempotency.LookUp(r.Context(), s.Pool, a.RequestID())
	switch {
	case err != nil:
		return nil, err
	case len(made) == 0: // refused before anything was stored
		return ui.RedirectWithError("/dashboard/requests/"+of.ID, wrong), nil
	case wrong != "":
		return ui.RedirectWithError("/dashboard/requests/"+made[0].ID, wrong), nil
	}
	return ui.RedirectWithNotice("/dashboard/requests/"+made[0].ID,
		"Sent again with a new key. This is the new request."), nil
}

func (s Pages) send(
	r *http.Request, of idempotency.Summary, sent *inspect.Sent, key string,
) (*api.InternalResponse, error) {
	return s.CallAs(r, of.AccountID, of.Livemode, sent.APIVersion, of.Method, of.Path, key, sent.Form())
}
