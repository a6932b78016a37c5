package design

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"
)

// naive charges the card, then saves the charge. Each attempt is a new charge.
type naive struct{ shop }

func (n *naive) pay(c echo.Context) error {
	_, o, err := readOrder(c)
	if err != nil {
		return err
	}
	charged, err := n.charge(c.Request().Context(), o)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, charged)
}

func (n *naive) charge(ctx context.Context, o order) (charge, error) {
	reference, err := n.bank.Charge(ctx, o)
	if err != nil {
		return charge{}, errBank
	}
	_, err = n.db.Exec(ctx, insertCharge, row(o, reference))
	return paid(o, reference), err
}
