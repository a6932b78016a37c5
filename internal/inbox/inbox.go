// Package inbox takes messages from sources that deliver at least once, in any
// order, and has each of them take effect once.
//
//	            Receive
//	(nothing) ───────────▶ applied       the effect and this row in one transaction
//	    │                     ▲
//	    ├──▶ waiting ─────────┤          it came before what it speaks of
//	    └──▶ set aside ───────┘          it cannot be done; a person looks, and retries
//
// A message is applied by a flow of the engine like any other change: the first
// transaction of that flow begins with Take, which writes the row here, or ends
// the transaction if another one has. The source may be HTTP today and a broker
// tomorrow: in any case it acknowledges when Receive returns nil.
package inbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Message is something that was said to us, and by whom. It travels through the
// parameters of the flow that applies it.
type Message struct {
	Source  string `json:"source"`
	EventID string `json:"event_id"` // the source's own, the same at every delivery
	Kind    string `json:"kind"`
	Body    []byte `json:"-"` // as it was signed, byte for byte
	Digest  []byte `json:"digest"`
}

// New is a message as it came in.
func New(source, eventID, kind string, body []byte) Message {
	sum := sha256.Sum256(body)
	return Message{Source: source, EventID: eventID, Kind: kind, Body: body, Digest: sum[:]}
}

// Apply does what a message says, in a flow that Takes it. Its error says what
// is to become of the message: NotYet, Refused, or anything else for "try again".
type Apply func(ctx context.Context, m Message) error

// NotYet says that what the message speaks of is not here.
func NotYet(format string, args ...any) error { return &notYet{fmt.Sprintf(format, args...)} }

// Refused says that the message cannot be done, now or ever.
func Refused(format string, args ...any) error { return &refused{fmt.Sprintf(format, args...)} }

type notYet struct{ reason string }

func (e *notYet) Error() string { return e.reason }

type refused struct{ reason string }

func (e *refused) Error() string { return e.reason }

// ErrContradiction says that a message came under a known id and says something
// else. It has been written down, and nothing was done.
var ErrContradiction = errors.New("another message has this event ID")

// Inbox takes messages.
type Inbox struct {
	pool  *pgxpool.Pool
	apply Apply
	log   *slog.Logger
}

// Open makes an inbox whose messages are applied by apply.
func Open(pool *pgxpool.Pool, apply Apply, log *slog.Logger) *Inbox {
	return &Inbox{pool: pool, apply: apply, log: log}
}

// Receive returns nil once the message is safe: applied, now or before, or kept
// for later. After ErrContradiction there is no use in sending it again; after
// any other error nothing is stored and the source has to.
//
// A crash at any line leaves either nothing or the message applied with its effect.
func (b *Inbox) Receive(ctx context.Context, m Message) error {
	known, err := b.find(ctx, m)
	if err != nil {
		return err
	}
	switch {
	case known == nil:
	case !bytes.Equal(known.Digest, m.Digest):
		return b.alarm(ctx, m, known)
	case known.State == Applied:
		return nil
	}
	return b.try(ctx, m)
}

// try applies a message that is not applied yet, or keeps it for later.
func (b *Inbox) try(ctx context.Context, m Message) error {
	cause := b.apply(ctx, m)
	if cause == nil {
		return nil
	}
	if postgres.IsTransient(cause) || ctx.Err() != nil {
		return cause // nothing is known of it here: the source says it again
	}
	known, err := b.find(ctx, m)
	switch {
	case err != nil:
		return err
	case known != nil && !bytes.Equal(known.Digest, m.Digest):
		return b.alarm(ctx, m, known)
	case known != nil && known.State == Applied:
		return nil // another process was faster, and the guard stopped us
	}
	return b.keep(ctx, m, cause)
}

const (
	// firstWait and longestWait bound the pause before a waiting message is tried again.
	firstWait, longestWait = 250 * time.Millisecond, 5 * time.Minute
	// maxWait is how long a message may wait for what it speaks of, or for an
	// error to go away, before a person has to look.
	maxWait = 24 * time.Hour
)

