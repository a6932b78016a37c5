package idempotency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// What a person may do with a request: look at it, have it tried again now, and,
// where the machine cannot know whether the other side acted, decide that it did
// not. None of it touches a request that somebody drives.

// Standing is all that a request's row says, for an operator.
type Standing struct {
	AccountID  string
	ID         string
	Livemode   bool
	Key        string
	Keyless    bool
	Method     string
	Path       string
	Flow       string
	Version    int16
	Point      string
	State      string
	Epoch      int32
	Attempts   int32
	HeldReason *string
	Owner      *string
	OwnerHost  *string // nil when the owner's liveness row is gone
	OwnerPID   *int32
	Driven     bool // by a process that is alive
	LeaseUntil *time.Time
	DueAt      *time.Time
	CreatedAt  time.Time
	FinishedAt *time.Time
	ExpiresAt  *time.Time
	Status     *int16
	ObjectID   *string
	Headers    json.RawMessage // of the answer, wherever it is kept
	Body       []byte
	Now        time.Time // the database's time when this was read
}

const standing = `r.account_id, r.id, r.livemode, r.key, r.keyless, r.method, r.path, r.flow, r.version, r.point, r.state, r.epoch, r.attempts,
	r.held_reason, r.owner, w.host AS owner_host, w.pid AS owner_pid, ` + driven + ` AS driven, r.lease_until, r.due_at,
	r.created_at, r.finished_at, r.expires_at, r.status, r.object_id,
	coalesce(r.headers, a.headers) AS headers, coalesce(r.body, a.body) AS body, clock_timestamp() AS now`

const besidesStanding = `LEFT JOIN workers w ON w.id = r.owner
	LEFT JOIN archived_answers a ON a.account_id = r.account_id AND a.request_id = r.id`

const listRequests = `
	SELECT ` + standing + `
	FROM requests r ` + besidesStanding + `
	WHERE r.state = ANY (@states::text[]) AND (@account_id = '' OR r.account_id = @account_id)
	ORDER BY r.id
	LIMIT @limit`

// Unfinished are the states of requests that still have something before them.
func Unfinished() []string { return []string{Running, Parked, Held} }

// List reads requests in any of some states, oldest first, of one account or,
// where accountID is empty, of all.
func List(ctx context.Context, db Reader, states []string, accountID string, limit int) ([]Standing, error) {
	return standings(ctx, db, listRequests, pgx.StrictNamedArgs{"states": states, "account_id": accountID, "limit": limit})
}

// Through the accounts, because no index of requests begins with the id: this
// looks the id up once per account instead of reading all requests.
const lookRequestUp = `
	WITH named AS (
		SELECT r.account_id, r.id FROM accounts m JOIN requests r ON r.account_id = m.id AND r.id = @name
		UNION
		SELECT r.account_id, r.id FROM requests r WHERE r.key = @name
	)
	SELECT ` + standing + `
	FROM named JOIN requests r USING (account_id, id) ` + besidesStanding + `
	ORDER BY r.id`

// LookUp reads the requests of a name: an id, or an idempotency key, which may
// be in use in several accounts and modes.
func LookUp(ctx context.Context, db Reader, name string) ([]Standing, error) {
	return standings(ctx, db, lookRequestUp, pgx.StrictNamedArgs{"name": name})
}

func standings(ctx context.Context, db Reader, sql string, args pgx.StrictNamedArgs) ([]Standing, error) {
	rows, err := db.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("read requests: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[Standing])
	if err != nil {
		return nil, fmt.Errorf("read requests: %w", err)
	}
	return found, nil
}

// JournalLine is a recovery point that a request has passed.
type JournalLine struct {
	Point string
	Epoch int32
	At    time.Time
}

const journalLines = `SELECT point, epoch, at FROM journal WHERE account_id = @account_id AND request_id = @id ORDER BY at`

// Journal reads the points a request has passed, in order.
func Journal(ctx context.Context, db Reader, accountID, id string) ([]JournalLine, error) {
	rows, err := db.Query(ctx, journalLines, pgx.StrictNamedArgs{"account_id": accountID, "id": id})
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowToStructByName[JournalLine])
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	return lines, nil
}

