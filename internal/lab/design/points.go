package design

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"
)

const startKey = `
	INSERT INTO idempotency_keys (key, request_body, recovery_point) VALUES (@key, @body, 'started')
	ON CONFLICT (key) DO NOTHING`

const selectPoint = `
	SELECT request_body, recovery_point, coalesce(response_body, '') FROM idempotency_keys WHERE key = @key`

const finishPoint = `
	UPDATE idempotency_keys SET recovery_point = 'finished', response_body = @response
	WHERE key = @key AND recovery_point = 'started'`

// points commits a recovery point, calls the bank, and commits the next one with
// the charge and the answer. A retry goes on from the last point. The bank is not
// told that two calls are the same charge.
//
//	(nothing) ── tx ──▶ started ── call the bank, tx ──▶ finished
type points struct{ shop }

func (p *points) pay(c echo.Context) error {
	ctx, key := c.Request().Context(), c.Request().Header.Get(idempotencyKey)
	body, o, err := readOrder(c)
	if err != nil {
		return err
	}
	conn, unlock, err := p.lock(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := conn.Exec(ctx, startKey, pgx.StrictNamedArgs{"key": key, "body": body}); err != nil {
		return err
	}
	var was, point, response string
	err = conn.QueryRow(ctx, selectPoint, pgx.StrictNamedArgs{"key": key}).Scan(&was, &point, &response)
	switch {
	case err != nil:
		return err
	case was != body:
		return errMismatch
	case point == "finished":
		return c.JSONBlob(http.StatusOK, []byte(response))
	}
	reference, err := p.bank.Charge(ctx, o)
	if err != nil {
		return errBank // nothing is stored: the outcome is unknown, and a retry finds the point where it was
	}
	answer, err := json.Marshal(paid(o, reference))
	if err != nil {
		return err
	}
	if err := p.finish(ctx, conn, key, row(o, reference), answer); err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, answer)
}

func (p *points) finish(
	ctx context.Context, conn *pgxpool.Conn, key string, charge pgx.StrictNamedArgs, answer []byte,
) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, insertCharge, charge); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, finishPoint, pgx.StrictNamedArgs{"key": key, "response": string(answer)})
		return err
	})
}
