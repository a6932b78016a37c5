package payments

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// AdvanceTestClockParams are what POST /v1/test_helpers/test_clocks/{test_clock}/advance takes.
type AdvanceTestClockParams struct {
	ID         string      `path:"test_clock"`
	FrozenTime int64       `form:"frozen_time,required" min:"1" max:"253402300799"`
	Expand     form.Expand `form:"expand"`
}

// The recovery points of a clock.
const (
	testClockAdvanced = "test_clock_advanced"
	testClockReady    = "test_clock_ready"
	testClockDeleted  = "test_clock_deleted"
)

const turnTestClock = `
	UPDATE test_clocks SET frozen_time = @frozen_time, status = @status, advanced_at = @now, deleted_at = @deleted_at
	WHERE account_id = @account_id AND id = @id`

func (c *TestClock) turn(tx *phase.Tx) {
	tx.WriteOne(turnTestClock, pgx.StrictNamedArgs{
		"account_id": c.AccountID, "id": c.ID, "frozen_time": c.FrozenTime, "status": c.Status, "now": tx.Now(), "deleted_at": c.DeletedAt})
}

// AdvanceTestClock moves the account's test mode ahead. Money becomes available
// with the commit; the clock stays "advancing" until the worker has done the rest.
var AdvanceTestClock = phase.Define("test_clock.advance", 1,
	phase.Atomic(testClockAdvanced, advanceTestClock),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *AdvanceTestClockParams) error {
	_, err := findTestClock(ctx, db, testClockByID, viewerOf(caller), in.ID)
	return err
})

// furthestAdvance bounds one step of a clock, so that a slip of the hand does not
// carry an account out of the calendar: as far as two yearly subscriptions.
const furthestAdvance = 2 * 366 * 24 * time.Hour

func advanceTestClock(ctx context.Context, tx *phase.Tx, in AdvanceTestClockParams, _ *struct{}) (phase.Outcome, error) {
	clock, err := findTestClock(ctx, tx, lockTestClock, viewer(tx.Caller), in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	to := time.Unix(in.FrozenTime, 0).UTC()
	switch {
	case clock.Status != clockReady:
		return phase.Refuse(clock.ID, apierror.Invalid("", "Test clock %s is still advancing. Wait until its status is ready.", clock.ID)), nil
	case !to.After(clock.FrozenTime):
		return phase.Refuse(clock.ID, apierror.Invalid("frozen_time", "The new time must be later than the clock's current time, %d.", unix(clock.FrozenTime))), nil
	case to.Sub(clock.FrozenTime) > furthestAdvance:
		return phase.Refuse(clock.ID, apierror.Invalid("frozen_time", "A test clock can be advanced by two years at most.")), nil
	}
	clock.FrozenTime, clock.Status = to, clockAdvancing
	clock.turn(tx)
	emit(tx, "test_helpers.test_clock.advancing", clock.ID, clock.wire(), nil)
	return replyWithTestClock(ctx, tx, in.Expand, clock)
}

// DeleteTestClockParams are what DELETE /v1/test_helpers/test_clocks/{test_clock} takes.
type DeleteTestClockParams struct {
	ID string `path:"test_clock"`
}

// DeleteTestClock removes a clock from sight, and the customers that were made for
// it. The time it has brought stays.
var DeleteTestClock = phase.Define("test_clock.delete", 1,
	phase.Atomic(testClockDeleted, deleteTestClock),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *DeleteTestClockParams) error {
	_, err := findTestClock(ctx, db, testClockByID, viewerOf(caller), in.ID)
	return err
})

func deleteTestClock(ctx context.Context, tx *phase.Tx, in DeleteTestClockParams, _ *struct{}) (phase.Outcome, error) {
	clock, err := findTestClock(ctx, tx, lockTestClock, viewer(tx.Caller), in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	customers, err := customersOf(ctx, tx, clock.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	for _, customer := range customers {
		if err := customer.remove(ctx, tx); err != nil {
			return phase.Outcome{}, err
		}
	}
	now := tx.Now()
	clock.DeletedAt, clock.Status = &now, clockReady
	clock.turn(tx)
	emit(tx, "test_helpers.test_clock.deleted", clock.ID, clock.wire(), nil)
	return phase.OK(clock.ID, Deleted{clock.ID, "test_helpers.test_clock", true}), nil
}

const lockCustomersOfClock = selectCustomers + ` AND deleted_at IS NULL AND test_clock = @test_clock ORDER BY id FOR NO KEY UPDATE`

func customersOf(ctx context.Context, tx *phase.Tx, clock string) ([]*Customer, error) {
	args := viewer(tx.Caller).args()
	args["test_clock"] = clock
	rows, err := tx.Query(ctx, lockCustomersOfClock, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Customer])
}

type clockID struct{ ID string }

// SetTestClockReady ends an advance.
var SetTestClockReady = phase.Define("test_clock.ready", 1,
	phase.Atomic(testClockReady, func(ctx context.Context, tx *phase.Tx, in clockID, _ *struct{}) (phase.Outcome, error) {
		clock, err := findTestClock(ctx, tx, lockTestClock, viewer(tx.Caller), in.ID)
		if err != nil {
			return phase.Outcome{}, err
		}
		if clock.Status != clockAdvancing {
			return phase.Outcome{}, apierror.Locked()
		}
		clock.Status = clockReady
		clock.turn(tx)
		emit(tx, "test_helpers.test_clock.ready", clock.ID, clock.wire(), nil)
		return phase.OK(clock.ID, clock.wire()), nil
	}),
)
