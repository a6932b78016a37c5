package shop

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// postPay turns the cart into an order and sends the customer to the page where
// it is paid. Pressed again, it finds the same order and the same page.
func (s *Server) postPay(w http.ResponseWriter, r *http.Request) {
	c := s.cartOf(r)
	if len(c.lines) == 0 {
		http.Redirect(w, r, "/shop/cart", http.StatusSeeOther)
		return
	}
	ctx := context.WithoutCancel(r.Context()) // a customer who leaves finds the order placed when they return
	o, err := s.place(ctx, c, s.origin(r))
	if err == nil && o.State == expired { // that visit is over: the same things again are another order
		c = c.again()
		s.keepCart(w, c)
		o, err = s.place(ctx, c, s.origin(r))
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if o.State == paid {
		http.Redirect(w, r, o.path(), http.StatusSeeOther)
		return
	}
	page, err := s.session(ctx, o)
	if err != nil {
		s.Log.Warn("no session", "order", o.ID, "error", err)
		s.problem(w, r, http.StatusServiceUnavailable, "Checkout is unavailable",
			"Your order is saved. Click Pay again; it can’t be charged twice.")
		return
	}
	http.Redirect(w, r, page, http.StatusSeeOther)
}

// postBuy orders one thing at once, leaves the cart alone, and leads to its payment page.
// A visitor may want to kill something there.
func (s *Server) postBuy(w http.ResponseWriter, r *http.Request) {
	p := onShelf(r.PostFormValue("product"))
	if p == nil {
		s.problem(w, r, http.StatusBadRequest, "Product not found", "The shop doesn’t sell this product.")
		return
	}
	ctx := context.WithoutCancel(r.Context())
	o, err := s.place(ctx, cart{}.with(p, 1), s.origin(r))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page, err := s.session(ctx, o)
	if err != nil {
		s.Log.Warn("no session", "order", o.ID, "error", err)
		s.problem(w, r, http.StatusServiceUnavailable, "Checkout is unavailable", "Nothing was charged. Try again.")
		return
	}
	http.Redirect(w, r, withCrash(page, r.PostFormValue("crash")), http.StatusSeeOther)
}

// withCrash tells a payment page of the demo what the buyer wants to kill.
func withCrash(page, crash string) string {
	u, err := url.Parse(page)
	if err != nil || crash == "" {
		return page
	}
	u.RawQuery = url.Values{"crash": {crash}}.Encode()
	return u.String()
}

func (o *order) path() string { return "/shop/orders/" + o.ID }

// The address that came with the first answer stays.
const keepSession = `
	UPDATE shop.orders SET session_id = @session_id, session_url = @session_url
	WHERE id = @id AND session_id IS NULL`

// session is the address of the page where an order is paid. If we die before it
// is stored, the next to ask gets the same one: the key is the order's, and all
// that is sent comes from its row.
func (s *Server) session(ctx context.Context, o *order) (address string, err error) {
	if o.SessionURL != nil {
		return *o.SessionURL, nil
	}
	var session checkoutSession
	err = s.client.post(underName(ctx, hostOf(o.Origin)), "/v1/checkout/sessions", o.ID, o.sessionParams(), &session)
	if err != nil {
		return "", fmt.Errorf("create a session: %w", err)
	}
	_, err = s.pool.Exec(ctx, keepSession,
		postgres.Args{"id": o.ID, "session_id": session.ID, "session_url": session.URL})
	if err != nil {
		return "", fmt.Errorf("keep the session: %w", err)
	}
	return session.URL, nil
}

// checkoutSession is what the shop reads of one.
type checkoutSession struct {
	ID                string
	URL               string
	ClientReferenceID string `json:"client_reference_id"` // the order's id
	PaymentStatus     string `json:"payment_status"`
	AmountTotal       int64  `json:"amount_total"` // in the currency's smallest unit
	Currency          string
	PaymentIntent     string `json:"payment_intent"`
}

func (o *order) sessionParams() url.Values {
	params := url.Values{
		"mode":                             {"payment"},
		"client_reference_id":              {o.ID},
		"success_url":                      {o.Origin + o.path() + "?session_id={CHECKOUT_SESSION_ID}"},
		"cancel_url":                       {o.Origin + "/shop/cart?left=" + o.ID},
		"payment_intent_data[description]": {fmt.Sprintf("Shop order %d", o.Number)},
	}
	for i, l := range o.Lines {
		item := fmt.Sprintf("line_items[%d]", i)
		params.Set(item+"[quantity]", strconv.Itoa(int(l.Quantity)))
		params.Set(item+"[price_data][currency]", o.Currency)
		params.Set(item+"[price_data][unit_amount]", strconv.FormatInt(l.UnitAmount, 10))
		params.Set(item+"[price_data][product_data][name]", l.Name)
	}
	return params
}
