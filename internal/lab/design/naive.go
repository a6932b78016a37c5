package design

import (
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"
)

const insertNaive = `INSERT INTO lab_naive.charges (order_id, amount, reference) VALUES (@order, @amount, @reference)`

const countNaive = `SELECT count(*) FROM lab_naive.charges WHERE order_id = $1`

// naive charges the card, then saves the charge. Each attempt is a new charge.
type naive struct {
	db   *pgxpool.Pool
	bank *Bank
}

func mountNaive(e *echo.Echo, p Parts) { e.POST("/pay", (&naive{p.DB, p.Bank}).pay) }

func (n *naive) pay(c echo.Context) error {
	ctx := c.Request().Context()
	var o order
	if err := c.Bind(&o); err != nil {
		return err
	}
	reference, err := n.bank.Charge(ctx, o)
	if err != nil {
		return errBank
	}
	_, err = n.db.Exec(ctx, insertNaive,
		pgx.StrictNamedArgs{"order": o.Order, "amount": o.Amount, "reference": reference})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, paid(o, reference))
}
