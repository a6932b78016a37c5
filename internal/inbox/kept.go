package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// The states of a message.
const (
	Applied  = "applied"
	Waiting  = "waiting"
	SetAside = "set_aside"
)

// Kept is a message as the inbox has it.
type Kept struct {
	Source     string
	EventID    string
	Kind       string
	Digest     []byte
	Body       []byte
	State      string
	Reason     *string
	Attempts   int32
	DueAt      *time.Time
	AccountID  *string
	RequestID  *string // of the request that did what it says
	ReceivedAt time.Time
	// messages that came under its id and say something else, and that no operator has acknowledged
	Contradictions int64
	Now            time.Time
}

func (k *Kept) message() Message {
	return Message{Source: k.Source, EventID: k.EventID, Kind: k.Kind, Body: k.Body, Digest: k.Digest}
}

// account is whose the message is, where that is known.
func (k *Kept) account() string {
	if k.AccountID == nil {
		return ""
	}
	return *k.AccountID
}

const unacknowledged = `NOT EXISTS (SELECT FROM inbox_acknowledgments k
	WHERE k.source = c.source AND k.event_id = c.event_id AND k.digest = c.digest)`

const selectKept = `
	SELECT m.source, m.event_id, m.kind, m.digest, m.body, m.state, m.reason, m.attempts, m.due_at, m.account_id,
	       m.request_id, m.received_at,
	       (SELECT count(*) FROM inbox_contradictions c
	           WHERE c.source = m.source AND c.event_id = m.event_id AND ` + unacknowledged + `) AS contradictions,
	       clock_timestamp() AS now
	FROM inbox m`

const (
	keptByID = selectKept + ` WHERE m.source = @source AND m.event_id = @event_id`

	// The names of the few that need an operator come from two indexes. As one
	// condition on a message, they would cost reading all that were ever applied.
	listKept = selectKept + `
	JOIN (SELECT source, event_id FROM inbox WHERE state <> 'applied'
	      UNION SELECT source, event_id FROM inbox_contradictions c
	      WHERE ` + unacknowledged + `) wanted USING (source, event_id)` + inOrder
	// The IDs of the acquirer's messages are in order of time, and the primary key has that order.
	listAll = selectKept + ` ORDER BY m.source, m.event_id LIMIT @limit`
	inOrder = ` ORDER BY m.received_at LIMIT @limit`

	dueKept = selectKept + ` WHERE m.state = 'waiting' AND m.due_at <= statement_timestamp() ORDER BY m.due_at
		LIMIT @limit`
)

func (b *Inbox) find(ctx context.Context, m Message) (*Kept, error) {
	rows, err := b.pool.Query(ctx, keptByID, postgres.Args{"source": m.Source, "event_id": m.EventID})
	if err != nil {
		return nil, fmt.Errorf("find a message: %w", err)
	}
	found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[Kept])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find a message: %w", err)
	}
	return found, nil
}

// Querier is a pool or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// List reads the messages that wait, are set aside, or were contradicted, in the
// order they came: and with all, those that were applied, too, in the order of their IDs.
func List(ctx context.Context, db Querier, all bool, limit int) ([]Kept, error) {
	sql := listKept
	if all {
		sql = listAll
	}
	rows, err := db.Query(ctx, sql, postgres.Args{"limit": limit})
	if err != nil {
		return nil, fmt.Errorf("list messages: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[Kept])
	if err != nil {
		return nil, fmt.Errorf("list messages: %w", err)
	}
	return found, nil
}

// ErrNothingToRetry says that no message of this name waits or is set aside.
var ErrNothingToRetry = errors.New("message not found among those that are waiting or set aside")

const makeDue = `
	UPDATE inbox SET state = 'waiting', due_at = clock_timestamp(), reason = coalesce(reason, '')
	WHERE event_id = @event_id AND state <> 'applied'
	RETURNING event_id`

// Retry makes a message due at once; a worker applies it. It belongs into a
// transaction with the audit row of the operator.
func Retry(ctx context.Context, db Querier, eventID string) error {
	rows, err := db.Query(ctx, makeDue, postgres.Args{"event_id": eventID})
	if err != nil {
		return fmt.Errorf("make a message due: %w", err)
	}
	_, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrNothingToRetry
	}
	if err != nil {
		return fmt.Errorf("make a message due: %w", err)
	}
	return nil
}

// ErrNoContradiction says that nothing contradicts a message of this name, or that
// all of it has been acknowledged.
var ErrNoContradiction = errors.New("no unacknowledged message contradicts this one")

const acknowledgeContradictions = `
	INSERT INTO inbox_acknowledgments (source, event_id, digest, acknowledged_by, because)
	SELECT source, event_id, digest, @by, @because FROM inbox_contradictions c
	WHERE event_id = @event_id AND ` + unacknowledged + `
	ON CONFLICT DO NOTHING
	RETURNING encode(digest, 'hex')`

// Acknowledge records that a person has looked at what contradicts a message, and
// why that is in order. It returns the digests of what was acknowledged. A message that
// comes later and says something else again is a new contradiction. It belongs into a
// transaction with its audit row.
func Acknowledge(ctx context.Context, db Querier, eventID, by, because string) (digests []string, err error) {
	rows, err := db.Query(ctx, acknowledgeContradictions,
		postgres.Args{"event_id": eventID, "by": by, "because": because})
	if err != nil {
		return nil, fmt.Errorf("acknowledge a contradiction: %w", err)
	}
	digests, err = pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("acknowledge a contradiction: %w", err)
	}
	if len(digests) == 0 {
		return nil, ErrNoContradiction
	}
	return digests, nil
}

// dueAtOnce bounds how many waiting messages one look tries.
const dueAtOnce = 32

// A message never waits longer than longestWait. A time that lies further ahead was
// set before the database's clock fell back, and has come.
const recallFromAhead = `
	UPDATE inbox SET due_at = statement_timestamp()
	WHERE state = 'waiting' AND due_at > statement_timestamp() + @longest::interval * 1.1`

// ApplyDue tries the messages whose time has come. Several processes may do so
// at once: a message is applied once however many try. A message whose rows are
// locked, for example, does not hold up the others.
func (b *Inbox) ApplyDue(ctx context.Context) (tried int, err error) {
	if _, err := b.pool.Exec(ctx, recallFromAhead, postgres.Args{"longest": longestWait}); err != nil {
		return 0, fmt.Errorf("repair due times after the clock was set back: %w", err)
	}
	rows, err := b.pool.Query(ctx, dueKept, postgres.Args{"limit": dueAtOnce})
	if err != nil {
		return 0, fmt.Errorf("find due messages: %w", err)
	}
	due, err := pgx.CollectRows(rows, pgx.RowToStructByName[Kept])
	if err != nil {
		return 0, fmt.Errorf("find due messages: %w", err)
	}
	for n, k := range due {
		if ctx.Err() != nil {
			return n, nil // the next round finds the rest
		}
		switch failed := b.try(ctx, k.message()); {
		case failed == nil, errors.Is(failed, ErrContradiction):
		case postgres.ConnectionLost(failed):
			return n, failed
		default:
			err = errors.Join(err, failed)
		}
	}
	return len(due), err
}
