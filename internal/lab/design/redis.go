package design

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"github.com/ratchet-pay/ratchet/internal/lab/redis"
)

const insertRedis = `INSERT INTO lab_redis.charges (order_id, amount, reference) VALUES (@order, @amount, @reference)`

const countRedis = `SELECT count(*) FROM lab_redis.charges WHERE order_id = $1`

// redisOptions are the two choices that the pattern leaves open.
type redisOptions struct {
	lockSeconds int  // how long a key stays locked whose request never ends
	answerFirst bool // the answer is sent before Redis has stored it
}

// answerSeconds is how long an answer is replayed.
const answerSeconds = 24 * 60 * 60

// idempotent is a middleware that keeps answers in Redis, under the client's key.
//
//	GET ──▶ SET NX EX "processing" ──▶ handler ──▶ SETEX "completed" or "failed"
type idempotent struct {
	redis   *redis.Client
	options redisOptions
}

// saved is what Redis has under a key.
type saved struct {
	State string `json:"state"` // processing, completed or failed
	Body  string `json:"body,omitempty"`
}

func mountRedis(options redisOptions) func(*echo.Echo, Parts) {
	return func(e *echo.Echo, p Parts) {
		if p.LockSeconds > 0 {
			options.lockSeconds = p.LockSeconds
		}
		if p.AnswerFirst != nil {
			options.answerFirst = *p.AnswerFirst
		}
		e.POST("/pay", (&redisShop{p.DB, p.Bank}).pay, (&idempotent{p.Redis, options}).middleware)
	}
}

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
		locked, err := m.redis.SetNX(ctx, key, `{"state":"processing"}`, m.options.lockSeconds)
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
	state := "completed"
	if a.status >= http.StatusBadRequest {
		state = "failed"
	}
	text, err := json.Marshal(saved{State: state, Body: a.body.String()})
	if err != nil {
		return err
	}
	return m.redis.SetEX(ctx, key, string(text), answerSeconds)
}

func replay(c echo.Context, text string) error {
	var s saved
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	switch s.State {
	case "completed":
		return c.JSONBlob(http.StatusOK, []byte(s.Body))
	case "failed":
		return c.JSONBlob(http.StatusInternalServerError, []byte(s.Body))
	}
	return errInProgress
}

// captured is an answer that has not been sent.
type captured struct {
	to     http.ResponseWriter
	status int
	body   bytes.Buffer
}

// capture runs a handler and keeps what it writes.
func capture(c echo.Context, next echo.HandlerFunc) *captured {
	a := &captured{to: c.Response().Writer}
	c.Response().Writer = a
	if err := next(c); err != nil {
		c.Error(err) // writes it into the answer
	}
	c.Response().Writer = a.to
	return a
}

func (a *captured) Header() http.Header            { return a.to.Header() }
func (a *captured) WriteHeader(status int)         { a.status = status }
func (a *captured) Write(body []byte) (int, error) { return a.body.Write(body) }

func (a *captured) send() {
	a.to.WriteHeader(a.status)
	_, _ = a.to.Write(a.body.Bytes()) // a client that has gone reads nothing
	_ = http.NewResponseController(a.to).Flush()
}

// redisShop is the handler behind the middleware: it is the naive one.
type redisShop struct {
	db   *pgxpool.Pool
	bank *Bank
}

func (s *redisShop) pay(c echo.Context) error {
	ctx := c.Request().Context()
	var o order
	if err := c.Bind(&o); err != nil {
		return err
	}
	reference, err := s.bank.Charge(ctx, o)
	if err != nil {
		return errBank
	}
	_, err = s.db.Exec(ctx, insertRedis,
		pgx.StrictNamedArgs{"order": o.Order, "amount": o.Amount, "reference": reference})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, paid(o, reference))
}
