package idempotency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// What an operator may do with a request: look at it, have it retried now, and, if
// Ratchet cannot know whether the acquirer acted, decide that it did not. None of these
// changes a request that a live process executes.

// Summary is all that the rows of a request say, for an operator.
type Summary struct {
	AccountID    string
	ID           string
	Livemode     bool
	Key          string
	KeyGenerated bool
	Method       string
	Path         string
	Flow         string
	Version      int16
	Point        string
	State        string
	Epoch        int32
	Attempts     int32
	HeldReason   *string
	Undecided    bool // held with a call whose outcome is unknown, so that it can be released
	Owner        *string
	OwnerHost    *string // nil when the owner's liveness row is gone
	OwnerPID     *int32
	Executing    bool // by a process that is alive
	LeaseUntil   *time.Time
	DueAt        *time.Time
	CreatedAt    time.Time
	FinishedAt   *time.Time
	ExpiresAt    *time.Time
	Status       *int16
	ObjectID     *string
	Headers      json.RawMessage // of the answer, wherever it is kept
	Body         []byte
	Now          time.Time // the database's time when this was read
}

const summaryColumns = `q.account_id, q.id, q.livemode, q.key, q.key_generated, q.method, q.path, q.flow,
	q.version, coalesce(` + pointOf + `, '') AS point,
	` + stateOf + ` AS state, coalesce(` + epochOf + `, 0) AS epoch, coalesce(r.attempts, a.attempts, 0) AS attempts,
	r.reason AS held_reason, ` + IsUndecided + ` AS undecided, r.owner, w.host AS owner_host,
	w.pid AS owner_pid, ` + IsExecuting + ` AS executing, r.lease_until, r.due_at,
	q.created_at, a.finished_at, a.expires_at, a.status, a.object_id,
	coalesce(a.headers, c.headers) AS headers, coalesce(a.body, c.body) AS body, clock_timestamp() AS now`

const summaryJoins = withRunAndAnswer + `
	LEFT JOIN workers w ON w.id = r.owner
	LEFT JOIN archived_answers c ON c.account_id = q.account_id AND c.request_id = q.id`

const listRequests = `
	SELECT ` + summaryColumns + `
	FROM requests q ` + summaryJoins + `
	WHERE ` + stateOf + ` = ANY (@states::text[]) AND (@account_id = '' OR q.account_id = @account_id)
	ORDER BY q.id
	LIMIT @limit`

// Through the runs, which are few: the requests that have ended are not read.
const listUnfinished = `
	SELECT ` + summaryColumns + `
	FROM runs r
	JOIN requests q ON q.account_id = r.account_id AND q.id = r.request_id
	LEFT JOIN workers w ON w.id = r.owner
	CROSS JOIN (SELECT NULL::text AS request_id, NULL::smallint AS status, NULL::json AS headers, NULL::bytea AS body,
		NULL::text AS object_id, NULL::text[] AS recovery_points, NULL::integer[] AS reached_epochs,
		NULL::integer AS attempts, NULL::timestamptz AS finished_at, NULL::timestamptz AS expires_at,
		NULL::timestamptz AS archived_at) AS a
	CROSS JOIN (SELECT NULL::json AS headers, NULL::bytea AS body) AS c
	WHERE r.state = ANY (@states::text[]) AND (@account_id = '' OR r.account_id = @account_id)
	ORDER BY r.request_id
	LIMIT @limit`

// Unfinished are the states of requests that still have something before them.
func Unfinished() []string { return []string{Running, Parked, Held} }

// List reads requests in any of some states, oldest first, of one account or,
// where accountID is empty, of all.
func List(ctx context.Context, db Reader, states []string, accountID string, limit int) ([]Summary, error) {
	sql := listRequests
	if !slices.Contains(states, Finished) && !slices.Contains(states, Archived) {
		sql = listUnfinished
	}
	return standings(ctx, db, sql, pgx.StrictNamedArgs{"states": states, "account_id": accountID, "limit": limit})
}

// Through the accounts, because no index of requests begins with the id: this
// looks the id up once per account instead of reading all requests.
const lookRequestUp = `
	WITH named AS (
		SELECT q.account_id, q.id FROM accounts m JOIN requests q ON q.account_id = m.id AND q.id = @name
		UNION
		SELECT q.account_id, q.id FROM requests q WHERE q.key = @name
	)
	SELECT ` + summaryColumns + `
	FROM named JOIN requests q USING (account_id, id) ` + summaryJoins + `
	ORDER BY q.id`

