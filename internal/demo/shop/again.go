package shop

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

const (
	moreDeliveries = 2
	// deliveryTimeout is how long a delivery may take until the page is shown
	// without it. It takes a tenth of a second, and two of them have to be over
	// before the server in front of us gives up.
	deliveryTimeout = 15 * time.Second
	lookEvery       = 50 * time.Millisecond
)

const countDeliveries = `SELECT count(*) FROM shop.deliveries WHERE event_id = @event_id`

// postAgain has the event that paid an order delivered twice more, one after the
// other. The keys hang on the page that the button is on, so a double click asks
// for the same two.
func (s *Server) postAgain(w http.ResponseWriter, r *http.Request) {
	o := s.namedOrder(w, r)
	if o == nil {
		return
	}
	seen, err := strconv.Atoi(r.PostFormValue("seen"))
	if o.PaidBy == nil || err != nil {
		s.notFound(w, r)
		return
	}
	ctx := context.WithoutCancel(r.Context())
	for more := 1; more <= moreDeliveries; more++ {
		key := fmt.Sprintf("%s-%.32s-%d", *o.PaidBy, r.PostFormValue("page"), more)
		if err := s.deliverAgain(ctx, *o.PaidBy, key, seen+more); err != nil {
			s.Log.Warn("not delivered again", "event", *o.PaidBy, "error", err)
			s.problem(w, r, http.StatusServiceUnavailable, "We couldn’t resend the event",
				"The API or its worker didn’t respond in time. Go back to the order, reload it and try again.")
			return
		}
	}
	http.Redirect(w, r, o.path()+"#deliveries", http.StatusSeeOther)
}

// deliverAgain asks for a delivery and waits until so many have come.
func (s *Server) deliverAgain(ctx context.Context, event, key string, wanted int) error {
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	known, err := s.endpoint(ctx)
	if err != nil {
		return err
	}
	err = s.client.post(ctx, "/v1/events/"+event+"/retry", key, url.Values{"webhook_endpoint": {*known.ID}},
		&notification{})
	if err != nil {
		return fmt.Errorf("ask for it: %w", err)
	}
	for {
		var count int
		err := s.pool.QueryRow(ctx, countDeliveries, postgres.Args{"event_id": event}).Scan(&count)
		if count >= wanted || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookEvery):
		}
	}
}
