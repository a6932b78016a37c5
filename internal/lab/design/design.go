// Package design has the lab's designs: small handlers that make a payment
// idempotent as well as people usually write them. Each has its own schema and
// merchant, and so has each form of a design. All charge the card through the same bank.
//
//	POST /pay   {"order": 17, "amount": 2017}   under an Idempotency-Key
//
// A handler contains nothing of the lab. Faults come from outside: from the
// connections, which package crashpoint watches, and from the bank.
package design

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"github.com/ratchet-pay/ratchet/internal/lab/redis"
)

// Parts are what a handler is made of.
type Parts struct {
	DB    *pgxpool.Pool // in the design's own schema: see SchemaURL
	Bank  *Bank
	Redis *redis.Client // for the designs that keep their keys there

	LockSeconds int   // how long those lock a key; 0: as the design has it
	AnswerFirst *bool // whether those answer before they store; nil: as the design has it
}

func (p Parts) shop() shop { return shop{p.DB, p.Bank} }

var designs = map[string]func(*echo.Echo, Parts){
	"naive":           func(e *echo.Echo, p Parts) { e.POST("/pay", (&naive{p.shop()}).pay) },
	"redis-1s":        mountRedis(redisOptions{lockSeconds: 1}),
	"redis-24h":       mountRedis(redisOptions{lockSeconds: 24 * 60 * 60}),
	"redis-unawaited": mountRedis(redisOptions{lockSeconds: 1, answerFirst: true}),
	"table":           func(e *echo.Echo, p Parts) { e.POST("/pay", (&table{p.shop(), never}).pay) },
	"table-takeover":  func(e *echo.Echo, p Parts) { e.POST("/pay", (&table{p.shop(), "1 second"}).pay) },
	"table-tx":        func(e *echo.Echo, p Parts) { e.POST("/pay", (&tableTx{p.shop()}).pay) },
	"manager":         func(e *echo.Echo, p Parts) { e.POST("/pay", (&manager{naive{p.shop()}}).pay) },
	"points":          func(e *echo.Echo, p Parts) { e.POST("/pay", (&points{p.shop()}).pay) },
}

// New returns the handler of a design.
func New(name string, p Parts) (http.Handler, error) {
	mount, known := designs[name]
	if !known {
		return nil, fmt.Errorf("design %q not found", name)
	}
	e := echo.New()
	e.HideBanner, e.Logger = true, silent(e)
	e.Use(fault, outliveClient)
	p.Bank = p.Bank.of(name)
	mount(e, p)
	return e, nil
}

func silent(e *echo.Echo) echo.Logger {
	e.Logger.SetOutput(io.Discard)
	return e.Logger
}

// outliveClient lets a handler run to its end when the client hangs up, as most
// servers do. Go's own would cancel what the handler does.
func outliveClient(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		c.SetRequest(r.WithContext(context.WithoutCancel(r.Context())))
		return next(c)
	}
}
