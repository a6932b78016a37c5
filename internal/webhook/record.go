package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

const endAttempt = `
	UPDATE webhook_attempts
	SET ended_at = clock_timestamp(), status = @status, headers = @headers, body = @body, error = @error,
	    duration_ms = @duration_ms
	WHERE account_id = @account_id AND event_id = @event_id AND endpoint_id = @endpoint_id AND attempt = @attempt
	  AND ended_at IS NULL`

// The number of the attempt is the fence: if the sweep took the claim away and
// another worker has claimed it, that worker's outcome decides. An acknowledgment
// always counts. A delivery that was resent meanwhile starts over.
const endDelivery = `
	UPDATE webhook_deliveries
	SET state = CASE WHEN resent THEN 'pending' ELSE @state END,
	    failures = CASE WHEN resent THEN 0 ELSE failures + @failed END,
	    due_at = CASE WHEN resent THEN clock_timestamp() ELSE clock_timestamp() + @pause::interval END,
	    ended_at = CASE WHEN NOT resent AND @state <> 'pending' THEN clock_timestamp() END,
	    claimed_by = NULL, claimed_until = NULL, resent = false
	WHERE account_id = @account_id AND event_id = @event_id AND endpoint_id = @endpoint_id AND state = 'pending'
	  AND (attempts = @attempt OR @state = 'succeeded')
	RETURNING state, due_at`

// overtaken is no state of a delivery, but what the log says of who lost one.
const overtaken = "overtaken"

const failuresSoFar = `
	SELECT failures FROM webhook_deliveries
	WHERE account_id = @account_id AND event_id = @event_id AND endpoint_id = @endpoint_id`

const answersAgain = `
	UPDATE webhook_endpoints SET failing_since = NULL
	WHERE account_id = @account_id AND id = @endpoint_id AND failing_since IS NOT NULL`

const beganToFail = `
	UPDATE webhook_endpoints SET failing_since = clock_timestamp()
	WHERE account_id = @account_id AND id = @endpoint_id AND failing_since IS NULL`

const disableDead = `
	UPDATE webhook_endpoints SET status = 'disabled', changed_at = clock_timestamp()
	WHERE account_id = @account_id AND id = @endpoint_id AND status = 'enabled' AND deleted_at IS NULL
	  AND failing_since < clock_timestamp() - @disable_after::interval
	RETURNING failing_since, clock_timestamp() AS now`

// wakeLater is a job that River starts when its time comes.
const wakeLater = `
	INSERT INTO river.river_job (kind, args, queue, max_attempts, scheduled_at)
	VALUES (@kind, jsonb_build_object('account_id', @account_id::text, 'endpoint_id', @endpoint_id::text), @queue, 3,
		@at)`

// record stores how an attempt ended and what follows from it, in one
// transaction: the delivery's end or its next time, the job for then, and the
// endpoint's own state. It returns the delivery's state, "overtaken" if another worker
// decides about it.
func (d *Deliverer) record(ctx context.Context, c *claimed, r Result) (state string, err error) {
	err = pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, endAttempt, c.attemptArgs(r)); err != nil {
			return err
		}
		var err error
		if state, err = d.endDelivery(ctx, tx, c, r.OK()); err != nil {
			return err
		}
		if r.OK() {
			_, err := tx.Exec(ctx, answersAgain, c.endpointArgs())
			return err
		}
		if _, err := tx.Exec(ctx, beganToFail, c.endpointArgs()); err != nil {
			return err
		}
		return d.disable(ctx, tx, c)
	})
	if err != nil {
		return "", fmt.Errorf("record attempt %d of %s to %s: %w", c.Attempt, c.EventID, c.EndpointKey, err)
	}
	return state, nil
}

func (c *claimed) endpointArgs() postgres.Args {
	return postgres.Args{"account_id": c.AccountID, "endpoint_id": c.EndpointID}
}

func (c *claimed) attemptArgs(r Result) postgres.Args {
	args := c.endpointArgs()
	args["event_id"], args["attempt"], args["duration_ms"] = c.EventID, c.Attempt, r.Duration.Milliseconds()
	args["status"], args["headers"], args["body"], args["error"] = nil, nil, nil, nil
	if r.Error != "" {
		args["error"] = r.Error
	}
	if r.Status != 0 {
		headers, _ := json.Marshal(r.Headers) // texts
		args["status"], args["headers"], args["body"] = r.Status, string(headers), r.Body
	}
	return args
}

func (d *Deliverer) endDelivery(ctx context.Context, tx pgx.Tx, c *claimed, ok bool) (state string, err error) {
	args := c.endpointArgs()
	args["event_id"] = c.EventID
	var failures int32
	if err := tx.QueryRow(ctx, failuresSoFar, args).Scan(&failures); err != nil {
		return "", err
	}
	state = Succeeded
	args["attempt"], args["failed"], args["pause"] = c.Attempt, 0, nil
	if !ok {
		state, args["failed"] = Failed, 1
		if pause, again := d.config.pause(failures + 1); again {
			state, args["pause"] = Pending, pause
		}
	}
	args["state"] = state
	rows, err := tx.Query(ctx, endDelivery, args)
	if err != nil {
		return "", err
	}
	left, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[struct {
		State string
		DueAt *time.Time
	}])
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return overtaken, nil
	case err != nil:
		return "", err
	case left.DueAt == nil:
		return left.State, nil
	}
	return left.State, d.wakeAt(ctx, tx, c.EndpointKey, *left.DueAt)
}

func (d *Deliverer) wakeAt(ctx context.Context, tx pgx.Tx, key EndpointKey, at time.Time) error {
	_, err := tx.Exec(ctx, wakeLater, postgres.Args{
		"kind": Wake{}.Kind(), "queue": Queue, "account_id": key.AccountID, "endpoint_id": key.EndpointID, "at": at})
	return err
}

// disable ends an endpoint that has only failed for too long. Its merchant finds
// the event, its operator the audit row.
func (d *Deliverer) disable(ctx context.Context, tx pgx.Tx, c *claimed) error {
	after := d.config.disableAfter()
	if after == Never {
		return nil
	}
	args := c.endpointArgs()
	args["disable_after"] = after
	rows, err := tx.Query(ctx, disableDead, args)
	if err != nil {
		return err
	}
	ended, err := pgx.CollectRows(rows, pgx.RowToStructByName[struct{ FailingSince, Now time.Time }])
	if err != nil || len(ended) == 0 {
		return err
	}
	since, actID := ended[0].FailingSince, id.New("op", ended[0].Now)
	d.log.WarnContext(ctx, "webhook endpoint disabled: all deliveries failed", "endpoint", c.EndpointID, "account",
		c.AccountID, "since", since)
	err = audit.RecordOperator(ctx, tx, audit.OperatorAct{
		User:      "ratchet work",
		Operation: "webhook_endpoint.disable",
		AccountID: c.AccountID,
		Livemode:  c.Livemode,
		RequestID: actID,
		ObjectID:  c.EndpointID,
		Details:   map[string]any{"failing_since": since},
	})
	if err != nil {
		return err
	}
	return d.disabled(ctx, tx, c.EndpointKey, actID)
}
