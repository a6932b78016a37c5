package design

import (
	"context"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"
)

const selectKey = `
	SELECT request_body, status, coalesce(response_body, '') FROM idempotency_keys WHERE key = @key`

// queryer is a pool or a transaction.
type queryer interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// replayKey answers a request whose key is taken, in all forms of the table.
func replayKey(c echo.Context, db queryer, key, body string) error {
	var was, status, response string
	err := db.QueryRow(c.Request().Context(), selectKey, pgx.StrictNamedArgs{"key": key}).Scan(&was, &status, &response)
	switch {
	case err != nil:
		return err
	case was != body:
		return errMismatch
	case status == "completed":
		return c.JSONBlob(http.StatusOK, []byte(response))
	case status == "failed":
		return echo.NewHTTPError(http.StatusInternalServerError, response)
	}
	return errInProgress
}
