package idempotency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Reader is anything that can read: a pool, a connection, a transaction.
type Reader interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Found is what a key stands for now.
type Found struct {
	ID                 string
	Incarnation        int16
	Method             string
	Path               string
	Flow               FlowVersion
	Fingerprint        []byte
	FingerprintVersion int16
	State              string
	Epoch              int32
	OwnerAlive         bool // somebody drives it: leave it alone
	Response           StoredResponse
	CreatedAt          time.Time
	ExpiresAt          time.Time
	Erased             bool // the answer is no longer what was answered
}

// driven says whether a request is in the hands of a live process. A process
// whose liveness row has lapsed, or is gone, counts as dead; so does one that
// has sat on its lease. If that judgement is wrong, the fence makes it harmless.
const driven = `(r.state = 'running' AND r.lease_until > clock_timestamp()
	AND EXISTS (SELECT FROM workers w WHERE w.id = r.owner AND w.alive_until > clock_timestamp()))`

const findRequest = `
	SELECT clock_timestamp() AS now, r.id, r.incarnation, r.method, r.path, r.flow, r.version, r.fingerprint, r.fingerprint_version,
	       r.state, r.epoch, r.owner_alive, r.status, r.headers, r.body, r.object_id, r.created_at, r.expires_at, r.erased_at IS NOT NULL AS erased
	FROM (VALUES (1)) AS always_one_row (n)
	LEFT JOIN LATERAL (
		SELECT r.*, ` + driven + ` AS owner_alive
		FROM requests r
		WHERE r.account_id = @account_id AND r.livemode = @livemode AND r.key = @key
		ORDER BY r.incarnation DESC LIMIT 1) r ON true`

// Find reads what a key stands for, or nil, and the database's time with it.
// It writes nothing and costs no commit.
func Find(ctx context.Context, db Reader, key Key) (*Found, time.Time, error) {
	rows, err := db.Query(ctx, findRequest, pgx.StrictNamedArgs{
		"account_id": key.AccountID, "livemode": key.Livemode, "key": key.Key})
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("find request: %w", err)
	}
	var now time.Time
	found, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (*Found, error) {
		var id, method, path, flow, state, objectID *string
		var incarnation, version, fingerprintVersion, status *int16
		var epoch *int32
		var alive *bool
		var createdAt, expiresAt *time.Time
		f := &Found{}
		err := row.Scan(&now, &id, &incarnation, &method, &path, &flow, &version, &f.Fingerprint, &fingerprintVersion,
			&state, &epoch, &alive, &status, &f.Response.Headers, &f.Response.Body, &objectID, &createdAt, &expiresAt, &f.Erased)
		if err != nil || id == nil {
			return nil, err
		}
		f.ID, f.Incarnation, f.Method, f.Path = *id, *incarnation, *method, *path
		f.Flow = FlowVersion{*flow, *version}
		f.FingerprintVersion, f.State, f.Epoch, f.OwnerAlive, f.CreatedAt = *fingerprintVersion, *state, *epoch, *alive, *createdAt
		if status != nil {
			f.Response.Status, f.ExpiresAt = int(*status), *expiresAt
		}
		if objectID != nil {
			f.Response.ObjectID = *objectID
		}
		return f, nil
	})
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("find request: %w", err)
	}
	return found, now, nil
}

const lockRequest = `
	SELECT id, epoch, point, state
	FROM requests
	WHERE account_id = @account_id AND livemode = @livemode AND key = @key
	FOR NO KEY UPDATE`

// Whereabouts is where a request really stands, established by writing.
type Whereabouts struct {
	ID    string
	Epoch int32
	Point string
	State string
}

// Establish finds out what became of a commit whose acknowledgement was lost,
// by writing the request's row. A read could show a commit that a fail-over is
// about to undo; the write waits for whoever still holds the row, and its own
// commit covers the earlier one. It returns nil if there is no row.
//
// The write is a row lock: it goes into the log and is flushed and replicated
// like any other, and unlike an UPDATE it is open to finished requests, too.
func Establish(ctx context.Context, db Reader, key Key) (*Whereabouts, error) {
	rows, err := db.Query(ctx, lockRequest, pgx.StrictNamedArgs{
		"account_id": key.AccountID, "livemode": key.Livemode, "key": key.Key})
	if err != nil {
		return nil, fmt.Errorf("establish request: %w", err)
	}
	at, err := pgx.CollectOneRow(rows, pgx.RowToAddrOfStructByName[Whereabouts])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("establish request: %w", err)
	}
	return at, nil
}
