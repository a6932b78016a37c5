package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// LongestOverlap is how long at most an old secret signs beside the new one.
const LongestOverlap = 24 * time.Hour

// ErrUnknown says that the endpoint or event does not exist.
var ErrUnknown = errors.New("webhook endpoint not found")

const rollSecret = `
	UPDATE webhook_endpoints
	SET secret_generation = secret_generation + 1, secret_version = @secret_version,
	    previous_secret_version = secret_version, previous_secret_until = clock_timestamp() + @overlap::interval
	WHERE id = @endpoint_id AND deleted_at IS NULL AND NOT listener
	RETURNING account_id, livemode, secret_generation`

// Roll gives an endpoint a new signing secret and returns it: the only time it is
// shown. Deliveries are signed with the old one, too, until overlap has passed.
// The operator's audit row is written in the same transaction.
func Roll(
	ctx context.Context, pool *pgxpool.Pool, keys secret.Keys, user, endpointID string, overlap time.Duration,
) (text string, err error) {
	if overlap < 0 || overlap > LongestOverlap {
		return "", fmt.Errorf("the old secret can stay valid for %s at most, not %s", LongestOverlap, overlap)
	}
	version, key := keys.Newest()
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		var endpoint EndpointKey
		var livemode bool
		var generation int32
		err := tx.QueryRow(ctx, rollSecret, postgres.Args{"endpoint_id": endpointID, "overlap": overlap,
			"secret_version": version}).
			Scan(&endpoint.AccountID, &livemode, &generation)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrUnknown
		}
		if err != nil {
			return err
		}
		endpoint.EndpointID = endpointID
		text = Secret(key, endpoint, generation)
		return audit.RecordOperator(ctx, tx, audit.OperatorAct{
			User:      user,
			Operation: "webhook_endpoint.roll",
			AccountID: endpoint.AccountID,
			Livemode:  livemode,
			ObjectID:  endpointID,
			Details:   map[string]any{"generation": generation, "overlap": overlap.String()},
		})
	})
	if err != nil {
		return "", fmt.Errorf("roll the secret of %s: %w", endpointID, err)
	}
	return text, nil
}

// A resend starts the schedule over. An attempt in progress continues, and the
// event is sent again after it. The API servers find deliveries to listeners on their own.
const resendEvent = `
	WITH target AS (
		SELECT e.account_id, e.id AS event_id, w.id AS endpoint_id
		FROM events e
		JOIN webhook_endpoints w ON w.account_id = e.account_id AND w.livemode = e.livemode AND w.status = 'enabled'
		    AND w.deleted_at IS NULL
		WHERE e.id = @event_id
		  AND CASE WHEN @listeners::boolean AND w.listener THEN true
		      WHEN @endpoint_id = '' THEN NOT @listeners AND EXISTS (
		        SELECT FROM webhook_deliveries d
		        WHERE d.account_id = e.account_id AND d.event_id = e.id AND d.endpoint_id = w.id)
		      ELSE w.id = @endpoint_id END
	), sent AS (
		INSERT INTO webhook_deliveries AS d (account_id, event_id, endpoint_id, due_at, created_at)
		SELECT account_id, event_id, endpoint_id, clock_timestamp(), clock_timestamp() FROM target
		ON CONFLICT (account_id, event_id, endpoint_id) DO UPDATE
		SET state = 'pending', failures = 0, due_at = excluded.due_at, ended_at = NULL,
		    resent = d.claimed_by IS NOT NULL
		RETURNING d.account_id, d.endpoint_id
	), woken AS (
		INSERT INTO river.river_job (kind, args, queue, max_attempts)
		SELECT @kind, jsonb_build_object('account_id', account_id, 'endpoint_id', endpoint_id), @queue, 3 FROM sent
		WHERE endpoint_id LIKE 'we\_%'
	)
	SELECT account_id, endpoint_id FROM sent ORDER BY endpoint_id`

const modeOfEvent = `SELECT livemode FROM events WHERE id = @event_id`

