package design

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"
)

// The lock belongs to the session: PostgreSQL releases it when the process dies.
const (
	lockKey   = `SELECT pg_try_advisory_lock(hashtextextended(@key, 0))`
	unlockKey = `SELECT pg_advisory_unlock(hashtextextended(@key, 0))`
)

const startKey = `
	INSERT INTO lab_points.idempotency_keys (key, request_body, recovery_point) VALUES (@key, @body, 'started')
	ON CONFLICT (key) DO NOTHING`

const selectPoint = `
	SELECT request_body, recovery_point, coalesce(response_body, '') FROM lab_points.idempotency_keys WHERE key = @key`

const finishPoint = `
	UPDATE lab_points.idempotency_keys SET recovery_point = 'finished', response_body = @response
	WHERE key = @key AND recovery_point = 'started'`

const insertPoints = `INSERT INTO lab_points.charges (order_id, amount, reference) VALUES (@order, @amount, @reference)`

const countPoints = `SELECT count(*) FROM lab_points.charges WHERE order_id = $1`

// points commits a recovery point, calls the bank, and commits the next one with
// the charge and the answer. A retry goes on from the last point. The bank is not
// told that two calls are the same charge.
//
//	(nothing) ── tx ──▶ started ── call the bank, tx ──▶ finished
type points struct {
	db   *pgxpool.Pool
	bank *Bank
}

func mountPoints(e *echo.Echo, p Parts) { e.POST("/pay", (&points{p.DB, p.Bank}).pay) }

func (p *points) pay(c echo.Context) error {
	ctx, key := c.Request().Context(), c.Request().Header.Get(idempotencyKey)
	body, o, err := readOrder(c)
	if err != nil {
		return err
	}
	conn, err := p.db.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	var locked bool
	if err := conn.QueryRow(ctx, lockKey, pgx.StrictNamedArgs{"key": key}).Scan(&locked); err != nil {
		return err
	}
	if !locked {
		return errInProgress
	}
	defer func() { _, _ = conn.Exec(ctx, unlockKey, pgx.StrictNamedArgs{"key": key}) }()

	if _, err := conn.Exec(ctx, startKey, pgx.StrictNamedArgs{"key": key, "body": body}); err != nil {
		return err
	}
	var was, point, response string
	err = conn.QueryRow(ctx, selectPoint, pgx.StrictNamedArgs{"key": key}).Scan(&was, &point, &response)
	if err != nil {
		return err
	}
	switch {
	case was != body:
		return echo.NewHTTPError(http.StatusUnprocessableEntity, "This key was used for another request.")
	case point == "finished":
		return c.JSONBlob(http.StatusOK, []byte(response))
	}
	reference, err := p.bank.Charge(ctx, o)
	if err != nil {
		return errBank // nothing is stored: the outcome is unknown, and a retry finds the point where it was
	}
	answer, err := p.finish(ctx, conn, key, o, reference)
	if err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, answer)
}

func (p *points) finish(
	ctx context.Context, conn *pgxpool.Conn, key string, o order, reference string,
) (response []byte, err error) {
	response, err = json.Marshal(paid(o, reference))
	if err != nil {
		return nil, err
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, insertPoints,
			pgx.StrictNamedArgs{"order": o.Order, "amount": o.Amount, "reference": reference})
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, finishPoint, pgx.StrictNamedArgs{"key": key, "response": string(response)})
		return err
	})
	return response, err
}
