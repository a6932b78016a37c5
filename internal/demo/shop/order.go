package shop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// States of an order.
const (
	waiting = "waiting" // for the webhook that says it is paid
	paid    = "paid"
	expired = "expired" // its session ended, and nothing was paid
)

// The two pages that an order can be paid on, in the API's words.
const (
	hostedPage = "hosted_page" // the API's
	elements   = "elements"    // the shop's own, with the card in a frame of Stripe.js
)

// order is what a customer wants to buy.
type order struct {
	ID         string
	Number     int64
	State      string
	UIMode     string `db:"ui_mode"`
	Origin     string // such as http://127.0.0.1:8080
	Amount     int64  // US cents
	Currency   string
	SessionID  *string
	SessionURL *string
	PlacedAt   time.Time
	PaidBy     *string
	Lines      []orderLine `db:"-"`
}

// orderLine is a line as it was when the order was placed.
type orderLine struct {
	Product    string
	Name       string
	Quantity   int32
	UnitAmount int64 // US cents
}

// Amount is what the line costs, in US cents.
func (l orderLine) Amount() int64 { return int64(l.Quantity) * l.UnitAmount }

const insertOrder = `
	WITH placed AS (
		INSERT INTO shop.orders (id, ui_mode, origin, amount, currency)
		VALUES (@id, @ui_mode, @origin, @amount, @currency)
		ON CONFLICT (id) DO NOTHING
		RETURNING id
	)
	INSERT INTO shop.lines (order_id, product, name, quantity, unit_amount)
	SELECT placed.id, l.* FROM placed,
	       unnest(@products::text[], @names::text[], @quantities::integer[], @prices::bigint[]) AS l`

// place writes the order of a cart down, or finds it where it was placed before.
func (s *Server) place(ctx context.Context, c cart, uiMode, origin string) (*order, error) {
	var products, names []string
	var quantities []int
	var prices []int64
	for _, l := range c.lines {
		products, names = append(products, l.Product.ID), append(names, l.Product.Name)
		quantities, prices = append(quantities, l.Quantity), append(prices, l.Product.Price)
	}
	_, err := s.pool.Exec(ctx, insertOrder, postgres.Args{
		"id": s.orderID(c), "ui_mode": uiMode, "origin": origin, "amount": c.Total(), "currency": currency,
		"products": products, "names": names, "quantities": quantities, "prices": prices})
	if err != nil {
		return nil, fmt.Errorf("place the order: %w", err)
	}
	return s.orderByID(ctx, s.orderID(c))
}

const selectOrder = `
	SELECT id, number, state, ui_mode, origin, amount, currency, session_id, session_url, placed_at, paid_by
	FROM shop.orders WHERE id = @id`

const selectLines = `
	SELECT product, name, quantity, unit_amount FROM shop.lines WHERE order_id = @id ORDER BY product`

// orderByID is nil if the order does not exist.
func (s *Server) orderByID(ctx context.Context, id string) (*order, error) {
	rows, _ := s.pool.Query(ctx, selectOrder, postgres.Args{"id": id})
	o, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[order])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read order %s: %w", id, err)
	}
	rows, _ = s.pool.Query(ctx, selectLines, postgres.Args{"id": id})
	o.Lines, err = pgx.CollectRows(rows, pgx.RowToStructByName[orderLine])
	if err != nil {
		return nil, fmt.Errorf("read order %s: %w", id, err)
	}
	return o, nil
}
