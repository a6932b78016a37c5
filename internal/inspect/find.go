package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// Subject is what a name refers to: an object of some account, or a request.
type Subject struct {
	Kind      string // charge, payout, event, … as the API calls it; posting; request
	AccountID string
	ID        string
}

// Through the accounts, because no index of these tables begins with the id: one
// look per account and table, and nothing is read through.
const (
	objectNamed = ` UNION ALL
	SELECT '%s', o.account_id, o.id FROM accounts a JOIN %s o ON o.account_id = a.id AND o.id = @name`

	otherSubjects = `
	SELECT 'event' AS kind, o.account_id, o.id FROM accounts a JOIN events o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'settlement', o.account_id, o.id FROM accounts a
	JOIN settlement_parts o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'settlement', o.account_id, o.id FROM settlement_parts o WHERE o.batch = @name
	UNION ALL SELECT 'posting', b.account_id, o.id FROM ledger_books b
	JOIN ledger_postings o ON o.book_id = b.id AND o.id = @name
	UNION ALL SELECT 'request', o.account_id, o.id FROM accounts a
	JOIN requests o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'request', o.account_id, o.id FROM requests o WHERE o.key = @name
	UNION ALL SELECT 'request', o.account_id, o.request_id FROM runs o WHERE @name = ANY (o.call_keys)
	UNION ALL SELECT 'request', o.account_id, o.request_id FROM answers o
	WHERE o.call_keys[1] = @name AND cardinality(o.call_keys) > 0
	UNION ALL SELECT 'request', o.account_id, o.request_id FROM foreign_calls o WHERE o.derived_key = @name
	UNION ALL SELECT 'customer', o.account_id, o.id FROM customers o WHERE o.email = @name AND o.deleted_at IS NULL`
)

// subjects is the statement that looks in the table of every kind of object, and in otherSubjects.
var subjects = sync.OnceValue(func() string {
	sql := otherSubjects
	for _, kind := range resource.Kinds() {
		if kind.Table != "" {
			sql += fmt.Sprintf(objectNamed, kindOf(kind), kind.Table)
		}
	}
	return sql + " LIMIT 50"
})

// kindOf is what a subject's kind is called. It is a word: checkout_session, test_clock.
func kindOf(kind resource.Kind) string {
	return strings.ReplaceAll(strings.TrimPrefix(kind.Object, "test_helpers."), ".", "_")
}

// Find looks a name up: any id, an idempotency key, a key the acquirer was asked
// with, a settlement batch, or a customer's email. More than one thing can have it.
func Find(ctx context.Context, db idempotency.Reader, name string) ([]Subject, error) {
	found, err := rows[Subject](ctx, db, subjects(), postgres.Args{"name": name})
	if err != nil {
		return nil, fmt.Errorf("find %q: %w", name, err)
	}
	slices.SortFunc(found, func(a, b Subject) int { return strings.Compare(a.ID, b.ID) })
	return slices.Compact(found), nil
}

// family is an object and those it is about: a payment's intent and session, its
// charges, and what became of them.
const family = `
	WITH named AS (
		SELECT @id::text AS id
		UNION SELECT charge_id FROM refunds WHERE account_id = @account_id AND id = @id
		UNION SELECT charge_id FROM disputes WHERE account_id = @account_id AND id = @id
		UNION SELECT setup_intent_id FROM setup_attempts WHERE account_id = @account_id AND id = @id
	), intents AS (
		SELECT id FROM named
		UNION SELECT c.payment_intent_id FROM charges c JOIN named n ON n.id = c.id
		WHERE c.account_id = @account_id AND c.payment_intent_id IS NOT NULL
		UNION SELECT payment_intent_id FROM checkout_sessions
		WHERE account_id = @account_id AND id = @id AND payment_intent_id IS NOT NULL
		UNION SELECT setup_intent_id FROM checkout_sessions
		WHERE account_id = @account_id AND id = @id AND setup_intent_id IS NOT NULL
	), charged AS (
		SELECT c.id FROM charges c JOIN intents i ON c.payment_intent_id = i.id WHERE c.account_id = @account_id
		UNION SELECT id FROM named
	)
	SELECT id FROM intents
	UNION SELECT id FROM charged
	UNION SELECT checkout_session FROM payment_intents p JOIN intents i ON i.id = p.id
	WHERE p.account_id = @account_id AND checkout_session IS NOT NULL
	UNION SELECT r.id FROM refunds r JOIN charged c ON r.charge_id = c.id WHERE r.account_id = @account_id
	UNION SELECT d.id FROM disputes d JOIN charged c ON d.charge_id = c.id WHERE d.account_id = @account_id
	UNION SELECT original_payout FROM payouts
	WHERE account_id = @account_id AND id = @id AND original_payout IS NOT NULL
	UNION SELECT reversed_by FROM payouts WHERE account_id = @account_id AND id = @id AND reversed_by IS NOT NULL`