// LookUp reads the requests of a name: an id, or an idempotency key, which may
// be in use in several accounts and modes.
func LookUp(ctx context.Context, db Reader, name string) ([]Summary, error) {
	return standings(ctx, db, lookRequestUp, pgx.StrictNamedArgs{"name": name})
}

func standings(ctx context.Context, db Reader, sql string, args pgx.StrictNamedArgs) ([]Summary, error) {
	rows, err := db.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("read requests: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[Summary])
	if err != nil {
		return nil, fmt.Errorf("read requests: %w", err)
	}
	return found, nil
}

// ReachedPoint is a recovery point that a request has passed.
type ReachedPoint struct {
	Point string
	Epoch int32
	At    time.Time
}

const selectRecoveryPoints = `
	SELECT recovery_point AS point, epoch, reached_at AS at FROM request_checkpoints
	WHERE account_id = @account_id AND request_id = @id ORDER BY at`

// RecoveryPoints reads the points that a request has passed, in order.
func RecoveryPoints(ctx context.Context, db Reader, accountID, id string) ([]ReachedPoint, error) {
	rows, err := db.Query(ctx, selectRecoveryPoints, pgx.StrictNamedArgs{"account_id": accountID, "id": id})
	if err != nil {
		return nil, fmt.Errorf("read the recovery points: %w", err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowToStructByName[ReachedPoint])
	if err != nil {
		return nil, fmt.Errorf("read the recovery points: %w", err)
	}
	return lines, nil
}

// RequestCall is one key under which another system was called, and what is known of it.
type RequestCall struct {
	Phase      string
	Generation int16
	DerivedKey string
	SentAt     time.Time
	Attempts   int32
	Outcome    string
	Proof      *string
}

const selectCalls = `
	SELECT phase, generation, derived_key, sent_at, attempts, outcome, proof
	FROM request_calls
	WHERE account_id = @account_id AND request_id = @id
	ORDER BY sent_at, generation`

// Calls reads all calls to other systems for a request.
func Calls(ctx context.Context, db Reader, accountID, id string) ([]RequestCall, error) {
	rows, err := db.Query(ctx, selectCalls, pgx.StrictNamedArgs{"account_id": accountID, "id": id})
	if err != nil {
		return nil, fmt.Errorf("read calls: %w", err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowToStructByName[RequestCall])
	if err != nil {
		return nil, fmt.Errorf("read calls: %w", err)
	}
	return lines, nil
}

// ErrNotYours says that a request is in a state in which a person has nothing to
// do with it: finished, or executed by a live process.
var ErrNotYours = errors.New("the request's state does not allow this")

// A request that needed review gets all its attempts back, because an operator has looked
// at what used them up. Others keep their count. A request whose process has crashed is
// free already, and this records it, no matter what its lease says.
const parkNow = `
	UPDATE runs r
	SET state = 'parked', owner = NULL, lease_until = NULL, due_at = clock_timestamp(), reason = NULL,
	    attempts = CASE state WHEN 'needs_review' THEN 0 WHEN 'running' THEN attempts + 1 ELSE attempts END
	WHERE account_id = @account_id AND request_id = @id
	  AND (state IN ('parked', 'needs_review') OR state = 'running' AND NOT ` + IsExecuting + `)
	RETURNING request_id`

// A run whose process does not know of it, because the answer to a takeover was lost, is as
// good as parked. Nothing was tried, so this does not count as an attempt.
const parkUnexecuted = `
	WITH unexecuted AS (
		SELECT account_id, request_id FROM runs
		WHERE state = 'running' AND owner = @owner AND lease_until < clock_timestamp() + @left::interval
		  AND request_id <> ALL (@executing::text[])
		ORDER BY account_id, request_id
		FOR NO KEY UPDATE SKIP LOCKED
	)
	UPDATE runs r
	SET state = 'parked', owner = NULL, lease_until = NULL, due_at = clock_timestamp()
	FROM unexecuted u
	WHERE r.account_id = u.account_id AND r.request_id = u.request_id AND r.state = 'running'
	RETURNING r.request_id`

// ParkUnexecuted parks the runs that the database counts as owner's, that owner does not
// execute, and that nothing has moved for some time. It returns their requests' IDs.
func ParkUnexecuted(
	ctx context.Context, db Reader, owner string, executing []string, unmoved time.Duration,
) ([]string, error) {
	rows, err := db.Query(ctx, parkUnexecuted, pgx.StrictNamedArgs{
		"owner": owner, "executing": executing, "left": LeaseTime - unmoved})
	if err != nil {
		return nil, fmt.Errorf("park requests without an execution: %w", err)
	}
	parked, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("park requests without an execution: %w", err)
	}
	return parked, nil
}

// ErrNothingToRelease says that a held request has no call whose outcome is unknown: it can only be resumed.
var ErrNothingToRelease = errors.New("no call has an unknown outcome")

// TryNow makes a request due at once that is parked, needs review, or whose process
// is dead. What happens then is up to the completer, or to a retry by the client. It
// fails with ErrNotYours on any other.
func TryNow(ctx context.Context, db Reader, accountID, id string) error {
	rows, err := db.Query(ctx, parkNow, pgx.StrictNamedArgs{"account_id": accountID, "id": id})
	if err != nil {
		return fmt.Errorf("make request due: %w", err)
	}
	_, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrNotYours
	}
	if err != nil {
		return fmt.Errorf("make request due: %w", err)
	}
	return nil
}

const lockHeld = `
	SELECT ` + requestColumns + `
	FROM runs r JOIN requests q ON q.account_id = r.account_id AND q.id = r.request_id
	WHERE r.account_id = @account_id AND r.request_id = @id AND r.state = 'needs_review'
	FOR NO KEY UPDATE OF r`

// Release records an operator's finding that the acquirer did nothing under a
// held request's open key, and will not, announces the next key and makes the
// request due. If the finding is wrong, money moves twice: this is the one place
// where it can. secret keys the derived keys. phase chooses among several open
// calls; with one it may be empty. It returns the retired key and the next one.
func Release(
	ctx context.Context, tx pgx.Tx, secret []byte, accountID, id, phase, proof string,
) (retired, next ForeignCall, err error) {
	rows, err := tx.Query(ctx, lockHeld, pgx.StrictNamedArgs{"account_id": accountID, "id": id})
	if err != nil {
		return ForeignCall{}, ForeignCall{}, fmt.Errorf("lock held request: %w", err)
	}
	r, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[Request])
	if errors.Is(err, pgx.ErrNoRows) {
		return ForeignCall{}, ForeignCall{}, ErrNotYours
	}
	if err != nil {
		return ForeignCall{}, ForeignCall{}, fmt.Errorf("lock held request: %w", err)
	}
	retired, err = openCall(ctx, tx, r, phase)
	if err != nil {
		return ForeignCall{}, ForeignCall{}, err
	}
	next = ForeignCall{Phase: retired.Phase, Generation: retired.Generation + 1, SentAt: r.ResumedAt}
	next.Key = DeriveKey(secret, r, next.Phase, next.Generation)
	for _, s := range []Statement{retire(accountID, id, retired.Phase, proof, false), Announce(r, next)} {
		if _, err := tx.Exec(ctx, s.SQL, s.Args); err != nil {
			return ForeignCall{}, ForeignCall{}, fmt.Errorf("write the proof and announce the next key: %w", err)
		}
	}
	return retired, next, TryNow(ctx, tx, accountID, id)
}

// openCall is the call a decision is about.
func openCall(ctx context.Context, db Reader, r *Request, phase string) (ForeignCall, error) {
	open, err := OpenCalls(ctx, db, r)
	if err != nil {
		return ForeignCall{}, err
	}
	if len(open) == 1 && open[0].Retired {
		return ForeignCall{},
			fmt.Errorf("%w: the last key of request %s is proven unused already: resume it, and the call is "+
				"repeated under the next one", ErrNothingToRelease, r.ID)
	}
	var phases []string
	for _, call := range open {
		if call.Retired {
			continue
		}
		if call.Phase == phase || phase == "" && len(open) == 1 {
			return call, nil
		}
		phases = append(phases, call.Phase)
	}
	if len(phases) == 0 {
		return ForeignCall{},
			fmt.Errorf("%w: there is nothing to decide about request %s", ErrNothingToRelease, r.ID)
	}
	return ForeignCall{},
		fmt.Errorf("request %s has calls with an unknown outcome in the phases %v: name one of them", r.ID, phases)
}
