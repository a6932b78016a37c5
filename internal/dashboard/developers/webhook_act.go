package developers

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/login"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/webhook"
)

// postEndpoint makes an endpoint, and shows its secret: the only time it can be seen.
func (s Pages) postEndpoint(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	page := webhooksPage{
		Key:    r.PostFormValue("key"),
		Typed:  strings.TrimSpace(r.PostFormValue("url")),
		Events: picker(r.PostForm["events"]),
	}
	a, err := s.Call(r, of.AccountID, of.Livemode, http.MethodPost, "/v1/webhook_endpoints", page.Key,
		url.Values{"url": {page.Typed}, "enabled_events[]": picked(r)})
	if err != nil {
		return nil, err
	}
	var made struct{ ID, Secret string }
	if page.Wrong = ui.Refusal(a); page.Wrong == "" && json.Unmarshal(a.Body.Bytes(), &made) == nil {
		return s.showWebhook(r, made.ID, endpointPage{NewSecret: made.Secret})
	}
	if page.Open = a.Open(); !page.Open {
		page.Key = ui.NewIdempotencyKey("endpoint")
	}
	return s.showWebhooks(r, a.Status, page)
}

// postEndpointAction changes, switches or deletes an endpoint through the API, or rolls its secret.
func (s Pages) postEndpointAction(r *http.Request) (*ui.Page, error) {
	e, err := s.findEndpoint(r, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if e == nil || e.Listener || e.DeletedAt != nil && r.PathValue("action") != "delete" {
		return nil, ui.ErrNotFound
	}
	switch r.PathValue("action") {
	case "delete":
		return s.deleteEndpoint(r, e)
	case "roll":
		return s.roll(r, e)
	case "edit":
		return s.editEndpoint(r, e)
	case "test":
		return s.testEndpoint(r, e)
	case "enable", "disable":
		disabled := r.PathValue("action") == "disable"
		a, err := s.Call(r, e.AccountID, e.Livemode, http.MethodPost, "/v1/webhook_endpoints/"+e.ID,
			ui.NewIdempotencyKey("endpoint"),
			url.Values{"disabled": {strconv.FormatBool(disabled)}})
		return ui.RespondTo(a, err, map[bool]string{true: "Endpoint disabled.", false: "Endpoint enabled."}[disabled],
			"/dashboard/webhooks/"+e.ID)
	default:
		return nil, ui.ErrNotFound
	}
}

// deleteEndpoint deletes an endpoint. The API ignores an idempotency key here, so a form that is sent twice is not a
// second request.
func (s Pages) deleteEndpoint(r *http.Request, e *endpoint) (*ui.Page, error) {
	const done = "Endpoint deleted."
	back := "/dashboard/webhooks/" + e.ID
	switch {
	case r.PostFormValue("sure") != "yes":
		return ui.RedirectWithError(back, "Nothing changed. Check the box to delete the endpoint."), nil
	case e.DeletedAt != nil:
		return ui.RedirectWithNotice(back, done), nil
	}
	a, err := s.Call(r, e.AccountID, e.Livemode, http.MethodDelete, "/v1/webhook_endpoints/"+e.ID,
		ui.NewIdempotencyKey("endpoint"), nil)
	return ui.RespondTo(a, err, done, back)
}

// overlaps are for how long the old secret may sign, too.
var overlaps = map[string]time.Duration{"0": 0, "1h": time.Hour, "24h": webhook.LongestOverlap}

// roll gives the endpoint a new secret, as the operators' command does. A form
// that was drawn for an earlier secret rolls nothing: it was sent already.
func (s Pages) roll(r *http.Request, e *endpoint) (*ui.Page, error) {
	overlap, known := overlaps[r.PostFormValue("overlap")]
	if !known || r.PostFormValue("generation") != strconv.Itoa(int(e.SecretGeneration)) {
		return ui.RedirectWithError("/dashboard/webhooks/"+e.ID,
			"The secret changed since you opened this page. Nothing was rolled."), nil
	}
	rolled, err := webhook.Roll(r.Context(), s.Pool, s.Roots.Keys(secret.Webhooks), login.Actor(r), e.ID, overlap)
	if err != nil {
		return nil, err
	}
	return s.showWebhook(r, e.ID, endpointPage{
		NewSecret: rolled,
		Overlap:   map[string]string{"1h": "1 hour", "24h": "24 hours"}[r.PostFormValue("overlap")],
	})
}

// postResend sends an event once more: to one endpoint, or to all that it was
// sent to. It is what the operators' command does, and leaves the same trail.
func (s Pages) postResend(r *http.Request) (*ui.Page, error) {
	event, back := r.PathValue("event"), "/dashboard/events/"+r.PathValue("event")
	if endpoint := r.PathValue("id"); endpoint != "" {
		back = "/dashboard/webhooks/" + endpoint + "/" + event
	}
	to, err := webhook.Resend(r.Context(), s.Pool, login.Actor(r), event, r.PathValue("id"))
	switch {
	case errors.Is(err, webhook.ErrUnknown):
		return nil, ui.ErrNotFound
	case err != nil:
		return nil, err
	case len(to) == 0:
		return ui.RedirectWithError(back, "No enabled endpoint receives this event. Nothing was sent."), nil
	case len(to) == 1:
		return ui.RedirectWithNotice(back, "Resending to "+to[0].EndpointID+"."), nil
	}
	return ui.RedirectWithNotice(back, "Resending to "+strconv.Itoa(len(to))+" endpoints."), nil
}