// requestsOf are the requests that made and changed some objects. Events are only
// searched from the time of the first object on, and not without end: no index
// leads from an object to its events, because every payment would pay for it.
const (
	requestOfObject = ` UNION SELECT request_id FROM %s WHERE account_id = @account_id AND id = ANY (@ids::text[])`

	otherRequests = `
	SELECT request_id FROM events WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT used_by FROM tokens WHERE account_id = @account_id AND id = ANY (@ids::text[]) AND used_by IS NOT NULL
	UNION SELECT request_id FROM settlement_parts WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT p.request_id FROM ledger_postings p JOIN ledger_books b ON b.id = p.book_id
		WHERE b.account_id = @account_id AND p.source = ANY (@ids::text[])
	UNION SELECT p.request_id FROM ledger_postings p JOIN ledger_books b ON b.id = p.book_id
		WHERE b.account_id = @account_id AND p.id = ANY (@ids::text[])
	UNION SELECT later.request_id FROM (
		SELECT request_id, object_id FROM events WHERE account_id = @account_id AND id >= @since ORDER BY id
		LIMIT 5000) later
		WHERE later.object_id = ANY (@ids::text[])`
)

var requestsOf = sync.OnceValue(func() string {
	sql := otherRequests
	for _, kind := range resource.Kinds() {
		if kind.Table != "" {
			sql += fmt.Sprintf(requestOfObject, kind.Table)
		}
	}
	return sql + " LIMIT 30"
})

const requestThatMade = `SELECT request_id FROM %s WHERE account_id = @account_id AND id = @id`

// Origin is the request that made an object, "" if the object or its kind is not known.
func Origin(ctx context.Context, db idempotency.Reader, of Subject) (string, error) {
	for _, kind := range resource.Kinds() {
		if kind.Table == "" || kindOf(kind) != of.Kind {
			continue
		}
		args := postgres.Args{"account_id": of.AccountID, "id": of.ID}
		found, err := texts(ctx, db, fmt.Sprintf(requestThatMade, kind.Table), args)
		if err != nil || len(found) == 0 {
			return "", err
		}
		return found[0], nil
	}
	return "", nil
}

// History reads all requests that a subject is about, oldest first.
func History(ctx context.Context, db idempotency.Reader, books Books, of Subject) (all []*Request, err error) {
	names, about := []string{of.ID}, []string{}
	if of.Kind != "request" {
		names, about, err = requestsAbout(ctx, db, of)
		if err != nil {
			return nil, fmt.Errorf("find the requests of %s: %w", of.ID, err)
		}
	}
	for _, name := range names {
		found, err := idempotency.LookUp(ctx, db, name)
		if err != nil {
			return nil, err
		}
		for _, summary := range found {
			if summary.AccountID != of.AccountID || summary.ID != name {
				continue // a client used another request's id as its key
			}
			r, err := Show(ctx, db, books, summary)
			if err != nil {
				return nil, err
			}
			r.narrow(about)
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *Request) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return all, nil
}

// narrow leaves out the events of a background job, and their deliveries, that are about other objects: one job settles
// many charges. If no event is about these objects, they are all kept.
func (r *Request) narrow(objects []string) {
	if r.Method != "JOB" {
		return
	}
	var mine []Event
	for _, e := range r.Events {
		if slices.Contains(objects, e.ObjectID) || slices.Contains(objects, e.ID) {
			mine = append(mine, e)
		}
	}
	if len(mine) == 0 {
		return
	}
	r.Events = mine
	r.Deliveries = slices.DeleteFunc(r.Deliveries, func(d Delivery) bool {
		return !slices.ContainsFunc(mine, func(e Event) bool { return e.ID == d.EventID })
	})
}

// requestsAbout are the requests of an object's history, and the objects that it is about.
func requestsAbout(ctx context.Context, db idempotency.Reader, of Subject) (names, objects []string, err error) {
	objects, err = texts(ctx, db, family, postgres.Args{"account_id": of.AccountID, "id": of.ID})
	if err != nil {
		return nil, nil, err
	}
	names, err = texts(ctx, db, requestsOf(),
		postgres.Args{"account_id": of.AccountID, "ids": objects, "since": "evt_" + earliest(objects)})
	return names, objects, err
}

// earliest is the part of ids that says when the first of them was made. An id
// that a merchant has chosen says nothing.
func earliest(ids []string) string {
	first := ""
	for _, id := range ids {
		made := id[strings.LastIndex(id, "_")+1:]
		if len(made) != 24 {
			continue
		}
		if made = made[:8]; first == "" || made < first {
			first = made
		}
	}
	return first
}

func texts(ctx context.Context, db idempotency.Reader, sql string, args postgres.Args) ([]string, error) {
	found, err := db.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowTo[string])
}
