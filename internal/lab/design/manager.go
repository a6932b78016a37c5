package design

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"
)

const selectRequest = `
	SELECT request_hash, state, coalesce(response, '') FROM lab_manager.requests
	WHERE key = @key AND created_at > now() - interval '24 hours'`

const insertRequest = `
	INSERT INTO lab_manager.requests (key, request_hash, state) VALUES (@key, @hash, 'processing')
	ON CONFLICT (key) DO NOTHING`

const finishRequest = `UPDATE lab_manager.requests SET state = @state, response = @response WHERE key = @key`

const insertManager = `
	INSERT INTO lab_manager.charges (order_id, amount, reference) VALUES (@order, @amount, @reference)`

const countManager = `SELECT count(*) FROM lab_manager.charges WHERE order_id = $1`

var (
	errMismatch      = errors.New("the request does not match its idempotency key")
	errConflict      = errors.New("a request with this idempotency key is being processed")
	errFailedEarlier = errors.New("the request failed earlier")
)

// manager runs a function once per key, and remembers what it returned.
type manager struct{ db *pgxpool.Pool }

// once looks the key up, compares the request, claims the key, runs process, and
// stores its result or its failure. A stored failure is raised again.
func (m *manager) once(
	ctx context.Context, key string, request any, process func() (any, error),
) (response string, err error) {
	hash, err := hashOf(request)
	if err != nil {
		return "", err
	}
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
		return "", errFailedEarlier
	default:
		return "", errConflict
	}
	claimed, err := m.db.Exec(ctx, insertRequest, pgx.StrictNamedArgs{"key": key, "hash": hash})
	if err != nil {
		return "", err
	}
	if claimed.RowsAffected() == 0 {
		return "", errConflict
	}
	result, failure := process()
	if failure != nil {
		_, err := m.db.Exec(ctx, finishRequest,
			pgx.StrictNamedArgs{"key": key, "state": "failed", "response": failure.Error()})
		return "", errors.Join(failure, err)
	}
	text, err := json.Marshal(result)
	if err != nil {
		return "", err
	}
	_, err = m.db.Exec(ctx, finishRequest,
		pgx.StrictNamedArgs{"key": key, "state": "completed", "response": string(text)})
	return string(text), err
}

// hashOf is the SHA-256 of the request as JSON with sorted keys.
func hashOf(request any) (string, error) {
	text, err := json.Marshal(request) // sorts the keys of a map
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// managedShop charges inside of the manager.
type managedShop struct {
	db      *pgxpool.Pool
	bank    *Bank
	manager *manager
}

func mountManager(e *echo.Echo, p Parts) {
	e.POST("/pay", (&managedShop{p.DB, p.Bank, &manager{p.DB}}).pay)
}

func (s *managedShop) pay(c echo.Context) error {
	ctx, key := c.Request().Context(), c.Request().Header.Get(idempotencyKey)
	body, o, err := readOrder(c)
	if err != nil {
		return err
	}
	var request map[string]any
	if err := json.Unmarshal([]byte(body), &request); err != nil {
		return err
	}
	response, err := s.manager.once(ctx, key, request, func() (any, error) { return s.charge(ctx, o) })
	switch {
	case errors.Is(err, errMismatch):
		return echo.NewHTTPError(http.StatusUnprocessableEntity, err.Error())
	case errors.Is(err, errConflict):
		return echo.NewHTTPError(http.StatusConflict, err.Error())
	case err != nil:
		return echo.NewHTTPError(http.StatusInternalServerError, err.Error())
	}
	return c.JSONBlob(http.StatusOK, []byte(response))
}

func (s *managedShop) charge(ctx context.Context, o order) (any, error) {
	reference, err := s.bank.Charge(ctx, o)
	if err != nil {
		return nil, err
	}
	_, err = s.db.Exec(ctx, insertManager,
		pgx.StrictNamedArgs{"order": o.Order, "amount": o.Amount, "reference": reference})
	return paid(o, reference), err
}
