package design

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"
)

const deleteExpiredKeys = `DELETE FROM idempotency_keys WHERE expires_at < now()`

// The primary key decides which of two requests goes on. A row that has been
// processing for longer than @stale is taken over.
const claimKey = `
	INSERT INTO idempotency_keys (key, request_body, status) VALUES (@key, @body, 'processing')
	ON CONFLICT (key) DO UPDATE SET locked_at = now()
	WHERE idempotency_keys.status = 'processing' AND idempotency_keys.locked_at < now() - @stale::interval`

const finishKey = `UPDATE idempotency_keys SET status = @status, response_body = @response WHERE key = @key`

// never is how long a row is processing in the form that takes nothing over.
const never = "1000 years"

// table keeps keys in a table. The status is committed before the bank is called.
type table struct {
	shop
	stale string
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
	if _, err := t.db.Exec(ctx, insertCharge, row(o, reference)); err != nil {
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
