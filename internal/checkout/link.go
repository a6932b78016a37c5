package checkout

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/session"
	"github.com/ratchet-pay/ratchet/web"
)

var linkShape = regexp.MustCompile(`^plink_[0-9A-Za-z]+$`)

// closedLink is what a customer sees of a link that opens no session.
type closedLink struct{ Business, Message string }

// link opens a checkout session for a visit to a payment link. A browser that comes back
// finds the session it has, as long as that is open, so that reloading the address does not
// leave sessions behind. HEAD opens none.
func (s *Server) link(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("link")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Robots-Tag", "noindex")
	var link *session.LinkVisit
	var err error
	if linkShape.MatchString(id) {
		link, err = session.FindLink(r.Context(), s.DB, id)
	}
	switch {
	case err != nil:
		s.fail(w, r, err)
	case link == nil:
		s.fail(w, r, errNoSession)
	case !link.Active:
		shown := closedLink{Business: link.Business}
		if link.Inactive != nil {
			shown.Message = *link.Inactive
		}
		s.close(w, r, shown)
	case r.Method != http.MethodGet:
		w.WriteHeader(http.StatusOK)
	default:
		address, err := s.openLink(w, r, id, link)
		var refusal *apierror.Error
		switch {
		case errors.As(err, &refusal) && refusal.Status == http.StatusBadRequest: // a price that is inactive or recurs
			s.Log.Warn("a payment link cannot be opened", "link", id, "reason", refusal.Message)
			s.close(w, r, closedLink{Business: link.Business})
		case err != nil:
			s.fail(w, r, err)
		default:
			http.Redirect(w, r, address, http.StatusSeeOther)
		}
	}
}

func (s *Server) close(w http.ResponseWriter, r *http.Request, shown closedLink) {
	s.render(w, r, http.StatusGone, "checkout/closed",
		web.Page{Title: langOf(r).Say("link_closed_title"), Data: shown})
}

// openLink returns the address of the session that this browser has of the link, or of a new one.
func (s *Server) openLink(w http.ResponseWriter, r *http.Request, id string, link *session.LinkVisit) (string, error) {
	if cookie, err := r.Cookie(id); err == nil {
		r.SetPathValue("session", cookie.Value)
		if found, err := s.find(r); err == nil && found.State() != complete && found.State() != expired {
			return found.Path(), nil
		}
	}
	a, err := api.InternalRequest{
		Credential: &apikey.Credential{
			KeyID:     actor,
			AccountID: link.AccountID,
			Livemode:  link.Livemode,
			Kind:      apikey.Secret,
			Merchant:  link.Merchant,
		},
		Method: http.MethodPost,
		Path:   "/v1/payment_links/" + id + "/open",
		Key:    "visit-" + rand.Text(),
	}.Do(s.API, r)
	if err != nil {
		return "", err
	}
	if refusal := a.Refusal(); refusal != nil {
		return "", refusal
	}
	var made struct{ ID string }
	if err := json.Unmarshal(a.Body.Bytes(), &made); err != nil {
		return "", fmt.Errorf("read the session: %w", err)
	}
	//nolint:gosec // the address in it is on every page that the link leads to; a demo has no certificate
	http.SetCookie(w, &http.Cookie{Name: id, Value: made.ID, Path: session.PaymentLinkPath + id, HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
	return session.CheckoutPath + url.PathEscape(made.ID), nil
}
