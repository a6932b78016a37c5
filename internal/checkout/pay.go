package checkout

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
)

// bodyBytes is more than any form of this page has.
const bodyBytes = 32 << 10

// preferWait is how long one try of Pay waits for another one under the same key.
const preferWait = "wait=10"

// outcome is the result of a press of Pay, or the state of the session, as the page's
// JavaScript gets it.
type outcome struct {
	State   string `json:"state"`
	Unknown bool   `json:"unknown,omitempty"` // ask again, with the same key
	Message string `json:"message,omitempty"`
	Faults  Faults `json:"faults,omitempty"`
	Attempt int    `json:"attempt"` // of the next press, and its key
	Key     string `json:"key"`
	Frame   string `json:"frame,omitempty"`
	Decide  string `json:"decide,omitempty"` // where a challenge that is called off is said to have failed
	Next    string `json:"next,omitempty"`

	status int // for a page without JavaScript
}

func outcomeOf(s *paymentPage) outcome {
	t := outcome{State: s.State(), Attempt: s.Attempts, Key: s.Key(), status: http.StatusOK}
	switch t.State {
	case complete:
		t.Next = s.SuccessURL
	case challenged:
		t.Frame, t.Decide = s.Path()+"/challenge", s.Challenge()
	}
	return t
}

// pay is a press of the button: by a form, which is answered with a page, or by
// the page's module, which is answered with JSON.
func (s *Server) pay(w http.ResponseWriter, r *http.Request) {
	found := s.posted(w, r)
	if found == nil {
		return
	}
	entered := read(r)
	if r.PostFormValue("update") != "" && found.State() == open { // of the total, by a page without JavaScript
		found.choose(entered.Rate)
		s.form(w, r, http.StatusOK, found, formPage{Kept: entered.Kept})
		return
	}
	t, found := s.attempt(r, found, entered)
	if wantsJSON(r) {
		answer(w, t)
		return
	}
	switch {
	case t.Unknown && t.State != open:
		s.wait(w, r, found)
	case t.State == open:
		s.form(w, r, t.status, found,
			formPage{Kept: entered.Kept, Faults: t.Faults, Message: t.Message, Unknown: t.Unknown})
	case t.State == complete:
		http.Redirect(w, r, found.Path()+"/done", http.StatusSeeOther)
	default:
		http.Redirect(w, r, found.Path(), http.StatusSeeOther)
	}
}

// posted reads a form of the page, and finds its session. It returns nil after it has answered the request.
func (s *Server) posted(w http.ResponseWriter, r *http.Request) *paymentPage {
	if s.across.Check(r) != nil {
		http.Error(w, langOf(r).Say("unverified_form"), http.StatusForbidden)
		return nil
	}
	r.Body = http.MaxBytesReader(w, r.Body, bodyBytes)
	if err := r.ParseForm(); err != nil {
		http.Error(w, langOf(r).Say("unreadable_form"), http.StatusBadRequest)
		return nil
	}
	found, err := s.find(r)
	if err != nil {
		s.fail(w, r, err)
		return nil
	}
	return found
}

// attempt tries to pay once. Whether this is the first try under its key, or one
// more after a lost answer, or one of two at once, is the API's to tell apart.
func (s *Server) attempt(r *http.Request, found *paymentPage, entered submission) (outcome, *paymentPage) {
	if state := found.State(); state == complete || state == expired {
		return outcomeOf(found), found
	}
	found.choose(entered.Rate)
	if shown := r.PostFormValue("total"); shown != "" && shown != strconv.FormatInt(found.AmountTotal, 10) {
		t := outcomeOf(found)
		t.State, t.status = open, http.StatusConflict
		t.Message = found.lang.Say("total_changed", "amount", found.Total())
		return t, found
	}
	if faults := entered.check(found, time.Now()); len(faults) > 0 {
		t := outcomeOf(found)
		t.State, t.Faults, t.status = open, faults, http.StatusUnprocessableEntity
		return t, found
	}
	number, err := strconv.Atoi(r.PostFormValue("attempt"))
	if err != nil || number < 0 || number > found.Attempts {
		number = found.Attempts
	}
	a, err := s.ask(r, found, api.InternalRequest{
		Method: http.MethodPost,
		Path:   "/v1/payment_pages/" + found.ID + "/confirm",
		Key:    found.key(number),
		Form:   entered.form(found, s.back(r, found)),
		Header: s.extras(r),
	})
	if err != nil {
		return s.unknown(found, err), found
	}
	now, err := s.read(r, found)
	if err != nil {
		return s.unknown(found, err), found
	}
	t := s.outcome(now, a)
	if t.State == open {
		now.choose(entered.Rate)
	}
	return t, now
}

// outcome combines a response of the API with the state of the session after it: the
// response may be a replay from before the customer saw the bank's page.
func (s *Server) outcome(now *paymentPage, a *api.InternalResponse) outcome {
	t, refusal := outcomeOf(now), a.Refusal()
	switch {
	case t.State == complete || refusal == nil:
		if t.State == open {
			t.Message = now.Failure()
		}
	case a.Open():
		t.Unknown, t.status = true, http.StatusServiceUnavailable
	case refusal.Type == apierror.TypeIdempotency && t.State != open:
		t.Unknown, t.status, t.Message = true, http.StatusConflict, now.lang.Say("other_tab_pays")
	case refusal.Type == apierror.TypeIdempotency:
		t.Message = now.lang.Say("other_tab_failed")
		t.status = http.StatusConflict
	default:
		t.Message, t.status = now.lang.Decline(refusal.Code, refusal.DeclineCode, refusal.Message), a.Status
		if field := fieldOf(refusal.Param); field != "" {
			t.Faults, t.Message = Faults{field: t.Message}, ""
		}
	}
	return t
}

// unknown is the result while the outcome is unknown: the page must send the same key again.
func (s *Server) unknown(found *paymentPage, err error) outcome {
	s.Log.Error("checkout", "session", found.ID, "error", err)
	t := outcomeOf(found)
	t.Unknown, t.status = true, http.StatusServiceUnavailable
	return t
}

// back is where the bank's page sends a cardholder who came to it without a frame.
func (s *Server) back(r *http.Request, found *paymentPage) string {
	page, _, _ := strings.Cut(found.URL, "#")
	if page == "" {
		page = "http://" + r.Host + found.Path()
	}
	return page + "/done"
}

// extras are headers for the API: a demo can ask the acquirer for a fault.
func (s *Server) extras(r *http.Request) http.Header {
	h := http.Header{"Prefer": {preferWait}}
	if wish := r.PostFormValue("bank_fault"); s.Demo && injectable.offer(wish) {
		h.Set("Acquirer-Fault", wish)
	}
	return h
}

// sendState sends the state of a session to a page that waits for it.
func (s *Server) sendState(w http.ResponseWriter, r *http.Request) {
	found, err := s.find(r)
	switch {
	case errors.Is(err, errNoSession):
		http.NotFound(w, r)
	case err != nil:
		s.Log.Error("checkout", "session", form.Quote(r.PathValue("session")), "error", err)
		http.Error(w, "not available", http.StatusServiceUnavailable)
	default:
		t := outcomeOf(found)
		if t.State == open {
			t.Message = found.Failure()
		}
		answer(w, t)
	}
}
