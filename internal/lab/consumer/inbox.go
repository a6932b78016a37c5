package consumer

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
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

// charged is what the phases of a charge tell each other.
type charged struct {
	Amount int64
	Answer acquirer.Answer
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

// payOrder charges an order once, however often its message is delivered.
//
//	(nothing) ──▶ order_taken ──▶ bank_answered ──▶ charge_booked
//	    inbox + charge     ask, no tx open     book the charge
var payOrder = phase.Define("lab.pay", 1,
	phase.Atomic("order_taken", takeOrder),
	phase.Foreign("bank_answered", acquirer.Port, askBank),
	phase.Atomic("charge_booked", bookCharge),
)

const selectOrder = `SELECT amount FROM lab_inbox.orders WHERE order_id = @order`

const insertCharge = `INSERT INTO lab_inbox.charges (order_id, amount) VALUES (@order, @amount)`

// takeOrder writes down, in one transaction, that the message is taken and what it leads to.
func takeOrder(ctx context.Context, tx *phase.Tx, in message, s *charged) (phase.Outcome, error) {
	rows, err := tx.Query(ctx, selectOrder, pgx.StrictNamedArgs{"order": in.Order})
	if err != nil {
		return phase.Outcome{}, err
	}
	s.Amount, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
	if errors.Is(err, pgx.ErrNoRows) {
		return phase.Outcome{}, inbox.NotYet("order %d has not been placed", in.Order)
	}
	if err != nil {
		return phase.Outcome{}, err
	}
	inbox.Take(tx, in.Message)
	tx.WriteOne(insertCharge, pgx.StrictNamedArgs{"order": in.Order, "amount": s.Amount})
	return phase.Next, nil
}

// askBank charges the card under the key that the engine derives from the request.
func askBank(ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ message, s *charged) (err error) {
	s.Answer, err = call.To().Authorize(ctx, call.Permit,
		acquirer.Order{Card: "visa", Amount: s.Amount, Currency: "usd", Capture: true})
	return err
}

const bookReference = `UPDATE lab_inbox.charges SET reference = @reference WHERE order_id = @order`

func bookCharge(_ context.Context, tx *phase.Tx, in message, s *charged) (phase.Outcome, error) {
	if !s.Answer.Approved {
		return phase.Reply(http.StatusPaymentRequired, tx.RequestID, s.Answer.Code), nil // nothing to book
	}
	tx.WriteOne(bookReference, pgx.StrictNamedArgs{"order": in.Order, "reference": s.Answer.Reference})
	return phase.Reply(http.StatusOK, tx.RequestID, in.Message.EventID), nil
}

// handle acknowledges a message when the inbox has it: applied, or kept for later.
func (c *Consumer) handle(ctx context.Context, m jetstream.Msg) {
	received := inbox.New(source, m.Headers().Get(jetstream.MsgIDHeader), kindOf(m.Subject()), m.Data())
	if err := c.inbox.Receive(ctx, received); err != nil {
		_ = m.Nak()
		return
	}
	_ = m.Ack() // a lost acknowledgment means that the message comes again
}

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
