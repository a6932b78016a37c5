package idempotency

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const requestColumns = `r.account_id, r.id, r.livemode, r.key, r.incarnation, r.keyless, r.method, r.path, r.fingerprint, r.fingerprint_version,
	r.params, r.context, r.flow, r.version, r.point, r.ord, r.memo, r.epoch, r.attempts, r.created_at, clock_timestamp() AS resumed_at`

// takeOver raises the epoch, so that whoever drove the request before can no
// longer commit. Taking over from a dead process counts as an attempt: work
// that kills whoever touches it ends up held, not in an endless loop.
const takeOver = `epoch = r.epoch + 1, state = 'running', owner = @owner, lease_until = clock_timestamp() + @lease::interval,
	due_at = NULL, attempts = r.attempts + CASE WHEN r.state = 'running' THEN 1 ELSE 0 END`

const resumeRequest = `
	UPDATE requests r SET ` + takeOver + `
	WHERE r.account_id = @account_id AND r.id = @id AND r.epoch = @epoch
	  AND (r.state = 'parked' OR r.state = 'running' AND NOT ` + driven + `)
	RETURNING ` + requestColumns

// Resume takes a parked request, or one whose driver is dead, over for a retry
// by its client. It returns nil if somebody else was quicker.
func Resume(ctx context.Context, db Reader, accountID, id string, epoch int32, owner string) (*Request, error) {
	rows, err := db.Query(ctx, resumeRequest, pgx.StrictNamedArgs{
		"account_id": accountID, "id": id, "epoch": epoch, "owner": owner, "lease": LeaseTime})
	if err != nil {
		return nil, fmt.Errorf("resume request: %w", err)
	}
	r, err := pgx.CollectOneRow(rows, pgx.RowToAddrOfStructByName[Request])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("resume request: %w", err)
	}
	return r, nil
}

// FlowVersion is a version of an operation that a process knows how to drive.
type FlowVersion struct {
	Flow    string
	Version int16
}

// What the caller drives for an account counts as its earlier turns: the places that
// become free go round among the accounts, and not to the one with the most work. Of
// those whose turn it is, who has waited longest is first: nobody waits for ever.
const resumeUnfinished = `
	WITH ours AS (
		SELECT r.account_id, count(*) AS turns FROM requests r WHERE r.state = 'running' AND r.owner = @owner GROUP BY r.account_id
	), fair AS (
		SELECT r.account_id, r.id, coalesce(o.turns, 0) + row_number() OVER (PARTITION BY r.account_id ORDER BY r.due_at, r.id) AS turn
		FROM requests r LEFT JOIN ours o USING (account_id)
		WHERE r.state IN ('running', 'parked', 'held')
		  AND (r.state = 'parked' AND r.due_at <= clock_timestamp() OR r.state = 'running' AND NOT ` + driven + `)
		  AND (r.flow, r.version) IN (SELECT * FROM unnest(@flows::text[], @versions::smallint[]))
	), picked AS (
		SELECT r.account_id, r.id
		FROM requests r JOIN fair USING (account_id, id)
		WHERE r.state IN ('running', 'parked')
		ORDER BY fair.turn, r.due_at NULLS FIRST
		LIMIT @limit
		FOR NO KEY UPDATE OF r SKIP LOCKED
	)
	UPDATE requests r SET ` + takeOver + `
	FROM picked
	WHERE r.account_id = picked.account_id AND r.id = picked.id
	  AND (r.state = 'parked' AND r.due_at <= clock_timestamp() OR r.state = 'running' AND NOT ` + driven + `)
	RETURNING ` + requestColumns

// ResumeUnfinished takes over up to limit requests that are due or whose driver
// is dead, of the flows the process knows, first those of the accounts for which it
// drives the fewest: one account's thousand parked requests do not make another's
// one wait.
func ResumeUnfinished(ctx context.Context, db Reader, known []FlowVersion, owner string, limit int) ([]*Request, error) {
	flows, versions := make([]string, 0, len(known)), make([]int16, 0, len(known))
	for _, k := range known {
		flows, versions = append(flows, k.Flow), append(versions, k.Version)
	}
	rows, err := db.Query(ctx, resumeUnfinished, pgx.StrictNamedArgs{
		"flows": flows, "versions": versions, "owner": owner, "lease": LeaseTime, "limit": limit})
	if err != nil {
		return nil, fmt.Errorf("resume unfinished requests: %w", err)
	}
	taken, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Request])
	if err != nil {
		return nil, fmt.Errorf("resume unfinished requests: %w", err)
	}
	return taken, nil
}

const openCalls = `
	SELECT phase, generation, key, asked_at, verdict = 'not_executed' AS spent
	FROM (
		SELECT DISTINCT ON (phase) phase, generation, derived_key AS key, asked_at, verdict
		FROM calls
		WHERE account_id = @account_id AND request_id = @id
		ORDER BY phase, generation DESC) AS latest
	WHERE verdict <> 'executed'`

// OpenCalls are the calls of a request that are still to be answered, each under
// the last key it has been announced under. A spent one needs another key first.
func OpenCalls(ctx context.Context, db Reader, r *Request) ([]ForeignCall, error) {
	rows, err := db.Query(ctx, openCalls, pgx.StrictNamedArgs{"account_id": r.AccountID, "id": r.ID})
	if err != nil {
		return nil, fmt.Errorf("read open calls: %w", err)
	}
	calls, err := pgx.CollectRows(rows, pgx.RowToStructByName[ForeignCall])
	if err != nil {
		return nil, fmt.Errorf("read open calls: %w", err)
	}
	return calls, nil
}
