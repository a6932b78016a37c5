package phase_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// Courier is another system. Its adapter honors the permit: the same key never
// sends two parcels.
type Courier interface {
	Send(ctx context.Context, permit phase.Permit, address string) (tracking string, err error)
}

// CourierPort declares the courier, which remembers a key for a day.
var CourierPort = phase.NewPort[Courier]("courier", 24*time.Hour)

// OrderParams is what a caller asks for, and orderState what the phases tell each other.
type (
	OrderParams struct{ Address string }
	orderState  struct{ Tracking string }
	// Order is what a caller receives.
	Order struct {
		Tracking string `json:"tracking"`
	}
)

// CreateOrder sends a parcel once, whichever process crashes on the way.
var CreateOrder = phase.Define("order.create", 1,
	phase.Atomic("order_recorded", recordParcel),
	phase.Foreign("parcel_sent", CourierPort, sendParcel),
	phase.Atomic("order_finished", finishOrder),
)

func recordParcel(_ context.Context, tx *phase.Tx, in OrderParams, _ *orderState) (phase.Outcome, error) {
	tx.WriteOne(`INSERT INTO parcels (id, address) VALUES (@id, @address)`,
		pgx.StrictNamedArgs{"id": tx.RequestID, "address": in.Address})
	return phase.Next, nil
}

func sendParcel(ctx context.Context, call phase.ForeignCall[Courier], in OrderParams, s *orderState) (err error) {
	s.Tracking, err = call.To().Send(ctx, call.Permit, in.Address)
	return err
}

func finishOrder(_ context.Context, tx *phase.Tx, _ OrderParams, s *orderState) (phase.Outcome, error) {
	tx.WriteOne(`UPDATE parcels SET tracking = @tracking WHERE id = @id`,
		pgx.StrictNamedArgs{"id": tx.RequestID, "tracking": s.Tracking})
	return phase.Reply(http.StatusCreated, tx.RequestID, Order{Tracking: s.Tracking}), nil
}

// forgetful is a courier whose first answers are lost on the way back.
type forgetful struct {
	sent map[string]string // by key
	lose int
}

func (c *forgetful) Send(_ context.Context, permit phase.Permit, address string) (string, error) {
	if _, done := c.sent[permit.Key()]; !done {
		fmt.Println("courier: sends a parcel to", address)
		c.sent[permit.Key()] = "parcel-1"
	}
	if c.lose--; c.lose >= 0 {
		return "", errors.New("connection reset")
	}
	return c.sent[permit.Key()], nil
}

// A complete program: an operation with a foreign call, an engine, and a client
// that retries until it has a response. The courier's first two answers are lost,
// so the engine parks the request; the retry finishes it, and sends no second parcel.
func Example() {
	ctx := context.Background()
	pool, drop := pgtest.Example(ctx)
	defer drop()
	_, err := pool.Exec(ctx, `CREATE TABLE parcels (id text PRIMARY KEY, address text NOT NULL, tracking text)`)
	check(err)
	_, err = pool.Exec(ctx, `INSERT INTO accounts (id, name) VALUES ('acct_1', 'A shop')`)
	check(err)

	process, err := idempotency.NewLiveness(ctx, pool, "example")
	check(err)
	engine := phase.NewEngine(phase.Config{Pool: pool, Secret: []byte("the installation's secret"), Owner: process.ID})
	phase.Connect[Courier](engine, CourierPort, &forgetful{sent: map[string]string{}, lose: 2})
	check(engine.Register(ctx, CreateOrder))

	for attempt := 1; attempt <= 3; attempt++ {
		in := OrderParams{Address: "1 Main Street"}
		response, err := CreateOrder.Serve(ctx, engine, phase.Request{
			Caller: phase.Caller{AccountID: "acct_1", RequestID: fmt.Sprintf("req_%d", attempt), Key: "order-42"},
			Method: http.MethodPost, Path: "/orders", Fingerprint: []byte(in.Address),
		}, in)
		var refusal *phase.Refusal
		if errors.As(err, &refusal) {
			fmt.Printf("attempt %d: %s\n", attempt, refusal.Reason)
			continue
		}
		check(err)
		fmt.Printf("attempt %d: %d %s, replayed: %v\n", attempt, response.Status, response.Body, response.Replayed)
	}
	// Output:
	// courier: sends a parcel to 1 Main Street
	// attempt 1: unfinished
	// attempt 2: 201 {"tracking":"parcel-1"}, replayed: false
	// attempt 3: 201 {"tracking":"parcel-1"}, replayed: true
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
