package design

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"
)

// A second request waits here for the transaction of the first.
const insertKey = `
	INSERT INTO idempotency_keys (key, request_body, status) VALUES (@key, @body, 'processing')
	ON CONFLICT (key) DO NOTHING`

// tableTx keeps key, charge and answer in one transaction, around the bank's call.
type tableTx struct{ shop }

func (t *tableTx) pay(c echo.Context) error {
	ctx, key := c.Request().Context(), c.Request().Header.Get(idempotencyKey)
	body, o, err := readOrder(c)
	if err != nil {
		return err
	}
	tx, err := t.db.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }() // after a commit it does nothing
	claimed, err := tx.Exec(ctx, insertKey, pgx.StrictNamedArgs{"key": key, "body": body})
	if err != nil {
		return err
	}
	if claimed.RowsAffected() == 0 {
		return replayKey(c, tx, key, body)
	}
	response, err := t.charge(ctx, tx, key, o)
	if err != nil {
		return err // everything rolls back, the key included: a retry begins again
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, response)
}

func (t *tableTx) charge(ctx context.Context, tx pgx.Tx, key string, o order) (response []byte, err error) {
	reference, err := t.bank.Charge(ctx, o)
	if err != nil {
		return nil, errBank
	}
	if _, err := tx.Exec(ctx, insertCharge, row(o, reference)); err != nil {
		return nil, err
	}
	response, err = json.Marshal(paid(o, reference))
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, finishKey,
		pgx.StrictNamedArgs{"key": key, "status": "completed", "response": string(response)})
	return response, err
}
