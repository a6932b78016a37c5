package idempotency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Reader is anything that can read: a pool, a connection, a transaction.
type Reader interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Lookup is the present state of a key.
type Lookup struct {
	ID                 string
	Method             string
	Path               string
	Flow               FlowVersion
	Fingerprint        []byte
	FingerprintVersion int16
	State              string
	Epoch              int32
	OwnerAlive         bool // a live process executes it: leave it alone
	Response           StoredResponse
	CreatedAt          time.Time
	ExpiresAt          time.Time
	Erased             bool // the answer is no longer what was answered
	Replicated         bool // a commit waits for a synchronous standby: a read may see what a failover undoes
}

// Alive says whether a process (w, of workers) lives. One whose row has expired, or is
// gone, counts as dead; so does one whose row lies further ahead than any process
// sets it: the clock has fallen back since. If that judgment is wrong, the fence
// makes it harmless.
const Alive = `is_ahead(w.alive_until, '1 s')`

// IsExecuting says whether a run (r) is in the hands of a live process that has not sat
// on its lease.
const IsExecuting = `(r.state = 'running' AND is_ahead(r.lease_until, '30 s')
	AND EXISTS (SELECT FROM workers w WHERE w.id = r.owner AND ` + Alive + `))`

// Due says whether a run (r) is parked and has waited long enough.
const Due = `(r.state = 'parked' AND is_due(r.due_at, '5 min'))`

// IsUndecided says whether a run (r) is held with a call whose outcome is unknown, so that it can be released.
const IsUndecided = `(r.state = 'needs_review' AND EXISTS (
	SELECT FROM unnest(r.call_phases) AS c (phase) WHERE c.phase <> ALL (r.recovery_points)))`

// stateOf names the state of a request q from its run r and its answer a.
const stateOf = `CASE WHEN r.request_id IS NOT NULL THEN r.state WHEN a.archived_at IS NOT NULL THEN 'archived'
	WHEN a.request_id IS NOT NULL THEN 'finished' ELSE 'damaged' END`

// epochOf and pointOf are its present epoch and recovery point, or its last ones.
const (
	epochOf = `coalesce(r.epoch, a.reached_epochs[cardinality(a.reached_epochs)])`
	pointOf = `coalesce(r.recovery_points[cardinality(r.recovery_points)],
		a.recovery_points[cardinality(a.recovery_points)])`
)

// withRunAndAnswer joins a request q with its run r and its answer a, of which it has one.
const withRunAndAnswer = `LEFT JOIN runs r ON r.account_id = q.account_id AND r.request_id = q.id
	LEFT JOIN answers a ON a.account_id = q.account_id AND a.request_id = q.id`

// One statement and so one snapshot: no finish can happen between the look at the
// run and the look at the answer. It takes keys as rows, and returns one row for each,
// in their order.
const findRequests = `
	SELECT clock_timestamp() AS now, q.id, q.method, q.path, q.flow, q.version, q.fingerprint, q.fingerprint_version,
	       ` + stateOf + ` AS state, ` + epochOf + ` AS epoch, ` + IsExecuting + ` AS owner_alive,
	       a.status, a.headers, a.body, a.object_id, q.created_at, a.expires_at, a.redacted_at IS NOT NULL AS erased,
	       current_setting('synchronous_standby_names') <> '' AS replicated
	FROM unnest(@account_id::text[], @livemode::boolean[], @key::text[]) WITH ORDINALITY AS m (account_id, livemode,
	    key, n)
	LEFT JOIN requests q ON q.account_id = m.account_id AND q.livemode = m.livemode AND q.key = m.key
	` + withRunAndAnswer + `
	ORDER BY m.n`

// Finding is what looking a key up yields.
type Finding struct {
	Found *Lookup   // nil: the key has not been used
	Now   time.Time // the database's time
	Err   error     // ErrDamaged, where rows are lost
}

// FindAll reads what keys stand for, in their order. It writes nothing and costs no
// commit.
//
// Where commits wait for a synchronous standby, a read may show what only this server
// has, if a client canceled that wait. FindReplicated does not.
func FindAll(ctx context.Context, db Reader, keys ...Key) ([]Finding, error) {
	rows, err := db.Query(ctx, findRequests, postgres.RowsOf(keys...))
	if err != nil {
		return nil, fmt.Errorf("find request: %w", err)
	}
	findings, err := pgx.CollectRows(rows, findingIn)
	if err != nil {
		return nil, fmt.Errorf("find request: %w", err)
	}
	return findings, nil
}

// Find is FindAll of one key.
func Find(ctx context.Context, db Reader, key Key) (*Lookup, time.Time, error) {
	findings, err := FindAll(ctx, db, key)
	if err != nil {
		return nil, time.Time{}, err
	}
	return findings[0].Found, findings[0].Now, findings[0].Err
}

