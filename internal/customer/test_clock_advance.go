package customer

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// A clock is ready when every process knows of its new time (they remember for
// two seconds who a key belongs to) and nothing that has become due is undone.
const clocksToSetReady = `WITH ` + resource.WithClocks + `
	SELECT c.account_id, c.livemode, ` + resource.MerchantColumns + `, k.ahead, c.id, c.advanced_at
	FROM test_clocks c
	JOIN clocks k ON k.account_id = c.account_id
	JOIN accounts a ON a.id = c.account_id
	WHERE c.status = 'advancing' AND c.advanced_at < clock_timestamp() - interval '3 seconds'
	  AND NOT EXISTS (SELECT FROM payouts p
	      WHERE p.account_id = c.account_id AND p.livemode = c.livemode AND p.status IN ('pending', 'in_transit')
	        AND CASE p.status WHEN 'pending' THEN p.departs_at ELSE p.arrives_at END <= clock_timestamp() + k.ahead)
	  AND NOT EXISTS (SELECT FROM charges h
	      WHERE h.account_id = c.account_id AND h.livemode = c.livemode AND NOT h.captured AND h.amount_refunded = 0
	        AND h.capture_before <= clock_timestamp() + k.ahead
	        AND NOT EXISTS (SELECT FROM refunds r WHERE r.account_id = h.account_id AND r.charge_id = h.id))
	  AND balance_available_key(c.account_id, c.livemode) IS NULL
	LIMIT @limit`

// ReadyTestClocks marks each advanced test clock as ready once its objects have caught up, and returns how many. The
// worker calls it again and again; after a crash, the next call finds the same clocks.
func ReadyTestClocks(ctx context.Context, e *phase.Engine, db *pgxpool.Pool) (done int, err error) {
	type due struct {
		resource.Task
		ID         string
		AdvancedAt time.Time
	}
	found, err := resource.QueryDue[due](ctx, db, clocksToSetReady)
	if err != nil {
		return 0, err
	}
	return resource.ForEach(ctx, found, func(c due) error {
		key := fmt.Sprintf("%s is ready after %d", c.ID, c.AdvancedAt.UnixMicro())
		return resource.RunJob(ctx, e, SetTestClockReady, c.Task, key, clockID{c.ID})
	})
}

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
		"account_id":  c.AccountID,
		"id":          c.ID,
		"frozen_time": c.FrozenTime,
		"status":      c.Status,
		"now":         tx.Now(),
		"deleted_at":  c.DeletedAt,
	})
}

// AdvanceTestClock moves the account's test mode ahead. Money becomes available
// with the commit; the clock stays "advancing" until the worker has done the rest.
var AdvanceTestClock = phase.Define("test_clock.advance", 1,
	phase.Atomic(testClockAdvanced, advanceTestClock),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *AdvanceTestClockParams) error {
	_, err := findTestClock(ctx, db, testClockByID, resource.PrincipalOfCheck(caller), in.ID)
	return err
})

// furthestAdvance bounds one step of a clock, so that a slip of the hand does not
// carry an account out of the calendar: as far as two yearly subscriptions.
const furthestAdvance = 2 * 366 * 24 * time.Hour

func advanceTestClock(
	ctx context.Context, tx *phase.Tx, in AdvanceTestClockParams, _ *struct{},
) (phase.Outcome, error) {
	clock, err := findTestClock(ctx, tx, lockTestClock, resource.PrincipalOf(tx.Caller), in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	to := time.Unix(in.FrozenTime, 0).UTC()
	switch {
	case clock.Status != clockReady:
		return phase.Refuse(clock.ID,
			apierror.Invalid("", "Test clock %s is still advancing. Wait until its status is ready.", clock.ID)), nil
	case !to.After(clock.FrozenTime):
		return phase.Refuse(clock.ID,
			apierror.Invalid("frozen_time", "The new time must be later than the clock's current time, %d.",
				resource.Unix(clock.FrozenTime))), nil
	case to.Sub(clock.FrozenTime) > furthestAdvance:
		return phase.Refuse(clock.ID,
			apierror.Invalid("frozen_time", "A test clock can be advanced by two years at most.")), nil
	}
	clock.FrozenTime, clock.Status = to, clockAdvancing
	clock.turn(tx)
	event.Emit(tx, "test_helpers.test_clock.advancing", clock.ID, clock.Render(), nil)
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
	_, err := findTestClock(ctx, db, testClockByID, resource.PrincipalOfCheck(caller), in.ID)
	return err
})

func deleteTestClock(ctx context.Context, tx *phase.Tx, in DeleteTestClockParams, _ *struct{}) (phase.Outcome, error) {
	clock, err := findTestClock(ctx, tx, lockTestClock, resource.PrincipalOf(tx.Caller), in.ID)
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
	event.Emit(tx, "test_helpers.test_clock.deleted", clock.ID, clock.Render(), nil)
	return phase.OK(clock.ID, Deleted{clock.ID, "test_helpers.test_clock", true}), nil
}

const lockCustomersOfClock = selectCustomers + ` AND deleted_at IS NULL AND test_clock = @test_clock ORDER BY id
	FOR NO KEY UPDATE`

func customersOf(ctx context.Context, tx *phase.Tx, clock string) ([]*Customer, error) {
	args := resource.PrincipalOf(tx.Caller).Args()
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
	phase.Atomic(testClockReady, func(
		ctx context.Context, tx *phase.Tx, in clockID, _ *struct{},
	) (phase.Outcome, error) {
		clock, err := findTestClock(ctx, tx, lockTestClock, resource.PrincipalOf(tx.Caller), in.ID)
		if err != nil {
			return phase.Outcome{}, err
		}
		if clock.Status != clockAdvancing {
			return phase.Outcome{}, apierror.Locked()
		}
		clock.Status = clockReady
		clock.turn(tx)
		event.Emit(tx, "test_helpers.test_clock.ready", clock.ID, clock.Render(), nil)
		return phase.OK(clock.ID, clock.Render()), nil
	}),
)
