// Package inspect reads everything that is known about a request, for the dashboard and the
// terminal: its recovery point, which processes executed it, which of them crashed, what each
// transaction wrote, and what the acquirer's books say. It changes nothing.
package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Books are the acquirer's. They are nil if the adapter cannot read them.
type Books interface {
	Statement(ctx context.Context, key string) ([]acquirer.Movement, error)
}

// Request is everything that is known about a request.
type Request struct {
	idempotency.Summary
	RecoveryPoints []RecoveryPoint
	Attempts       []Attempt
	Calls          []Call
	Postings       []Posting
	Events         []Event
	Deliveries     []Delivery
	Settled        []Settled // of the charge it made
	Siblings       []Sibling
	Acts           []Act
}

// RecoveryPoint is a recovery point of the request's flow.
type RecoveryPoint struct {
	Name      string
	Kind      string // atomic, foreign, abandoned
	Epoch     int32
	ReachedAt *time.Time // nil: not yet, or passed by
}

// Call is a call to the acquirer, and the movements that its books show for it.
type Call struct {
	idempotency.RequestCall
	Movements []acquirer.Movement
	Unread    string // why the acquirer's books could not be read
}

// Posting is a balanced set of entries that the request made.
type Posting struct {
	ID          string
	Source      string
	Kind        string
	Currency    string
	AvailableOn time.Time
	CreatedAt   time.Time
	Legs        []Leg
}

// Leg is one debit and one credit of the same amount.
type Leg struct {
	Purpose string `json:"purpose"`
	Debit   string `json:"debit"`
	Credit  string `json:"credit"`
	Amount  int64  `json:"amount"`
}

// Event is what the request told those who listen.
type Event struct {
	ID        string
	Type      string
	ObjectID  string
	CreatedAt time.Time
}

// Sibling is another request under the same idempotency key: of another account
// or mode.
type Sibling struct {
	ID        string
	AccountID string
	Livemode  bool
	State     string
	CreatedAt time.Time
}

// Act is a line of the audit trail about the request.
type Act struct {
	At        time.Time
	Actor     string
	Address   *string
	Operation string
	Status    int16
	Details   *string
}

const selectPoints = `
	SELECT p.name, p.kind, coalesce(c.epoch, 0) AS epoch, c.reached_at
	FROM recovery_points p
	LEFT JOIN request_checkpoints c ON c.account_id = @account_id AND c.request_id = @id AND c.recovery_point = p.name
	WHERE p.flow = @flow AND p.version = @version
	ORDER BY p.position`

// A posting is found through what it is of: the request's own object, or what it
// made besides.
const postings = `
	WITH sources AS (
		SELECT object_id AS id FROM answers WHERE account_id = @account_id AND request_id = @id
		UNION SELECT id FROM charges WHERE request_id = @id AND account_id = @account_id
		UNION SELECT id FROM refunds WHERE request_id = @id AND account_id = @account_id
		UNION SELECT c.id FROM answers a
		JOIN charges c ON c.payment_intent_id = a.object_id AND c.account_id = a.account_id
			WHERE a.account_id = @account_id AND a.request_id = @id
	)
	SELECT p.id, p.source, p.kind, b.currency, p.available_on, p.created_at,
	       (SELECT json_agg(json_build_object('purpose', l.purpose, 'debit', l.debit, 'credit', l.credit, 'amount',
	           l.amount) ORDER BY l.leg)
	          FROM ledger_legs l WHERE l.book_id = p.book_id AND l.posting_id = p.id) AS legs
	FROM sources s
	JOIN ledger_postings p ON p.source = s.id
	JOIN ledger_books b ON b.id = p.book_id AND b.account_id = @account_id
	WHERE p.request_id = @id
	ORDER BY p.id`

const events = `
	SELECT id, type, object_id, created_at FROM events
	WHERE request_id = @id AND account_id = @account_id
	ORDER BY id`

// Delivery is an attempt to tell an endpoint of one of the request's events.
type Delivery struct {
	EventID    string
	Type       string
	EndpointID string
	URL        string `db:"url"`
	Attempt    int32
	StartedAt  time.Time
	EndedAt    *time.Time
	Status     *int16
	Error      *string
}

