// Package design has the lab's designs: small handlers that make a payment
// idempotent as well as people usually write them. Each has its own schema and
// charges the card through the same bank.
//
//	POST /pay   {"order": 17, "amount": 2017}   under an Idempotency-Key
//
// A handler contains nothing of the lab. Faults come from outside: from the
// connections, which package crashpoint watches, and from the bank.
package design

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"github.com/ratchet-pay/ratchet/internal/lab/redis"
)

// Parts are what a handler is made of.
type Parts struct {
	DB    *pgxpool.Pool
	Bank  *Bank
	Redis *redis.Client // for the designs that keep their keys there

	LockSeconds int   // how long those lock a key; 0: as the design has it
	AnswerFirst *bool // whether those answer before they store; nil: as the design has it
}

// order is what a client asks for, in cents.
type order struct {
	Order  int64 `json:"order"`
	Amount int64 `json:"amount"`
}

// charge is what it is answered.
type charge struct {
	Order     int64  `json:"order"`
	Amount    int64  `json:"amount"`
	Reference string `json:"reference"` // the bank's
	Status    string `json:"status"`
}

func paid(o order, reference string) charge {
	return charge{Order: o.Order, Amount: o.Amount, Reference: reference, Status: "paid"}
}

const idempotencyKey = "Idempotency-Key"

// errBank is what a client gets when the bank did not answer.
var errBank = echo.NewHTTPError(http.StatusBadGateway, "The bank did not answer.")

// errInProgress is what a client gets whose request is in progress.
var errInProgress = echo.NewHTTPError(http.StatusConflict, "This request is already being processed.")

// design is a lane of the lab: its handler, and the statement that counts what it has booked.
type design struct {
	mount func(*echo.Echo, Parts)
	count string
}

var designs = map[string]design{
	"naive":           {mountNaive, countNaive},
	"redis-1s":        {mountRedis(redisOptions{lockSeconds: 1}), countRedis},
	"redis-24h":       {mountRedis(redisOptions{lockSeconds: 24 * 60 * 60}), countRedis},
	"redis-unawaited": {mountRedis(redisOptions{lockSeconds: 1, answerFirst: true}), countRedis},
	"table":           {mountTable(never), countTable},
	"table-takeover":  {mountTable("1 second"), countTable},
	"table-tx":        {mountTableTx, countTable},
	"manager":         {mountManager, countManager},
	"points":          {mountPoints, countPoints},
}

// New returns the handler of a design.
func New(name string, p Parts) (http.Handler, error) {
	d, known := designs[name]
	if !known {
		return nil, fmt.Errorf("design %q not found", name)
	}
	e := echo.New()
	e.HideBanner, e.Logger = true, silent(e)
	e.Use(fault, outliveClient)
	d.mount(e, p)
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

// Count is how many charges a design has booked for an order.
func Count(ctx context.Context, db *pgxpool.Pool, name string, orderID int64) (n int, err error) {
	count := designs[name].count
	if handlers[name] != nil {
		count = countQueue
	}
	if count == "" {
		return 0, fmt.Errorf("design %q not found", name)
	}
	err = db.QueryRow(ctx, count, orderID).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the charges of %s: %w", name, err)
	}
	return n, nil
}

//go:embed schema.sql
var schema string

// CreateSchema makes the tables of all designs, if they do not exist yet.
func CreateSchema(ctx context.Context, db *pgxpool.Pool) error {
	_, err := db.Exec(ctx, schema)
	if err != nil {
		return fmt.Errorf("create the lab's schema: %w", err)
	}
	return nil
}
