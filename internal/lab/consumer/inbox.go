package consumer

import (
	"context"
	"errors"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/inbox"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// charged is what the phases of a charge tell each other.
type charged struct {
	Amount int64
	Result acquirer.Result `json:"Answer"` // as stored requests name it
}

// payOrder charges an order once, however often its message is delivered.
//
//	(nothing) ──▶ order_taken ──▶ bank_answered ──▶ charge_booked
//	    inbox + charge     call, no tx open    book the charge
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
	s.Result, err = call.To().Authorize(ctx, call.Permit,
		acquirer.Order{Merchant: Account, Card: "visa", Amount: s.Amount, Currency: "usd", Capture: true})
	return err
}

const bookReference = `UPDATE lab_inbox.charges SET reference = @reference WHERE order_id = @order`

func bookCharge(_ context.Context, tx *phase.Tx, in message, s *charged) (phase.Outcome, error) {
	if !s.Result.Approved {
		return phase.Reply(http.StatusPaymentRequired, tx.RequestID, s.Result.Code), nil // nothing to book
	}
	tx.WriteOne(bookReference, pgx.StrictNamedArgs{"order": in.Order, "reference": s.Result.Reference})
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
