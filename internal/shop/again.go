package shop

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stripe/stripe-go/v85"
)

const (
	moreDeliveries = 2
	// deliveryPatience is how long a delivery may take until the page is shown
	// without it. It takes a tenth of a second.
	deliveryPatience = 10 * time.Second
	lookEvery        = 50 * time.Millisecond
)

const countDeliveries = `SELECT count(*) FROM shop.deliveries WHERE event_id = @event_id`

// postAgain has the event that paid an order delivered twice more, one after the
// other. The keys hang on how often the page had seen it delivered, so a double
// click asks for the same two.
func (s *Server) postAgain(w http.ResponseWriter, r *http.Request) {
	o, err := s.orderByID(r.Context(), r.PathValue("order"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	seen, err := strconv.Atoi(r.PostFormValue("seen"))
	if o == nil || o.PaidBy == nil || err != nil {
		s.notFound(w, r)
		return
	}
	ctx := context.WithoutCancel(r.Context())
	for more := 1; more <= moreDeliveries; more++ {
		if err := s.deliverAgain(ctx, *o.PaidBy, seen+more); err != nil {
			s.Log.Warn("not delivered again", "event", *o.PaidBy, "error", err)
			s.problem(w, r, http.StatusServiceUnavailable, "It was not delivered again",
				"The API or its worker did not answer in time. Go back and press the button again.")
			return
		}
	}
	http.Redirect(w, r, o.path()+"#deliveries", http.StatusSeeOther)
}

// retryParams are of the one address we use that the library has no name for:
// only Stripe's command line does.
type retryParams struct {
	stripe.Params   `form:"*"`
	WebhookEndpoint *string `form:"webhook_endpoint"`
}

// deliverAgain asks for the delivery that will be the n-th, and waits for it.
func (s *Server) deliverAgain(ctx context.Context, event string, n int) error {
	ctx, cancel := context.WithTimeout(ctx, deliveryPatience)
	defer cancel()
	known, err := s.endpoint(ctx)
	if err != nil {
		return err
	}
	params := &retryParams{WebhookEndpoint: known.ID}
	params.Context, params.IdempotencyKey = ctx, stripe.String(fmt.Sprintf("%s-delivery-%d", event, n))
	if err := s.backend.Call(http.MethodPost, "/v1/events/"+event+"/retry", s.Key, params, &stripe.Event{}); err != nil {
		return fmt.Errorf("ask for it: %w", err)
	}
	for {
		var count int
		err := s.pool.QueryRow(ctx, countDeliveries, pgx.StrictNamedArgs{"event_id": event}).Scan(&count)
		if err != nil || count >= n {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookEvery):
		}
	}
}
