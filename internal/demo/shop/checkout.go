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
	uiMode := hostedPage
	if r.PostFormValue("ui_mode") == elements {
		uiMode = elements
	}
	ctx := context.WithoutCancel(r.Context()) // a customer who leaves finds the order placed when they return
	o, err := s.place(ctx, c, uiMode, s.origin(r))
	if err == nil && o.UIMode != uiMode {
		err = s.expire(ctx, o)
	}
	if err == nil && o.State == expired { // that visit is over: the same things again are another order
		c = c.again()
		s.keepCart(w, c)
		o, err = s.place(ctx, c, uiMode, s.origin(r))
	}
	if err != nil {
		s.Log.Warn("no order", "order", s.orderID(c), "error", err)
		s.problem(w, r, http.StatusServiceUnavailable, "Checkout is unavailable",
			"Your cart is saved. Click Pay again; it can’t be charged twice.")
		return
	}
	if o.State == paid {
		http.Redirect(w, r, o.backPath(), http.StatusSeeOther)
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
	o, err := s.place(ctx, cart{}.with(p, 1), hostedPage, s.origin(r))
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

// backPath is the address that a customer who has paid comes back to.
func (o *order) backPath() string { return o.path() + "?session_id=" + *o.SessionID }

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
	if o.UIMode == elements {
		session.URL = o.Origin + o.path() + "/pay"
	}
	_, err = s.pool.Exec(ctx, keepSession,
		postgres.Args{"id": o.ID, "session_id": session.ID, "session_url": session.URL})
	if err != nil {
		return "", fmt.Errorf("store the session: %w", err)
	}
	o.SessionID, o.SessionURL = &session.ID, &session.URL
	return session.URL, nil
}

const expireWaiting = `UPDATE shop.orders SET state = 'expired' WHERE id = @id AND state = 'waiting'`

// expire ends an order before the same cart is paid on the other page: it expires the session. If
// the customer has paid meanwhile, the order is paid, and stays. The request has no idempotency
// key, because expiring a session twice changes nothing, and a refusal under a key would be
// repeated.
func (s *Server) expire(ctx context.Context, o *order) error {
	if o.State != waiting {
		return nil
	}
	if _, err := s.session(ctx, o); err != nil { // it may have been created, and its answer lost
		return err
	}
	at := "/v1/checkout/sessions/" + *o.SessionID
	var session checkoutSession
	if refused := s.client.post(ctx, at+"/expire", "", nil, &session); refused != nil {
		if err := s.client.get(ctx, at, &session); err != nil {
			return err
		}
		if session.Status == "open" {
			return fmt.Errorf("expire the session: %w", refused)
		}
	}
	if session.Status == "complete" {
		o.State = paid // the webhook is on its way
		return nil
	}
	if _, err := s.pool.Exec(ctx, expireWaiting, postgres.Args{"id": o.ID}); err != nil {
		return fmt.Errorf("expire the order: %w", err)
	}
	o.State = expired
	return nil
}

// checkoutSession is what the shop reads of one.
type checkoutSession struct {
	ID                string
	URL               string
	Status            string
	ClientSecret      string `json:"client_secret"`       // with it, a browser can pay; only while the session is open
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
		"payment_intent_data[description]": {fmt.Sprintf("Shop order %d", o.Number)},
	}
	back := o.Origin + o.path() + "?session_id={CHECKOUT_SESSION_ID}"
	if o.UIMode == elements {
		params.Set("ui_mode", elements)
		params.Set("return_url", back)
	} else {
		params.Set("success_url", back)
		params.Set("cancel_url", o.Origin+"/shop/cart?left="+o.ID)
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
