package dashboard

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/login"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/webhook"
)

// postEndpoint makes an endpoint, and shows its secret: the only time it can be seen.
func (s *Server) postEndpoint(w http.ResponseWriter, r *http.Request) {
	of, err := s.scope(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page := webhooksPage{
		Key:    r.PostFormValue("key"),
		Typed:  strings.TrimSpace(r.PostFormValue("url")),
		Events: picker(r.PostForm["events"]),
	}
	a, err := s.ask(r, of.AccountID, of.Livemode, http.MethodPost, "/v1/webhook_endpoints", page.Key,
		url.Values{"url": {page.Typed}, "enabled_events[]": picked(r)})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var made struct{ ID, Secret string }
	if page.Wrong = refusal(a); page.Wrong == "" && json.Unmarshal(a.Body.Bytes(), &made) == nil {
		s.showWebhook(w, r, made.ID, endpointPage{NewSecret: made.Secret})
		return
	}
	if page.Open = a.Open(); !page.Open {
		page.Key = newKey("endpoint")
	}
	s.showWebhooks(w, r, a.Status, page)
}

// postEndpointDeed switches an endpoint on or off, through the API, or rolls its secret.
func (s *Server) postEndpointDeed(w http.ResponseWriter, r *http.Request) {
	e, err := s.findEndpoint(r, r.PathValue("id"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if e == nil || e.DeletedAt != nil {
		s.notFound(w, r)
		return
	}
	switch r.PathValue("deed") {
	case "roll":
		s.roll(w, r, e)
	case "edit":
		s.editEndpoint(w, r, e)
	case "test":
		s.testEndpoint(w, r, e)
	case "enable", "disable":
		disabled := r.PathValue("deed") == "disable"
		a, err := s.ask(r, e.AccountID, e.Livemode, http.MethodPost, "/v1/webhook_endpoints/"+e.ID, newKey("endpoint"),
			url.Values{"disabled": {strconv.FormatBool(disabled)}})
		s.settle(w, r, a, err, map[bool]string{true: "Endpoint disabled.", false: "Endpoint enabled."}[disabled],
			"/dashboard/webhooks/"+e.ID)
	default:
		s.notFound(w, r)
	}
}

// overlaps are for how long the old secret may sign, too.
var overlaps = map[string]time.Duration{"0": 0, "1h": time.Hour, "24h": webhook.LongestOverlap}

// roll gives the endpoint a new secret, as the operators' command does. A form
// that was drawn for an earlier secret rolls nothing: it was sent already.
func (s *Server) roll(w http.ResponseWriter, r *http.Request, e *endpoint) {
	overlap, known := overlaps[r.PostFormValue("overlap")]
	if !known || r.PostFormValue("generation") != strconv.Itoa(int(e.SecretGeneration)) {
		login.Complain(w, r, "The secret changed since you opened this page. Nothing was rolled.")
		http.Redirect(w, r, "/dashboard/webhooks/"+e.ID, http.StatusSeeOther)
		return
	}
	rolled, err := webhook.Roll(r.Context(), s.Pool, s.Secret.For(secret.Webhooks), actor, e.ID, overlap)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.showWebhook(w, r, e.ID, endpointPage{
		NewSecret: rolled,
		Overlap:   map[string]string{"1h": "1 hour", "24h": "24 hours"}[r.PostFormValue("overlap")],
	})
}

// postResend sends an event once more: to one endpoint, or to all that it was
// sent to. It is what the operators' command does, and leaves the same trail.
func (s *Server) postResend(w http.ResponseWriter, r *http.Request) {
	event, back := r.PathValue("event"), "/dashboard/events/"+r.PathValue("event")
	if endpoint := r.PathValue("id"); endpoint != "" {
		back = "/dashboard/webhooks/" + endpoint + "/" + event
	}
	to, err := webhook.Resend(r.Context(), s.Pool, actor, event, r.PathValue("id"))
	switch {
	case errors.Is(err, webhook.ErrUnknown):
		s.notFound(w, r)
		return
	case err != nil:
		s.fail(w, r, err)
		return
	case len(to) == 0:
		login.Complain(w, r, "No enabled endpoint receives this event. Nothing was sent.")
	case len(to) == 1:
		login.Say(w, r, "Resending to "+to[0].EndpointID+".")
	default:
		login.Say(w, r, "Resending to "+strconv.Itoa(len(to))+" endpoints.")
	}
	http.Redirect(w, r, back, http.StatusSeeOther)
}

// settle ends a form that one request of the API decides: back to a page, which
// says how it went.
func (s *Server) settle(w http.ResponseWriter, r *http.Request, a *api.Answer, err error, done, back string) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if wrong := refusal(a); wrong != "" {
		login.Complain(w, r, wrong)
	} else {
		login.Say(w, r, done)
	}
	http.Redirect(w, r, back, http.StatusSeeOther)
}