const keepMessage = `
	INSERT INTO inbox (source, event_id, kind, digest, body, state, reason, due_at)
	VALUES (@source, @event_id, @kind, @digest, @body, @state, @reason,
		CASE WHEN @state = 'waiting' THEN clock_timestamp() + @first::interval END)
	ON CONFLICT (source, event_id) DO UPDATE
	SET attempts = inbox.attempts + 1, reason = excluded.reason,
	    state = CASE WHEN inbox.received_at < clock_timestamp() - @max_wait::interval THEN 'set_aside'
	    ELSE excluded.state END, due_at = CASE WHEN excluded.state = 'waiting'
	        AND inbox.received_at >= clock_timestamp() - @max_wait::interval
	                  THEN clock_timestamp() + least(@first::interval * 2 ^ least(inbox.attempts, 16),
	                      @longest::interval) END
	WHERE inbox.state <> 'applied' AND inbox.digest = excluded.digest`

// keep stores a message that could not be applied, with the reason.
func (b *Inbox) keep(ctx context.Context, m Message, cause error) error {
	state := Waiting
	var never *refused
	var early *notYet
	switch {
	case errors.As(cause, &never):
		state = SetAside
		b.log.ErrorContext(ctx, "a message is set aside", "source", m.Source, "event", m.EventID, "kind", m.Kind,
			"reason", cause)
	case !errors.As(cause, &early):
		b.log.ErrorContext(ctx, "a message could not be applied", "source", m.Source, "event", m.EventID, "kind",
			m.Kind, "error", cause)
	}
	_, err := b.pool.Exec(ctx, keepMessage, postgres.Args{
		"source": m.Source, "event_id": m.EventID, "kind": m.Kind, "digest": m.Digest, "body": m.Body, "state": state,
		"reason": cause.Error(), "first": firstWait, "longest": longestWait, "max_wait": maxWait})
	if err != nil {
		return fmt.Errorf("store a message: %w", err)
	}
	return nil
}

// The insert of two deliveries at once meets in the primary key: one of them
// waits there for the other's commit, and then finds nothing to update.
const takeMessage = `
	INSERT INTO inbox (source, event_id, kind, digest, body, state, account_id, request_id, applied_at)
	VALUES (@source, @event_id, @kind, @digest, @body, 'applied', @account_id, @request_id, clock_timestamp())
	ON CONFLICT (source, event_id) DO UPDATE
	SET state = 'applied', reason = NULL, due_at = NULL, account_id = excluded.account_id,
	    request_id = excluded.request_id, applied_at = excluded.applied_at
	WHERE inbox.state <> 'applied' AND inbox.digest = excluded.digest`

// Take records that a message is applied by this transaction, and ends the
// transaction if it was applied before, or says something else than it did then.
func Take(tx *phase.Tx, m Message) {
	tx.WriteOne(takeMessage, postgres.Args{
		"source": m.Source, "event_id": m.EventID, "kind": m.Kind, "digest": m.Digest, "body": m.Body,
		"account_id": tx.AccountID, "request_id": tx.RequestID})
}

const noteContradiction = `
	INSERT INTO inbox_contradictions (source, event_id, digest, body)
	VALUES (@source, @event_id, @digest, @body)
	ON CONFLICT DO NOTHING
	RETURNING 1`

// alarm writes a contradiction down, once however often it is repeated, with a
// line in the audit trail and one in the log.
func (b *Inbox) alarm(ctx context.Context, m Message, known *Kept) error {
	b.log.ErrorContext(ctx, "a message contradicts an earlier one with the same ID", "source", m.Source, "event",
		m.EventID)
	err := pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		var first int
		err := tx.QueryRow(ctx, noteContradiction, postgres.Args{
			"source": m.Source, "event_id": m.EventID, "digest": m.Digest, "body": m.Body}).Scan(&first)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return audit.RecordAlarm(ctx, tx, audit.OperatorAct{
			Operation: "inbox.contradiction", AccountID: known.account(), ObjectID: m.EventID,
			Details: map[string]any{"source": m.Source, "event": m.EventID, "digest": m.Digest, "known": known.Digest}})
	})
	if err != nil {
		return fmt.Errorf("record a contradiction: %w", err)
	}
	return ErrContradiction
}
