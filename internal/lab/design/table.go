package design

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"
)

const deleteExpiredKeys = `DELETE FROM lab_table.idempotency_keys WHERE expires_at < now()`

// The primary key decides which of two requests goes on. A row that has been
// processing for longer than @stale is taken over.
const claimKey = `
	INSERT INTO lab_table.idempotency_keys (key, request_body, status) VALUES (@key, @body, 'processing')
	ON CONFLICT (key) DO UPDATE SET locked_at = now()
	WHERE idempotency_keys.status = 'processing' AND idempotency_keys.locked_at < now() - @stale::interval`

const selectKey = `
	SELECT request_body, status, coalesce(response_body, '') FROM lab_table.idempotency_keys WHERE key = @key`

const finishKey = `UPDATE lab_table.idempotency_keys SET status = @status, response_body = @response WHERE key = @key`

const insertTable = `INSERT INTO lab_table.charges (order_id, amount, reference) VALUES (@order, @amount, @reference)`

const countTable = `SELECT count(*) FROM lab_table.charges WHERE order_id = $1`

// never is how long a row is processing in the form that takes nothing over.
const never = "1000 years"

// table keeps keys in a table. The status is committed before the bank is called.
type table struct {
	db    *pgxpool.Pool
	bank  *Bank
	stale string
}

func mountTable(stale string) func(*echo.Echo, Parts) {
	return func(e *echo.Echo, p Parts) { e.POST("/pay", (&table{p.DB, p.Bank, stale}).pay) }
}

func (t *table) pay(c echo.Context) error {
	ctx, key := c.Request().Context(), c.Request().Header.Get(idempotencyKey)
	body, o, err := readOrder(c)
	if err != nil {
		return err
	}
	if _, err := t.db.Exec(ctx, deleteExpiredKeys); err != nil {
		return err
	}
	claimed, err := t.db.Exec(ctx, claimKey, pgx.StrictNamedArgs{"key": key, "body": body, "stale": t.stale})
	if err != nil {
		return err
	}
	if claimed.RowsAffected() == 0 {
		return replayKey(c, t.db, key, body)
	}
	reference, err := t.bank.Charge(ctx, o)
	if err != nil {
		return t.fail(ctx, key)
	}
	_, err = t.db.Exec(ctx, insertTable,
		pgx.StrictNamedArgs{"order": o.Order, "amount": o.Amount, "reference": reference})
	if err != nil {
		return err
	}
	response, err := json.Marshal(paid(o, reference))
	if err != nil {
		return err
	}
	_, err = t.db.Exec(ctx, finishKey,
		pgx.StrictNamedArgs{"key": key, "status": "completed", "response": string(response)})
	if err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, response)
}

// fail stores that the request failed. That is what the client gets from now on.
func (t *table) fail(ctx context.Context, key string) error {
	_, err := t.db.Exec(ctx, finishKey,
		pgx.StrictNamedArgs{"key": key, "status": "failed", "response": errBank.Error()})
	if err != nil {
		return err
	}
	return errBank
}

// queryer is a pool or a transaction.
type queryer interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// replayKey answers a request whose key is taken.
func replayKey(c echo.Context, db queryer, key, body string) error {
	var was, status, response string
	err := db.QueryRow(c.Request().Context(), selectKey, pgx.StrictNamedArgs{"key": key}).Scan(&was, &status, &response)
	switch {
	case err != nil:
		return err
	case was != body:
		return echo.NewHTTPError(http.StatusUnprocessableEntity, "This key was used for another request.")
	case status == "completed":
		return c.JSONBlob(http.StatusOK, []byte(response))
	case status == "failed":
		return echo.NewHTTPError(http.StatusInternalServerError, response)
	}
	return errInProgress
}

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