// Resend sends an event once more to the endpoints it was sent to and to those who
// listen with the Stripe CLI, or to the one that is named, and returns which. The audit
// row is written in the same transaction.
func Resend(ctx context.Context, pool *pgxpool.Pool, user, eventID, endpointID string) (to []EndpointKey, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		var livemode bool
		err := tx.QueryRow(ctx, modeOfEvent, postgres.Args{"event_id": eventID}).Scan(&livemode)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrUnknown
		}
		if err != nil {
			return err
		}
		to, err = ResendIn(ctx, tx, eventID, endpointID)
		if err != nil {
			return err
		}
		if endpointID == "" {
			listeners, err := ResendToListeners(ctx, tx, eventID, "")
			if err != nil {
				return err
			}
			to = slices.DeleteFunc(to, func(k EndpointKey) bool { return slices.Contains(listeners, k) })
			to = append(to, listeners...)
		}
		if len(to) == 0 {
			return nil
		}
		var ids []string
		for _, endpoint := range to {
			ids = append(ids, endpoint.EndpointID)
		}
		return audit.RecordOperator(ctx, tx, audit.OperatorAct{
			User: user, Operation: "event.resend", AccountID: to[0].AccountID, Livemode: livemode, ObjectID: eventID,
			Details: map[string]any{"endpoints": ids},
		})
	})
	if err != nil {
		return nil, fmt.Errorf("resend %s: %w", eventID, err)
	}
	return to, nil
}

// querier is a transaction of the engine or of pgx.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// ResendIn is Resend in a transaction of the caller, which writes the audit row.
func ResendIn(ctx context.Context, tx querier, eventID, endpointID string) (to []EndpointKey, err error) {
	return resend(ctx, tx, eventID, endpointID, false)
}

// ResendToListeners sends an event to all that listen with the Stripe CLI, and to the
// endpoint that is named, if one is.
func ResendToListeners(ctx context.Context, tx querier, eventID, endpointID string) (to []EndpointKey, err error) {
	return resend(ctx, tx, eventID, endpointID, true)
}

func resend(ctx context.Context, tx querier, eventID, endpointID string, listeners bool) (to []EndpointKey, err error) {
	rows, err := tx.Query(ctx, resendEvent, postgres.Args{"event_id": eventID, "endpoint_id": endpointID,
		"listeners": listeners, "kind": Wake{}.Kind(), "queue": Queue})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[EndpointKey])
}

// Attempt is one line of an event's deliveries, for operators. A
// delivery that was not tried yet has one without an attempt.
type Attempt struct {
	EndpointID string
	URL        string
	State      string
	DueAt      *time.Time
	Attempt    *int32
	StartedAt  *time.Time
	EndedAt    *time.Time
	Status     *int16
	DurationMs *int32
	Error      *string
	Body       []byte
}

const selectAttempts = `
	SELECT d.endpoint_id, w.url, d.state, d.due_at, a.attempt, a.started_at, a.ended_at, a.status, a.duration_ms,
	       a.error, a.body
	FROM webhook_deliveries d
	JOIN webhook_endpoints w ON w.account_id = d.account_id AND w.id = d.endpoint_id
	LEFT JOIN webhook_attempts a ON a.account_id = d.account_id AND a.event_id = d.event_id
	    AND a.endpoint_id = d.endpoint_id
	WHERE d.event_id = @event_id
	ORDER BY d.endpoint_id, a.attempt`

const eventExists = `SELECT EXISTS (SELECT FROM events WHERE id = @event_id)`

// Attempts are the deliveries of an event and what became of them, oldest first.
func Attempts(ctx context.Context, pool *pgxpool.Pool, eventID string) ([]Attempt, error) {
	var exists bool
	err := pool.QueryRow(ctx, eventExists, postgres.Args{"event_id": eventID}).Scan(&exists)
	if err != nil {
		return nil, fmt.Errorf("find the event %s: %w", eventID, err)
	}
	if !exists {
		return nil, ErrUnknown
	}
	rows, err := pool.Query(ctx, selectAttempts, postgres.Args{"event_id": eventID})
	if err != nil {
		return nil, fmt.Errorf("read the deliveries of %s: %w", eventID, err)
	}
	attempts, err := pgx.CollectRows(rows, pgx.RowToStructByName[Attempt])
	if err != nil {
		return nil, fmt.Errorf("read the deliveries of %s: %w", eventID, err)
	}
	return attempts, nil
}
