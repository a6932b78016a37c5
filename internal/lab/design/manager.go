package design

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"
)

const selectRequest = `
	SELECT request_hash, state, coalesce(response, '') FROM requests
	WHERE key = @key AND created_at > now() - interval '24 hours'`

const insertRequest = `
	INSERT INTO requests (key, request_hash, state) VALUES (@key, @hash, 'processing') ON CONFLICT (key) DO NOTHING`

const finishRequest = `UPDATE requests SET state = @state, response = @response WHERE key = @key`

// manager runs a function once per key, and remembers what it returned. Here it is the
// naive charge.
type manager struct{ naive }

func (m *manager) pay(c echo.Context) error {
	ctx, key := c.Request().Context(), c.Request().Header.Get(idempotencyKey)
	body, o, err := readOrder(c)
	if err != nil {
		return err
	}
	response, err := m.once(ctx, key, hashOf(body), func() (charge, error) { return m.charge(ctx, o) })
	if err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, []byte(response))
}

// once looks the key up, compares the hash of the request, claims the key, runs process,
// and stores its result or its failure. A stored failure is raised again.
func (m *manager) once(
	ctx context.Context, key, hash string, process func() (charge, error),
) (response string, err error) {
	var was, state string
	err = m.db.QueryRow(ctx, selectRequest, pgx.StrictNamedArgs{"key": key}).Scan(&was, &state, &response)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
	case err != nil:
		return "", err
	case was != hash:
		return "", errMismatch
	case state == "completed":
		return response, nil
	case state == "failed":
		return "", errors.New(response)
	default:
		return "", errInProgress
	}
	claimed, err := m.db.Exec(ctx, insertRequest, pgx.StrictNamedArgs{"key": key, "hash": hash})
	if err == nil && claimed.RowsAffected() == 0 {
		err = errInProgress
	}
	if err != nil {
		return "", err
	}
	result, failure := process()
	text, err := json.Marshal(result)
	response, state = string(text), "completed"
	if failure = errors.Join(failure, err); failure != nil {
		response, state = failure.Error(), "failed"
	}
	_, err = m.db.Exec(ctx, finishRequest, pgx.StrictNamedArgs{"key": key, "state": state, "response": response})
	return response, errors.Join(failure, err)
}
