package shop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

const largestEvent = 256 << 10

// wanted are the events that the shop subscribes to.
var wanted = []string{sessionCompleted, sessionExpired}

const (
	sessionCompleted = "checkout.session.completed"
	sessionExpired   = "checkout.session.expired"
)

// notification is what the shop reads of an event.
type notification struct {
	ID      string
	Type    string
	Request *struct{ ID string } // that caused it; nil if a background job did
	Data    struct{ Object json.RawMessage }
}

// postWebhook receives an event. It answers 200 once the event's effect is committed, or
// if the event has none for the shop; until then the API delivers the event again.
func (s *Server) postWebhook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestEvent))
	if err != nil {
		http.Error(w, "the event is incomplete", http.StatusBadRequest)
		return
	}
	key, err := s.signingSecret(r.Context())
	if err != nil {
		s.Log.Error("webhook", "error", err)
		http.Error(w, "the shop has no signing secret yet", http.StatusServiceUnavailable)
		return
	}
	if err := verify(body, r.Header.Get("Stripe-Signature"), key, time.Now()); err != nil {
		s.Log.Warn("webhook refused", "reason", err.Error())
		http.Error(w, "invalid signature: "+err.Error(), http.StatusBadRequest)
		return
	}
	var event notification
	if err := json.Unmarshal(body, &event); err != nil {
		http.Error(w, "not an event", http.StatusBadRequest)
		return
	}
	said, err := s.process(r.Context(), &event)
	if err != nil {
		s.Log.Error("webhook", "event", event.ID, "error", err)
		http.Error(w, "try again", http.StatusInternalServerError)
		return
	}
	s.Log.Info("webhook", "event", event.ID, "said", said)
	fmt.Fprintln(w, said)
}

// decision is what an event means for an order.
type decision struct {
	did    string // paid, expired or nothing
	reason string // for nothing
}

const nothing = "nothing"

// judge compares the event with the order.
func judge(kind string, session *checkoutSession, o *order) decision {
	switch {
	case o.SessionID == nil || *o.SessionID != session.ID:
		return decision{nothing, "the event is for another session"}
	case o.State == paid:
		return decision{nothing, "the order was paid already"}
	case kind == sessionExpired:
		return decision{did: expired}
	case session.PaymentStatus != "paid":
		return decision{nothing, "the session is not paid"}
	case session.AmountTotal != o.Amount || session.Currency != o.Currency:
		return decision{nothing, fmt.Sprintf("the session's total is %d %s, and the order's is %d %s",
			session.AmountTotal, session.Currency, o.Amount, o.Currency)}
	}
	return decision{did: paid}
}

// Concurrent deliveries for the same order wait here.
const lockOrder = selectOrder + ` FOR UPDATE`

// insertEvent finds a row in the way if the event was processed before.
const insertEvent = `
	INSERT INTO shop.events (id, type, order_id, did, reason, request_id, payment_intent)
	VALUES (@id, @type, @order_id, @did, nullif(@reason, ''), nullif(@request_id, ''), nullif(@payment_intent, ''))
	ON CONFLICT (id) DO NOTHING`

const (
	payOrder       = `UPDATE shop.orders SET state = 'paid', paid_by = @event_id WHERE id = @id`
	expireOrder    = `UPDATE shop.orders SET state = 'expired' WHERE id = @id`
	insertDelivery = `INSERT INTO shop.deliveries (event_id, processed) VALUES (@event_id, @processed)`
)

// process does what an event means, once, and says what it did. Its row, the
// order's change and the count of its deliveries are one transaction: if we die
// before it is committed nothing was done, and the event comes again.
func (s *Server) process(ctx context.Context, event *notification) (said string, err error) {
	if event.Type != sessionCompleted && event.Type != sessionExpired {
		return "not for the shop", nil
	}
	var session checkoutSession
	if err := json.Unmarshal(event.Data.Object, &session); err != nil {
		return "", fmt.Errorf("read the session: %w", err)
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, lockOrder, postgres.Args{"id": session.ClientReferenceID})
		o, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByNameLax[order])
		if errors.Is(err, pgx.ErrNoRows) {
			said = "no order of this shop" // the account sells elsewhere, too
			return nil
		}
		if err != nil {
			return err
		}
		said, err = s.apply(ctx, tx, event, &session, o)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("process %s: %w", event.ID, err)
	}
	return said, nil
}

func (s *Server) apply(
	ctx context.Context, tx pgx.Tx, event *notification, session *checkoutSession, o *order,
) (said string, err error) {
	v := judge(event.Type, session, o)
	args := postgres.Args{
		"id":             event.ID,
		"type":           event.Type,
		"order_id":       o.ID,
		"did":            v.did,
		"reason":         v.reason,
		"request_id":     "",
		"payment_intent": session.PaymentIntent,
	}
	if event.Request != nil {
		args["request_id"] = event.Request.ID
	}
	inserted, err := tx.Exec(ctx, insertEvent, args)
	if err != nil {
		return "", err
	}
	fresh := inserted.RowsAffected() == 1
	said = strings.TrimSuffix(fmt.Sprintf("order %d: %s, %s", o.Number, v.did, v.reason), ", ")
	switch {
	case !fresh:
		said = fmt.Sprintf("order %d: event already processed, nothing to do", o.Number)
	case v.did == paid:
		_, err = tx.Exec(ctx, payOrder, postgres.Args{"id": o.ID, "event_id": event.ID})
	case v.did == expired:
		_, err = tx.Exec(ctx, expireOrder, postgres.Args{"id": o.ID})
	}
	if err != nil {
		return "", err
	}
	_, err = tx.Exec(ctx, insertDelivery, postgres.Args{"event_id": event.ID, "processed": fresh})
	return said, err
}
