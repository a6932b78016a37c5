package webhook

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/logline"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// Deliverer delivers events. Any number of processes may have one.
type Deliverer struct {
	pool     *pgxpool.Pool
	config   Config
	keys     secret.Keys
	owner    string
	sender   *Sender
	render   Render
	disabled Disabled
	observe  Observe
	log      *slog.Logger
}

// Render makes the body that tells an endpoint of an event. version is the API
// version that the endpoint was made with; nil is the account's.
type Render func(
	ctx context.Context, pool *pgxpool.Pool, to EndpointKey, livemode bool, version *string, eventID string,
) ([]byte, error)

// Disabled tells the merchant, in the same transaction, that an endpoint has been disabled.
type Disabled func(ctx context.Context, tx pgx.Tx, endpoint EndpointKey, requestID string) error

// Observe receives the outcome of an attempt.
type Observe func(Result)

// Parts are what a Deliverer is made of.
type Parts struct {
	Pool     *pgxpool.Pool
	Config   Config
	Keys     secret.Keys // the installation's, for webhooks
	Owner    string      // this process's liveness id
	Render   Render
	Disabled Disabled
	Observe  Observe // nil: not observed
	Log      *slog.Logger
}

// NewDeliverer returns a deliverer. It sends nothing until it is given a delivery.
func NewDeliverer(p Parts) *Deliverer {
	if p.Observe == nil {
		p.Observe = func(Result) {}
	}
	return &Deliverer{pool: p.Pool, config: p.Config, keys: p.Keys, owner: p.Owner, sender: NewSender(p.Config),
		render: p.Render, disabled: p.Disabled, observe: p.Observe, log: p.Log}
}

const (
	// turn is how many deliveries one job makes before others get a chance.
	turn = 50
	// recordWithin bounds writing an outcome down during shutdown.
	recordWithin = 5 * time.Second
)

// Deliver delivers what is due to an endpoint, one after the other, until there is
// nothing more, or ctx ends, or others should have their turn: then it returns
// true, and the caller hands the rest on. What has been begun is brought to its end
// even when ctx ends.
func (d *Deliverer) Deliver(ctx context.Context, key EndpointKey) (more bool, err error) {
	for range turn {
		if ctx.Err() != nil {
			return true, nil
		}
		c, err := d.claim(ctx, key)
		if err != nil || c == nil {
			return false, err
		}
		if err := d.attempt(context.WithoutCancel(ctx), c); err != nil {
			return false, err
		}
	}
	return true, nil
}

// attempt sends a delivery that is claimed, and records how it went, with a line
// in the log.
func (d *Deliverer) attempt(ctx context.Context, c *claimed) (err error) {
	line := logline.Begin("delivery")
	line.Add(slog.String("account", c.AccountID), slog.String("endpoint", c.EndpointID),
		slog.String("event", c.EventID), slog.Int("attempt", int(c.Attempt)))
	result := d.send(ctx, c)
	ctx, cancel := context.WithTimeout(ctx, recordWithin)
	defer cancel()
	state, err := d.record(ctx, c, result)
	d.observe(result)
	line.Add(slog.Int("status", result.Status), slog.String("state", state),
		slog.Int64("endpoint_ms", result.Duration.Milliseconds()))
	line.Fail(err)
	if result.Error != "" {
		line.Add(slog.String("reason", result.Error))
	}
	line.Write(ctx, d.log, slog.LevelInfo)
	return err
}

// send says how the endpoint took an event. One that cannot be rendered has failed
// like one that was not taken: it goes its way through the schedule, and others
// pass it.
func (d *Deliverer) send(ctx context.Context, c *claimed) Result {
	body, err := d.render(ctx, d.pool, c.EndpointKey, c.Livemode, c.APIVersion, c.EventID)
	if err != nil {
		d.log.ErrorContext(ctx, "cannot render an event", "event", c.EventID, "account", c.AccountID, "error", err)
		return Result{Error: "the event cannot be rendered"}
	}
	return d.sender.Send(ctx, c.URL, body, Sign(body, c.SignedAt, c.Secrets...))
}
