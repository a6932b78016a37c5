package design

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/ratchet-pay/ratchet/internal/lab/redis"
)

// idempotent is a middleware that keeps answers in Redis, under the client's key. The
// handler behind it is the naive one.
//
//	GET ──▶ SET NX EX "processing" ──▶ handler ──▶ SETEX "completed" or "failed"
type idempotent struct {
	redis   *redis.Client
	options redisOptions
}

const answerSeconds = 24 * 60 * 60 // in which an answer is replayed

func (m *idempotent) middleware(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx, key := c.Request().Context(), "idempotency:"+c.Request().Header.Get(idempotencyKey)
		text, found, err := m.redis.Get(ctx, key)
		if err != nil {
			return err
		}
		if found {
			return replay(c, text)
		}
		locked, err := m.redis.SetNX(ctx, key, saved{State: "processing"}.String(), m.options.lockSeconds)
		if err != nil {
			return err
		}
		if !locked {
			return errInProgress
		}
		answer := capture(c, next)
		if m.options.answerFirst {
			answer.send()
			return m.store(ctx, key, answer)
		}
		if err := m.store(ctx, key, answer); err != nil {
			return err
		}
		answer.send()
		return nil
	}
}

// store keeps the answer. An error is final, too: a retry gets it again.
func (m *idempotent) store(ctx context.Context, key string, a *captured) error {
	s := saved{State: "completed", Body: a.body.String()}
	if a.status >= http.StatusBadRequest {
		s.State = "failed"
	}
	return m.redis.SetEX(ctx, key, s.String(), answerSeconds)
}

func replay(c echo.Context, text string) error {
	var s saved
	err := json.Unmarshal([]byte(text), &s)
	switch {
	case err != nil:
		return err
	case s.State == "completed":
		return c.JSONBlob(http.StatusOK, []byte(s.Body))
	case s.State == "failed":
		return c.JSONBlob(http.StatusInternalServerError, []byte(s.Body))
	}
	return errInProgress
}