// CallLine is one key under which another system was asked, and what is known of it.
type CallLine struct {
	Phase      string
	Generation int16
	DerivedKey string
	AskedAt    time.Time
	Sends      int32
	Verdict    string
	Evidence   *string
}

const callLines = `
	SELECT phase, generation, derived_key, asked_at, sends, verdict, evidence
	FROM calls
	WHERE account_id = @account_id AND request_id = @id
	ORDER BY asked_at, generation`

// Calls reads everything that was asked of other systems for a request.
func Calls(ctx context.Context, db Reader, accountID, id string) ([]CallLine, error) {
	rows, err := db.Query(ctx, callLines, pgx.StrictNamedArgs{"account_id": accountID, "id": id})
	if err != nil {
		return nil, fmt.Errorf("read calls: %w", err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowToStructByName[CallLine])
	if err != nil {
		return nil, fmt.Errorf("read calls: %w", err)
	}
	return lines, nil
}

// ErrNotYours says that a request is in a state in which a person has nothing to
// do with it: finished, or being driven.
var ErrNotYours = errors.New("the request is not in a state for this")

// A held request gets all its attempts back: a person has looked at what used
// them up. A parked one keeps counting.
const parkNow = `
	UPDATE requests
	SET state = 'parked', due_at = clock_timestamp(), held_reason = NULL, attempts = CASE state WHEN 'held' THEN 0 ELSE attempts END
	WHERE account_id = @account_id AND id = @id AND state IN ('parked', 'held')
	RETURNING id`

// TryNow makes a parked or held request due at once. What happens then is up to
// the completer, or to a retry by the client. It fails with ErrNotYours on any other.
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
	FROM requests r
	WHERE r.account_id = @account_id AND r.id = @id AND r.state = 'held'
	FOR NO KEY UPDATE`

const proveUnused = `
	UPDATE calls SET verdict = 'not_executed', evidence = @evidence
	WHERE account_id = @account_id AND request_id = @id AND phase = @phase AND generation = @generation AND verdict = 'unknown'`

// Release records a person's finding that the other side did nothing under a
// held request's open key, and will not, announces the next key and makes the
// request due. If the finding is wrong, money moves twice: this is the one place
// where it can. secret keys the derived keys. phase chooses among several open
// calls; with one it may be empty. It returns the key that is spent and the next one.
func Release(ctx context.Context, tx pgx.Tx, secret []byte, accountID, id, phase, evidence string) (spent, next ForeignCall, err error) {
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
	spent, err = openCall(ctx, tx, r, phase)
	if err != nil {
		return ForeignCall{}, ForeignCall{}, err
	}
	next = ForeignCall{Phase: spent.Phase, Generation: spent.Generation + 1, AskedAt: r.ResumedAt}
	next.Key = DeriveKey(secret, r, next.Phase, next.Generation)
	_, err = tx.Exec(ctx, proveUnused, pgx.StrictNamedArgs{
		"account_id": accountID, "id": id, "phase": spent.Phase, "generation": spent.Generation, "evidence": evidence})
	if err != nil {
		return ForeignCall{}, ForeignCall{}, fmt.Errorf("write the evidence: %w", err)
	}
	_, err = tx.Exec(ctx, announceGeneration, pgx.StrictNamedArgs{
		"account_id": accountID, "id": id, "phase": next.Phase, "generation": next.Generation, "derived_key": next.Key})
	if err != nil {
		return ForeignCall{}, ForeignCall{}, fmt.Errorf("announce the next key: %w", err)
	}
	return spent, next, TryNow(ctx, tx, accountID, id)
}

// openCall is the call a decision is about.
func openCall(ctx context.Context, db Reader, r *Request, phase string) (ForeignCall, error) {
	open, err := OpenCalls(ctx, db, r)
	if err != nil {
		return ForeignCall{}, err
	}
	if len(open) == 1 && open[0].Retired {
		return ForeignCall{}, fmt.Errorf("the last key of request %s is proven unused already: resume it, and it is asked under the next one", r.ID)
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
		return ForeignCall{}, fmt.Errorf("request %s has no call without a verdict: there is nothing to decide", r.ID)
	}
	return ForeignCall{}, fmt.Errorf("request %s has calls without a verdict in the phases %v: name one of them", r.ID, phases)
}
