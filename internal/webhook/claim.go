package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

const (
	// lanes is how many deliveries of one endpoint are under way at a time, in all
	// workers together. One that has just failed gets one: while it is away its
	// events wait for it, and not for one time-out each.
	lanes        = 8
	failingLanes = 1
	// claimTime is how long a claim holds without an outcome: several time-outs. A
	// worker that dies is noticed much sooner, by its liveness row.
	claimTime = time.Minute
	// cancelAtOnce bounds how many deliveries of an endpoint that is gone are
	// written off in one statement.
	cancelAtOnce = 500
)

// claimed is a delivery in our hands.
type claimed struct {
	EndpointKey
	Livemode   bool
	APIVersion *string // of the endpoint's events; nil is the account's
	EventID    string
	URL        string
	Attempt    int32
	Secrets    []string
	SignedAt   time.Time
}

// endpoint is what a claim needs to know of one.
type endpoint struct {
	URL              string
	Livemode         bool
	APIVersion       *string
	Enabled          bool
	FailingSince     *time.Time
	SecretGeneration int32
	SecretVersion    int16
	PreviousVersion  int16
	PreviousIsValid  bool
}

// One worker at a time looks for work of an endpoint, so that the lanes can be
// counted. A second worker leaves: the first continues until nothing is due. The API
// server that has a listener's socket delivers to it, until the listener ends.
const lockEndpoint = `
	SELECT url, livemode, api_version, status = 'enabled'
	       AND deleted_at IS NULL AS enabled, failing_since, secret_generation, secret_version,
	           previous_secret_version AS previous_version,
	           coalesce(previous_secret_until > clock_timestamp(), false) AS previous_is_valid
	FROM webhook_endpoints
	WHERE account_id = @account_id AND id = @endpoint_id AND NOT (listener AND deleted_at IS NULL)
	FOR NO KEY UPDATE SKIP LOCKED`

// StartAttempts is the end of a statement that has chosen deliveries as "next". It claims them, and records an attempt
// for each before the attempt is made.
const StartAttempts = `, claimed AS (
		UPDATE webhook_deliveries d
		SET attempts = d.attempts + 1, claimed_by = @owner, claimed_until = clock_timestamp() + @claim_time::interval
		FROM next
		WHERE (d.account_id, d.event_id, d.endpoint_id) = (next.account_id, next.event_id, next.endpoint_id)
		RETURNING d.account_id, d.event_id, d.endpoint_id, d.attempts
	)
	INSERT INTO webhook_attempts (account_id, event_id, endpoint_id, attempt, started_at)
	SELECT account_id, event_id, endpoint_id, attempts, clock_timestamp() FROM claimed
	RETURNING event_id, attempt, started_at`

const claimDelivery = `
	WITH next AS (
		SELECT account_id, event_id, endpoint_id
		FROM webhook_deliveries
		WHERE account_id = @account_id AND endpoint_id = @endpoint_id AND state = 'pending' AND claimed_by IS NULL
		  AND due_at <= statement_timestamp()
		  AND @lanes > (SELECT count(*) FROM webhook_deliveries
		                WHERE account_id = @account_id AND endpoint_id = @endpoint_id AND claimed_by IS NOT NULL)
		ORDER BY due_at
		LIMIT 1
		FOR NO KEY UPDATE SKIP LOCKED
	)` + StartAttempts

const cancelDue = `
	UPDATE webhook_deliveries
	SET state = 'canceled', due_at = NULL, ended_at = clock_timestamp()
	WHERE (account_id, event_id, endpoint_id) IN (
		SELECT account_id, event_id, endpoint_id FROM webhook_deliveries
		WHERE account_id = @account_id AND endpoint_id = @endpoint_id AND state = 'pending' AND claimed_by IS NULL
		  AND due_at <= statement_timestamp()
		ORDER BY due_at LIMIT @limit FOR NO KEY UPDATE SKIP LOCKED)`

// A claim that a crash of the database forgets has sent nothing that is not sent again.
const claimsNeedNoFlush = `SET LOCAL synchronous_commit = off`

// claim takes the endpoint's next delivery, or nil if none is due, enough are
// under way, or the endpoint receives no more events.
func (d *Deliverer) claim(ctx context.Context, key EndpointKey) (c *claimed, err error) {
	err = pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, claimsNeedNoFlush); err != nil {
			return err
		}
		to, err := lockedEndpoint(ctx, tx, key)
		if err != nil || to == nil {
			return err
		}
		if !to.Enabled {
			_, err := tx.Exec(ctx, cancelDue,
				postgres.Args{"account_id": key.AccountID, "endpoint_id": key.EndpointID, "limit": cancelAtOnce})
			return err
		}
		c, err = d.claimFor(ctx, tx, key, to)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim a delivery to %s: %w", key, err)
	}
	return c, nil
}

func lockedEndpoint(ctx context.Context, tx pgx.Tx, key EndpointKey) (*endpoint, error) {
	rows, err := tx.Query(ctx, lockEndpoint, postgres.Args{"account_id": key.AccountID, "endpoint_id": key.EndpointID})
	if err != nil {
		return nil, err
	}
	to, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[endpoint])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return to, err
}

func (d *Deliverer) claimFor(ctx context.Context, tx pgx.Tx, key EndpointKey, to *endpoint) (*claimed, error) {
	limit := lanes
	if to.FailingSince != nil {
		limit = failingLanes
	}
	c := &claimed{
		EndpointKey: key,
		Livemode:    to.Livemode,
		APIVersion:  to.APIVersion,
		URL:         to.URL,
	}
	var err error
	if c.Secrets, err = to.secrets(d.keys, key); err != nil {
		return nil, err
	}
	err = tx.QueryRow(ctx, claimDelivery, postgres.Args{
		"account_id":  key.AccountID,
		"endpoint_id": key.EndpointID,
		"lanes":       limit,
		"owner":       d.owner,
		"claim_time":  claimTime,
	}).Scan(&c.EventID, &c.Attempt, &c.SignedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return c, err
}

// secrets are the signing secrets of an endpoint that are valid now, newest first.
func (e *endpoint) secrets(keys secret.Keys, of EndpointKey) ([]string, error) {
	key, err := keys.Version(e.SecretVersion)
	if err != nil {
		return nil, err
	}
	all := []string{Secret(key, of, e.SecretGeneration)}
	if e.PreviousIsValid {
		if key, err = keys.Version(e.PreviousVersion); err != nil {
			return nil, err
		}
		all = append(all, Secret(key, of, e.SecretGeneration-1))
	}
	return all, nil
}
