package design

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"
)

const insertOrder = `
	INSERT INTO orders (order_id, amount) VALUES (@order, @amount) ON CONFLICT (order_id) DO NOTHING`

const selectOrder = `SELECT order_id, amount FROM orders WHERE order_id = @order`

// A message's subject ends in what it says.
const (
	Placed = ".placed" // stores the order
	Pay    = ".pay"    // charges the order that was placed
)

// retryIn is when the broker delivers a message again that could not be handled.
const retryIn = 200 * time.Millisecond

// Handler handles a message and acknowledges it.
type Handler func(ctx context.Context, m jetstream.Msg)

// handlers are the designs that consume a queue.
var handlers = map[string]func(shop) Handler{"queue-set": newQueueSet, "queue-table": newQueueTable}

// NewConsumer returns the handler of a design that consumes a queue.
func NewConsumer(name string, p Parts) (Handler, error) {
	open, known := handlers[name]
	if !known {
		return nil, fmt.Errorf("design %q not found", name)
	}
	p.Bank = p.Bank.of(name)
	return open(p.shop()), nil
}

// queueShop does what the messages say. Its handler knows nothing of deliveries.
type queueShop struct{ shop }

func (s *queueShop) do(ctx context.Context, m jetstream.Msg) error {
	var o order
	if err := json.Unmarshal(m.Data(), &o); err != nil {
		return fmt.Errorf("the message is not an order: %w", err)
	}
	if strings.HasSuffix(m.Subject(), Placed) {
		_, err := s.db.Exec(ctx, insertOrder, pgx.StrictNamedArgs{"order": o.Order, "amount": o.Amount})
		return err
	}
	err := s.db.QueryRow(ctx, selectOrder, pgx.StrictNamedArgs{"order": o.Order}).Scan(&o.Order, &o.Amount)
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("order %d has not been placed", o.Order)
	}
	if err != nil {
		return err
	}
	reference, err := s.bank.Charge(ctx, o)
	if err != nil {
		return err
	}
	_, err = s.db.Exec(ctx, insertCharge, row(o, reference))
	return err
}
