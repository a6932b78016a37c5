// Package consumer is the lab's consumer with an inbox: it takes the same messages
// as the other consumers, with the parts that Ratchet is made of.
//
//	broker ──▶ inbox.Receive ──▶ a flow of the engine ──▶ the bank, under a derived key
//
// The message is acknowledged when the inbox has it. What the process leaves
// unfinished, another one completes.
package consumer

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/inbox"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// Account is the merchant that the lab charges for.
const Account = "acct_lab_inbox"

const source = "lab"

// Consumer takes messages into the inbox.
type Consumer struct {
	engine   *phase.Engine
	inbox    *inbox.Inbox
	quiet    *pgxpool.Pool // for what the consumer asks all the time, which a trace leaves out
	waiting  *inbox.Inbox  // the same inbox, on it
	liveness *idempotency.Liveness
	log      *slog.Logger
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// Open connects the parts and begins to complete what others have left. Close it.
func Open(
	ctx context.Context, pool, quiet *pgxpool.Pool, bank acquirer.Config, secret []byte, log *slog.Logger,
) (c *Consumer, err error) {
	c = &Consumer{quiet: quiet, log: log}
	if c.liveness, err = idempotency.NewLiveness(ctx, quiet, "work"); err != nil {
		return nil, err
	}
	c.engine = phase.NewEngine(phase.Config{Pool: pool, Secret: secret, Owner: c.liveness.ID, Log: log})
	phase.Connect[acquirer.Acquirer](c.engine, acquirer.Port, acquirer.NewClient(bank))
	if err := c.engine.Register(ctx, placeOrder, payOrder); err != nil {
		return nil, err
	}
	c.inbox, c.waiting = inbox.Open(pool, c.apply, log), inbox.Open(quiet, c.apply, log)
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	c.running.Go(func() { c.liveness.Run(background) })
	c.running.Go(func() { c.complete(background) })
	return c, nil
}

// Handle applies a message and acknowledges it. If the process crashes in between, the broker sends it again.
func (c *Consumer) Handle(ctx context.Context, m jetstream.Msg) { c.handle(ctx, m) }

// Close stops the background work and waits for it.
func (c *Consumer) Close() {
	c.stop()
	c.running.Wait()
}

const (
	completeEvery  = 100 * time.Millisecond
	completeAtOnce = 8
)

// complete resumes what crashed processes have left, and applies messages that wait.
func (c *Consumer) complete(ctx context.Context) {
	for tick := time.NewTicker(completeEvery); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		left, err := idempotency.ResumeUnfinished(ctx, c.quiet, c.engine.Known(), c.liveness.ID, completeAtOnce)
		for _, r := range left {
			if err := c.engine.Resume(context.WithoutCancel(ctx), r); err != nil {
				c.log.Info("the request is not finished", "error", err)
			}
		}
		if err == nil {
			_, err = c.waiting.ApplyDue(ctx)
		}
		if err != nil && ctx.Err() == nil {
			c.log.Error("completion failed", "error", err)
		}
	}
}

//go:embed schema.sql
var schema string

const createAccount = `INSERT INTO accounts (id, name) VALUES (@id, 'The lab') ON CONFLICT (id) DO NOTHING`

// CreateSchema makes the consumer's tables and its merchant in a database of Ratchet's.
func CreateSchema(ctx context.Context, db *pgxpool.Pool) error {
	if _, err := db.Exec(ctx, schema); err != nil {
		return fmt.Errorf("create the schema of the consumer: %w", err)
	}
	_, err := db.Exec(ctx, createAccount, pgx.StrictNamedArgs{"id": Account})
	return err
}

const countCharges = `
	SELECT count(*) FILTER (WHERE reference IS NOT NULL) AS booked FROM lab_inbox.charges WHERE order_id = @order`

const countUnfinished = `
	SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM inbox WHERE state = 'waiting') AS unfinished`

const countSetAside = `SELECT count(*) FROM inbox WHERE state = 'set_aside'`

// Count is how many charges are booked for an order.
func Count(ctx context.Context, db *pgxpool.Pool, order int64) (n int, err error) {
	return one(ctx, db, countCharges, pgx.StrictNamedArgs{"order": order})
}

// Unfinished is how many requests and messages are not finished.
func Unfinished(ctx context.Context, db *pgxpool.Pool) (n int, err error) {
	return one(ctx, db, countUnfinished, pgx.StrictNamedArgs{})
}

// SetAside is how many messages wait for a person.
func SetAside(ctx context.Context, db *pgxpool.Pool) (n int, err error) {
	return one(ctx, db, countSetAside, pgx.StrictNamedArgs{})
}

func one(ctx context.Context, db *pgxpool.Pool, sql string, args pgx.StrictNamedArgs) (n int, err error) {
	err = db.QueryRow(ctx, sql, args).Scan(&n)
	return n, err
}
