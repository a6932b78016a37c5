package consumer

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/inbox"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// message is what the flows work with.
type message struct {
	Message inbox.Message
	Order   int64 `json:"order"`
	Amount  int64 `json:"amount"`
}

const insertOrder = `INSERT INTO lab_inbox.orders (order_id, amount) VALUES (@order, @amount)`

// placeOrder stores an order. The message and its effect are one transaction.
var placeOrder = phase.Define("lab.place", 1,
	phase.Atomic("order_placed", func(
		_ context.Context, tx *phase.Tx, in message, _ *struct{},
	) (phase.Outcome, error) {
		inbox.Take(tx, in.Message)
		tx.WriteOne(insertOrder, pgx.StrictNamedArgs{"order": in.Order, "amount": in.Amount})
		return phase.Reply(http.StatusOK, tx.RequestID, in.Message.EventID), nil
	}))

// apply does what a message says, in a flow of the engine.
func (c *Consumer) apply(ctx context.Context, m inbox.Message) error {
	in := message{Message: m}
	if err := json.Unmarshal(m.Body, &in); err != nil {
		return inbox.Refused("it is not an order: %v", err)
	}
	if m.Kind == "placed" {
		_, err := placeOrder.Serve(ctx, c.engine, request(m), in)
		return err
	}
	_, err := payOrder.Serve(ctx, c.engine, request(m), in)
	return err
}

// request is a message as the engine takes it. The inbox guards it, so it needs no key.
func request(m inbox.Message) phase.Request {
	return phase.Request{Caller: phase.Caller{AccountID: Account, RequestID: id.New("req", time.Now())},
		Method: http.MethodPost, Path: "/messages", Fingerprint: m.Digest}
}

func kindOf(subject string) string { return subject[strings.LastIndex(subject, ".")+1:] }
