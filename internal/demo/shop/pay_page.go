package shop

import (
	"net/http"

	"github.com/ratchet-pay/ratchet/web"
)

// payPage is the shop's own page for a payment. It loads Stripe.js, which puts a frame of the
// API's into it; the card is typed into that frame.
type payPage struct {
	*order
	Publishable  string
	ClientSecret string
}

// getPay shows the page to anyone who has the order's address, as long as there is something
// to pay. The session handles the payment; the shop stores nothing here.
func (s *Server) getPay(w http.ResponseWriter, r *http.Request) {
	o := s.namedOrder(w, r)
	if o == nil {
		return
	}
	if o.State != waiting || o.UIMode != elements || o.SessionID == nil {
		http.Redirect(w, r, o.path(), http.StatusSeeOther)
		return
	}
	var session checkoutSession
	if err := s.client.get(r.Context(), "/v1/checkout/sessions/"+*o.SessionID, &session); err != nil {
		s.Log.Warn("no session", "order", o.ID, "error", err)
		s.problem(w, r, http.StatusServiceUnavailable, "Checkout is unavailable",
			"Your order is saved. Reload this page; it can’t be charged twice.")
		return
	}
	if session.ClientSecret == "" { // complete or expired, and the webhook that says so is on its way
		http.Redirect(w, r, o.backPath(), http.StatusSeeOther)
		return
	}
	page := payPage{order: o, Publishable: s.Publishable, ClientSecret: session.ClientSecret}
	s.render(w, r, http.StatusOK, "pay", web.Page{Title: "Pay", Data: page})
}