const deliveries = `
	SELECT e.id AS event_id, e.type, t.endpoint_id, p.url, t.attempt, t.started_at, t.ended_at, t.status, t.error
	FROM events e
	JOIN webhook_attempts t ON t.account_id = e.account_id AND t.event_id = e.id
	JOIN webhook_endpoints p ON p.account_id = t.account_id AND p.id = t.endpoint_id
	WHERE e.request_id = @id AND e.account_id = @account_id
	ORDER BY t.started_at
	LIMIT 50`

// Settled is a movement of the request's charge that the acquirer has paid, or taken.
type Settled struct {
	Reference string
	Movement  string
	Amount    int64
	Currency  string
	Batch     string
	Part      int
	BookedAt  time.Time
}

const settlements = `
	SELECT s.acquirer_reference AS reference, s.movement, s.amount, s.currency, s.batch, s.part,
	       s.created_at AS booked_at
	FROM charges c JOIN settlements s ON s.charge_id = c.id AND s.account_id = c.account_id
	WHERE c.request_id = @id AND c.account_id = @account_id
	ORDER BY s.created_at, s.acquirer_reference, s.movement
	LIMIT 50`

const siblings = `
	SELECT s.id, s.account_id, s.livemode, s.state, s.created_at
	FROM requests r JOIN request_status s ON s.key = r.key AND (s.account_id, s.id) <> (r.account_id, r.id)
	WHERE r.account_id = @account_id AND r.id = @id
	ORDER BY s.created_at
	LIMIT 20`

// The trail is kept by time: a request's lines lie between its birth and its end.
const acts = `
	SELECT at, actor, address, operation, status, details FROM audit_events
	WHERE at BETWEEN @begin AND @end AND request_id = @id AND account_id = @account_id
	ORDER BY at
	LIMIT 50`

// Show reads everything about a request that has been found.
func Show(ctx context.Context, db idempotency.Reader, books Books, of idempotency.Summary) (*Request, error) {
	r := &Request{Summary: of}
	mine := postgres.Args{"account_id": of.AccountID, "id": of.ID}
	end := of.Now
	if of.FinishedAt != nil {
		end = of.FinishedAt.Add(time.Second)
	}
	var err error
	read := func(into func() error) {
		if err == nil {
			err = into()
		}
	}
	read(func() (err error) {
		r.RecoveryPoints, err = rows[RecoveryPoint](ctx, db, selectPoints,
			postgres.Args{"account_id": of.AccountID, "id": of.ID, "flow": of.Flow, "version": of.Version})
		return err
	})
	read(func() (err error) { r.Attempts, err = attempts(ctx, db, of); return err })
	read(func() (err error) { r.Calls, err = calls(ctx, db, books, of); return err })
	read(func() (err error) { r.Postings, err = rows[Posting](ctx, db, postings, mine); return err })
	read(func() (err error) { r.Events, err = rows[Event](ctx, db, events, mine); return err })
	read(func() (err error) { r.Deliveries, err = rows[Delivery](ctx, db, deliveries, mine); return err })
	read(func() (err error) { r.Settled, err = rows[Settled](ctx, db, settlements, mine); return err })
	read(func() (err error) { r.Siblings, err = rows[Sibling](ctx, db, siblings, mine); return err })
	read(func() (err error) {
		r.Acts, err = rows[Act](ctx, db, acts,
			postgres.Args{"account_id": of.AccountID, "id": of.ID, "begin": of.CreatedAt, "end": end})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("inspect request %s: %w", of.ID, err)
	}
	r.outliveDeeds()
	return r, nil
}

func calls(ctx context.Context, db idempotency.Reader, books Books, of idempotency.Summary) (all []Call, err error) {
	lines, err := idempotency.Calls(ctx, db, of.AccountID, of.ID)
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		call := Call{RequestCall: line}
		if books == nil {
			call.Unread = "The acquirer’s records are not configured here."
		} else if call.Movements, err = books.Statement(ctx, line.DerivedKey); err != nil {
			call.Unread = "The acquirer’s records are unavailable right now."
		}
		all = append(all, call)
	}
	return all, nil
}

func rows[T any](ctx context.Context, db idempotency.Reader, sql string, args postgres.Args) ([]T, error) {
	found, err := db.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowToStructByName[T])
}
