package shop

import (
	"context"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/stripe/stripe-go/v85"
)

// postPay turns the cart into an order and sends the customer to the page where
// it is paid. Pressed again, it finds the same order and the same page.
func (s *Server) postPay(w http.ResponseWriter, r *http.Request) {
	c := s.cartOf(r)
	if len(c.lines) == 0 {
		http.Redirect(w, r, "/shop/cart", http.StatusSeeOther)
		return
	}
	ctx := context.WithoutCancel(r.Context()) // whoever leaves finds it done when he comes back
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
		s.problem(w, r, http.StatusServiceUnavailable, "The till does not answer",
			"Your order is written down and your cart is as it was. Press Pay again: it is the same order, asked for under the same key, so nothing happens twice.")
		return
	}
	http.Redirect(w, r, page, http.StatusSeeOther)
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
	session, err := s.stripe.V1CheckoutSessions.Create(underName(ctx, hostOf(o.Origin)), o.sessionParams())
	if err != nil {
		return "", fmt.Errorf("create a session: %w", err)
	}
	_, err = s.pool.Exec(ctx, keepSession, pgx.StrictNamedArgs{"id": o.ID, "session_id": session.ID, "session_url": session.URL})
	if err != nil {
		return "", fmt.Errorf("keep the session: %w", err)
	}
	return session.URL, nil
}

func (o *order) sessionParams() *stripe.CheckoutSessionCreateParams {
	params := &stripe.CheckoutSessionCreateParams{
		Params:            stripe.Params{IdempotencyKey: stripe.String(o.ID)},
		Mode:              stripe.String(string(stripe.CheckoutSessionModePayment)),
		ClientReferenceID: stripe.String(o.ID),
		SuccessURL:        stripe.String(o.Origin + o.path() + "?session_id={CHECKOUT_SESSION_ID}"),
		CancelURL:         stripe.String(o.Origin + "/shop/cart?left=" + o.ID),
		PaymentIntentData: &stripe.CheckoutSessionCreatePaymentIntentDataParams{Description: stripe.String(fmt.Sprintf("Shop order %d", o.Number))},
	}
	for _, l := range o.Lines {
		params.LineItems = append(params.LineItems, &stripe.CheckoutSessionCreateLineItemParams{
			Quantity: stripe.Int64(int64(l.Quantity)),
			PriceData: &stripe.CheckoutSessionCreateLineItemPriceDataParams{
				Currency: stripe.String(o.Currency), UnitAmount: stripe.Int64(l.UnitAmount),
				ProductData: &stripe.CheckoutSessionCreateLineItemPriceDataProductDataParams{Name: stripe.String(l.Name)},
			},
		})
	}
	return params
}
