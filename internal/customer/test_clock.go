package customer

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func init() {
	resource.Register(resource.Kind{
		Object: "test_helpers.test_clock",
		Prefix: "clock",
		Table:  "test_clocks",
		Load:   resource.LoadWith[TestClock](testClocksByID),
	})
}

// TestClock moves an account's test mode ahead in time: by FrozenTime less
// StartedAt. The account is ahead by as much as its furthest clock, deleted ones
// included, so time never goes back.
type TestClock struct {
	AccountID  string
	ID         string
	Livemode   bool
	RequestID  string
	Name       *string
	StartedAt  time.Time
	FrozenTime time.Time
	Status     string
	AdvancedAt time.Time // by our own clock
	CreatedAt  time.Time
	DeletedAt  *time.Time
}

// The states of a clock. An advancing one waits until all that its new time
// makes due has been done.
const (
	clockReady     = "ready"
	clockAdvancing = "advancing"
)

// clocksLiveFor is how long Stripe keeps a clock. Here it is only shown.
const clocksLiveFor = 30 * 24 * time.Hour

// TestClockObject is a test clock on the wire.
type TestClockObject struct {
	ID            string        `json:"id"`
	Object        string        `json:"object"`
	Created       int64         `json:"created"`
	DeletesAfter  int64         `json:"deletes_after"`
	FrozenTime    int64         `json:"frozen_time"`
	Livemode      bool          `json:"livemode"`
	Name          *string       `json:"name"`
	Status        string        `json:"status"`
	StatusDetails statusDetails `json:"status_details"`
}

type statusDetails struct {
	Advancing *advancingDetails `json:"advancing,omitempty"`
}

type advancingDetails struct {
	TargetFrozenTime int64 `json:"target_frozen_time"`
}

// Render is the object as API responses show it, before anything in it is expanded.
func (c *TestClock) Render() any { return c.object() }

func (c *TestClock) object() TestClockObject {
	o := TestClockObject{
		ID:           c.ID,
		Object:       "test_helpers.test_clock",
		Created:      resource.Unix(c.CreatedAt),
		DeletesAfter: resource.Unix(c.CreatedAt.Add(clocksLiveFor)),
		FrozenTime:   resource.Unix(c.FrozenTime),
		Livemode:     c.Livemode,
		Name:         c.Name,
		Status:       c.Status,
	}
	if c.Status == clockAdvancing {
		o.StatusDetails.Advancing = &advancingDetails{resource.Unix(c.FrozenTime)}
	}
	return o
}

const selectTestClocks = `
	SELECT account_id, id, livemode, request_id, name, started_at, frozen_time, status, advanced_at, created_at,
	       deleted_at
	FROM test_clocks
	WHERE account_id = @account_id AND livemode = @livemode AND deleted_at IS NULL`

const (
	testClockByID           = selectTestClocks + ` AND id = @id`
	testClocksByID          = selectTestClocks + ` AND id = ANY (@ids::text[])`
	lockTestClock           = testClockByID + ` FOR NO KEY UPDATE`
	listTestClocks          = selectTestClocks + resource.NewestFirst
	listTestClocksBackwards = selectTestClocks + resource.OldestFirst
)

func findTestClock(
	ctx context.Context, db phase.Reader, sql string, v resource.Principal, id string,
) (*TestClock, error) {
	clock, err := resource.Get[TestClock](ctx, db, sql, v, id)
	if err == nil && clock == nil {
		return nil, apierror.NotFound("test clock", "test_clock", id)
	}
	return clock, err
}

// RetrieveTestClock answers GET /v1/test_helpers/test_clocks/{test_clock}.
func RetrieveTestClock(ctx context.Context, db phase.Reader, v resource.Principal, in resource.Retrieve) (any, error) {
	clock, err := findTestClock(ctx, db, testClockByID, v, in.ID)
	if err != nil {
		return nil, err
	}
	return resource.Expand(ctx, db, v, in.Expand, clock.Render())
}

// ListTestClocksParams are the parameters of GET /v1/test_helpers/test_clocks.
type ListTestClocksParams struct{ resource.List }

// ListTestClocks answers GET /v1/test_helpers/test_clocks.
func ListTestClocks(ctx context.Context, db phase.Reader, v resource.Principal, in ListTestClocksParams) (any, error) {
	return resource.ListPage[TestClock](ctx, db, v, in.List, resource.Listing{
		URL:    "/v1/test_helpers/test_clocks",
		Object: "test clock",
		Newest: listTestClocks,
		Oldest: listTestClocksBackwards,
		ByID:   testClockByID,
		Prefix: "clock",
	})
}

// CreateTestClockParams are what POST /v1/test_helpers/test_clocks takes.
type CreateTestClockParams struct {
	FrozenTime int64       `form:"frozen_time,required" min:"1" max:"253402300799"`
	Name       *string     `form:"name" max:"300"`
	Expand     form.Expand `form:"expand"`
}

const testClockCreated = "test_clock_created"

const insertTestClock = `
	INSERT INTO test_clocks (account_id, id, livemode, request_id, name, started_at, frozen_time, advanced_at,
		created_at)
	VALUES (@account_id, @id, @livemode, @request_id, @name, @started_at, @started_at, @created_at, @created_at)`

// CreateTestClock makes a clock. It moves nothing before it is advanced.
var CreateTestClock = phase.Define("test_clock.create", 1,
	phase.Atomic(testClockCreated, makeTestClock),
).Check(func(_ context.Context, _ phase.Reader, caller phase.Check, _ *CreateTestClockParams) error {
	return onlyInTestMode(caller)
})

func onlyInTestMode(caller phase.Check) error {
	if caller.Livemode {
		return apierror.Invalid("", "Test clocks are only available in test mode. Use a test mode API key.")
	}
	return nil
}

func makeTestClock(ctx context.Context, tx *phase.Tx, in CreateTestClockParams, _ *struct{}) (phase.Outcome, error) {
	at := time.Unix(in.FrozenTime, 0).UTC()
	clock := TestClock{
		AccountID: tx.AccountID, ID: id.New("clock", tx.Now()), RequestID: tx.RequestID, Name: in.Name,
		StartedAt: at, FrozenTime: at, Status: clockReady, AdvancedAt: tx.Now(), CreatedAt: tx.Now(),
	}
	tx.Write(insertTestClock, pgx.StrictNamedArgs{
		"account_id": clock.AccountID,
		"id":         clock.ID,
		"livemode":   clock.Livemode,
		"request_id": clock.RequestID,
		"name":       clock.Name,
		"started_at": clock.StartedAt,
		"created_at": clock.CreatedAt,
	})
	event.Emit(tx, "test_helpers.test_clock.created", clock.ID, clock.Render(), nil)
	return replyWithTestClock(ctx, tx, in.Expand, &clock)
}

func replyWithTestClock(ctx context.Context, tx *phase.Tx, paths form.Expand, clock *TestClock) (phase.Outcome, error) {
	return resource.Reply(ctx, tx, paths, clock.ID, clock.Render())
}