// FindReplicated is Find in a transaction that also writes. Its commit waits for the
// standby, which by then has everything that the transaction saw. It fails if the
// standby does not answer until ctx ends.
func FindReplicated(ctx context.Context, pool *pgxpool.Pool, key Key) (*Lookup, error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("find request: %w", err)
	}
	defer conn.Release()
	var finding Finding
	batch := &pgx.Batch{}
	batch.Queue(findRequests, postgres.RowsOf(key)).Query(func(rows pgx.Rows) (err error) {
		finding, err = pgx.CollectExactlyOneRow(rows, findingIn)
		return err
	})
	batch.Queue(writeMessage)
	if err := postgres.SendBatch(ctx, conn.Conn(), batch); err != nil {
		return nil, fmt.Errorf("find request: %w", err)
	}
	return finding.Found, finding.Err
}

func findingIn(row pgx.CollectableRow) (finding Finding, err error) {
	var id, method, path, flow, state, objectID *string
	var version, fingerprintVersion, status *int16
	var epoch *int32
	var alive *bool
	var createdAt, expiresAt *time.Time
	f := &Lookup{}
	err = row.Scan(&finding.Now, &id, &method, &path, &flow, &version, &f.Fingerprint, &fingerprintVersion,
		&state, &epoch, &alive, &status, &f.Response.Headers, &f.Response.Body, &objectID, &createdAt, &expiresAt,
		&f.Erased, &f.Replicated)
	switch {
	case err != nil || id == nil:
		return finding, err
	case *state == damaged:
		finding.Err = fmt.Errorf("find request: request %s: %w", *id, ErrDamaged)
		return finding, nil
	}
	f.ID, f.Method, f.Path = *id, *method, *path
	f.Flow = FlowVersion{*flow, *version}
	f.FingerprintVersion = *fingerprintVersion
	f.State = *state
	f.Epoch = *epoch
	f.OwnerAlive = *alive
	f.CreatedAt = *createdAt
	if status != nil {
		f.Response.Status, f.ExpiresAt = int(*status), *expiresAt
	}
	if objectID != nil {
		f.Response.ObjectID = *objectID
	}
	finding.Found = f
	return finding, nil
}

// damaged is the state of a request that has neither a run nor an answer.
const damaged = "damaged"

const (
	// The lock waits for a transaction that is about to finish or advance the run.
	lockRun = `
	SELECT r.request_id
	FROM requests q JOIN runs r ON r.account_id = q.account_id AND r.request_id = q.id
	WHERE q.account_id = @account_id AND q.livemode = @livemode AND q.key = @key
	FOR UPDATE OF r`

	// A finished run leaves nothing to lock. The message makes the transaction write
	// all the same, so that its commit waits for a synchronous standby.
	writeMessage = `SELECT pg_logical_emit_message(true, 'ratchet', '')`

	readCommitStatus = `
	SELECT q.id, ` + epochOf + ` AS epoch, ` + pointOf + ` AS point, ` + stateOf + ` AS state
	FROM requests q ` + withRunAndAnswer + `
	WHERE q.account_id = @account_id AND q.livemode = @livemode AND q.key = @key`
)

// CommitStatus is the committed state of a request, established by writing.
type CommitStatus struct {
	ID    string
	Epoch int32
	Point string
	State string
}

// ResolveCommit finds out what became of a commit whose acknowledgment was lost, in one
// transaction that waits for the holder of the run's lock, writes, and then reads. A
// read alone could show a commit that a failover is about to undo; here the commit of
// the write covers the earlier one. It returns nil if there is no row.
//
// Each of the three statements sees what was committed before it, and the last one
// reads run and answer in one snapshot.
func ResolveCommit(ctx context.Context, pool *pgxpool.Pool, key Key) (*CommitStatus, error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("resolve commit: %w", err)
	}
	defer conn.Release()
	return resolveCommit(ctx, conn.Conn(), key)
}

func resolveCommit(ctx context.Context, conn *pgx.Conn, key Key) (*CommitStatus, error) {
	args := pgx.StrictNamedArgs{"account_id": key.AccountID, "livemode": key.Livemode, "key": key.Key}
	batch := &pgx.Batch{}
	batch.Queue(lockRun, args)
	batch.Queue(writeMessage)
	var at *CommitStatus
	batch.Queue(readCommitStatus, args).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectOneRow(rows, scanCommitStatus)
		if !errors.Is(err, pgx.ErrNoRows) {
			at = found
			return err
		}
		return nil
	})
	if err := postgres.SendBatch(ctx, conn, batch); err != nil {
		return nil, fmt.Errorf("resolve commit: %w", err)
	}
	return at, nil
}

func scanCommitStatus(row pgx.CollectableRow) (*CommitStatus, error) {
	var at CommitStatus
	var epoch *int32
	var point *string
	if err := row.Scan(&at.ID, &epoch, &point, &at.State); err != nil {
		return nil, err
	}
	if at.State == damaged {
		return nil, fmt.Errorf("request %s: %w", at.ID, ErrDamaged)
	}
	at.Epoch, at.Point = *epoch, *point
	return &at, nil
}
