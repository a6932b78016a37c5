package design

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"
)

// shop is what every design works with.
type shop struct {
	db   *pgxpool.Pool
	bank *Bank
}

// order is what a client asks for, in cents.
type order struct {
	Order  int64 `json:"order"`
	Amount int64 `json:"amount"`
}

// charge is what it is answered.
type charge struct {
	Order     int64  `json:"order"`
	Amount    int64  `json:"amount"`
	Reference string `json:"reference"` // the bank's
	Status    string `json:"status"`
}

func paid(o order, reference string) charge {
	return charge{Order: o.Order, Amount: o.Amount, Reference: reference, Status: "paid"}
}

// insertCharge books a charge, in the schema of the design that runs.
const insertCharge = `INSERT INTO charges (order_id, amount, reference) VALUES (@order, @amount, @reference)`

// row is what insertCharge inserts.
func row(o order, reference string) pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{"order": o.Order, "amount": o.Amount, "reference": reference}
}

const idempotencyKey = "Idempotency-Key"

var (
	// errBank is what a client gets when the bank did not answer.
	errBank = echo.NewHTTPError(http.StatusBadGateway, "The bank did not answer.")
	// errInProgress is what a client gets whose request is in progress.
	errInProgress = echo.NewHTTPError(http.StatusConflict, "This request is already being processed.")
	// errMismatch is what a client gets that uses a key again, for another request.
	errMismatch = echo.NewHTTPError(http.StatusUnprocessableEntity, "This key was used for another request.")
)

// readOrder reads the body as text, to compare, and as an order.
func readOrder(c echo.Context) (body string, o order, err error) {
	text, err := io.ReadAll(c.Request().Body)
	if err != nil {
		return "", order{}, err
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return "", order{}, echo.NewHTTPError(http.StatusBadRequest, "The body is not an order.")
	}
	return string(text), o, nil
}
