package idempotency

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const requestColumns = `q.account_id, q.id, q.livemode, q.key, q.key_generated, q.method, q.path,
	q.fingerprint, q.fingerprint_version, q.params, q.context, q.flow, q.version,
	r.recovery_points[cardinality(r.recovery_points)] AS point, r.state_data, r.epoch, r.attempts, q.created_at,
	clock_timestamp() AS resumed_at`

// takeOver raises the epoch, so that the process that drove the request before can no
// longer commit. Taking over from a crashed process counts as an attempt: a request that
// crashes every process ends up in review, not in an endless loop.
const takeOver = `epoch = r.epoch + 1, state = 'running', owner = @owner,
	lease_until = clock_timestamp() + @lease::interval, due_at = NULL,
	attempts = r.attempts + CASE WHEN r.state = 'running' THEN 1 ELSE 0 END`

const resumeRequest = `
	UPDATE runs r SET ` + takeOver + `
	FROM requests q
	WHERE r.account_id = @account_id AND r.request_id = @id AND r.epoch = @epoch
	  AND q.account_id = r.account_id AND q.id = r.request_id
	  AND (r.state = 'parked' OR r.state = 'running' AND NOT ` + IsExecuting + `)
	RETURNING ` + requestColumns

// Resume takes a parked request, or one whose driver is dead, over for a retry
// by its client. It returns nil if another process was quicker.
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

// If the request was not at the point at which the process left it, the process's commit
// has happened, and the connection was lost behind it.
const insertRefusal = `
	INSERT INTO fence_refusals (account_id, request_id, epoch)
	SELECT account_id, request_id, epoch FROM takeovers
	WHERE account_id = @account_id AND request_id = @id AND epoch = @epoch AND lost_by = @owner AND point = @point
	ON CONFLICT DO NOTHING`

// NoteRefusal records that the owner came back after another process had taken the request
// over, and that its commit was refused. It is a note for people: it follows the transaction
// that was rolled back, and nothing depends on it.
func NoteRefusal(ctx context.Context, pool *pgxpool.Pool, r *Request, owner string) error {
	_, err := pool.Exec(ctx, insertRefusal, pgx.StrictNamedArgs{
		"account_id": r.AccountID, "id": r.ID, "epoch": r.Epoch + 1, "owner": owner, "point": r.Point})
	if err != nil {
		return fmt.Errorf("record refusal: %w", err)
	}
	return nil
}

// FlowVersion is a version of an operation that a process knows how to execute.
type FlowVersion struct {
	Flow    string
	Version int16
}

// What the caller already executes for an account counts as that account's earlier turns, so
// free slots rotate among the accounts and do not all go to the one with the most work. Among
// accounts whose turn it is, the longest waiting request is first, so that none starves.
//
// The running ones are read in the order of the primary key, so that the planner uses its
// index: the table itself keeps thousands of ended runs until the next vacuum.
const resumeUnfinished = `
	WITH running AS MATERIALIZED (
		SELECT * FROM runs WHERE state = 'running' ORDER BY account_id, request_id
	), ours AS (
		SELECT r.account_id, count(*) AS turns FROM running r WHERE r.owner = @owner GROUP BY r.account_id
	), waiting AS (
		SELECT r.account_id, r.request_id, r.due_at FROM runs r
		WHERE ` + Due + ` AND ` + known + `
		UNION ALL
		SELECT r.account_id, r.request_id, r.due_at FROM running r WHERE NOT ` + IsExecuting + ` AND ` + known + `
	), fair AS (
		SELECT w.account_id, w.request_id,
		       coalesce(o.turns, 0) + row_number() OVER (PARTITION BY w.account_id
		           ORDER BY w.due_at, w.request_id) AS turn
		FROM waiting w LEFT JOIN ours o USING (account_id)
	), picked AS (
		SELECT r.account_id, r.request_id
		FROM runs r JOIN fair USING (account_id, request_id)
		WHERE r.state IN ('running', 'parked')
		ORDER BY fair.turn, r.due_at NULLS FIRST
		LIMIT @limit
		FOR NO KEY UPDATE OF r SKIP LOCKED
	)
	UPDATE runs r SET ` + takeOver + `
	FROM picked, requests q
	WHERE r.account_id = picked.account_id AND r.request_id = picked.request_id
	  AND q.account_id = picked.account_id AND q.id = picked.request_id
	  AND (` + Due + ` OR r.state = 'running' AND NOT ` + IsExecuting + `)
	RETURNING ` + requestColumns

const known = `(r.flow, r.version) IN (SELECT * FROM unnest(@flows::text[], @versions::smallint[]))`

// ResumeUnfinished takes over up to limit requests that are due or whose driver
// is dead, of the flows the process knows, first those of the accounts for which it
// executes the fewest: one account's thousand parked requests do not make another's
// one wait. In the sessions of db the planner should avoid sequential
// scans (enable_seqscan off).
func ResumeUnfinished(
	ctx context.Context, db Reader, knowing []FlowVersion, owner string, limit int,
) ([]*Request, error) {
	flows, versions := make([]string, 0, len(knowing)), make([]int16, 0, len(knowing))
	for _, k := range knowing {
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
	SELECT c.phase, c.generation, c.key, c.sent_at, false AS retired
	FROM runs r CROSS JOIN LATERAL unnest(r.call_phases, r.call_generations, r.call_keys, r.call_sent_at) AS c (phase,
	    generation, key, sent_at)
	WHERE r.account_id = @account_id AND r.request_id = @id AND c.phase <> ALL (r.recovery_points)
	UNION ALL
	(SELECT DISTINCT ON (c.phase) c.phase, c.generation, c.derived_key, c.sent_at, true
	 FROM runs r JOIN foreign_calls c ON c.account_id = r.account_id AND c.request_id = r.request_id
	 WHERE r.account_id = @account_id AND r.request_id = @id AND c.phase <> ALL (r.call_phases)
	 ORDER BY c.phase, c.generation DESC)`

// OpenCalls are the calls of a request that are still to be answered, each under
// the last key it has been announced under. A retired one needs another key first.
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
