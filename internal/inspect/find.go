package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Subject is what a name stands for: an object of some account, or a request.
type Subject struct {
	Kind      string // charge, payout, event, … as the API calls it; posting; request
	AccountID string
	ID        string
}

// Through the accounts, because no index of these tables begins with the id: one
// look per account and table, and nothing is read through.
const subjects = `
	SELECT 'charge' AS kind, o.account_id, o.id FROM accounts a JOIN charges o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'refund', o.account_id, o.id FROM accounts a JOIN refunds o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'payment_intent', o.account_id, o.id FROM accounts a JOIN payment_intents o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'setup_intent', o.account_id, o.id FROM accounts a JOIN setup_intents o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'setup_attempt', o.account_id, o.id FROM accounts a JOIN setup_attempts o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'checkout_session', o.account_id, o.id FROM accounts a JOIN checkout_sessions o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'customer', o.account_id, o.id FROM accounts a JOIN customers o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'payment_method', o.account_id, o.id FROM accounts a JOIN payment_methods o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'card', o.account_id, o.id FROM accounts a JOIN cards o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'token', o.account_id, o.id FROM accounts a JOIN tokens o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'product', o.account_id, o.id FROM accounts a JOIN products o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'price', o.account_id, o.id FROM accounts a JOIN prices o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'dispute', o.account_id, o.id FROM accounts a JOIN disputes o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'payout', o.account_id, o.id FROM accounts a JOIN payouts o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'settlement', o.account_id, o.id FROM accounts a JOIN settlement_parts o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'settlement', o.account_id, o.id FROM settlement_parts o WHERE o.batch = @name
	UNION ALL SELECT 'webhook_endpoint', o.account_id, o.id FROM accounts a JOIN webhook_endpoints o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'test_clock', o.account_id, o.id FROM accounts a JOIN test_clocks o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'event', o.account_id, o.id FROM accounts a JOIN events o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'posting', b.account_id, o.id FROM ledger_books b JOIN ledger_postings o ON o.book_id = b.id AND o.id = @name
	UNION ALL SELECT 'request', o.account_id, o.id FROM accounts a JOIN requests o ON o.account_id = a.id AND o.id = @name
	UNION ALL SELECT 'request', o.account_id, o.id FROM requests o WHERE o.key = @name
	UNION ALL SELECT 'request', o.account_id, o.request_id FROM runs o WHERE @name = ANY (o.call_keys)
	UNION ALL SELECT 'request', o.account_id, o.request_id FROM answers o WHERE o.call_keys[1] = @name AND cardinality(o.call_keys) > 0
	UNION ALL SELECT 'request', o.account_id, o.request_id FROM foreign_calls o WHERE o.derived_key = @name
	UNION ALL SELECT 'customer', o.account_id, o.id FROM customers o WHERE o.email = @name AND o.deleted_at IS NULL
	LIMIT 50`

// Find looks a name up: any id, an idempotency key, a key the acquirer was asked
// with, a settlement batch, or a customer's email. More than one thing can have it.
func Find(ctx context.Context, db idempotency.Reader, name string) ([]Subject, error) {
	found, err := rows[Subject](ctx, db, subjects, postgres.Args{"name": name})
	if err != nil {
		return nil, fmt.Errorf("look %q up: %w", name, err)
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
		UNION SELECT c.payment_intent_id FROM charges c JOIN named n ON n.id = c.id WHERE c.account_id = @account_id AND c.payment_intent_id IS NOT NULL
		UNION SELECT payment_intent_id FROM checkout_sessions WHERE account_id = @account_id AND id = @id AND payment_intent_id IS NOT NULL
		UNION SELECT setup_intent_id FROM checkout_sessions WHERE account_id = @account_id AND id = @id AND setup_intent_id IS NOT NULL
	), charged AS (
		SELECT c.id FROM charges c JOIN intents i ON c.payment_intent_id = i.id WHERE c.account_id = @account_id
		UNION SELECT id FROM named
	)
	SELECT id FROM intents
	UNION SELECT id FROM charged
	UNION SELECT checkout_session FROM payment_intents p JOIN intents i ON i.id = p.id WHERE p.account_id = @account_id AND checkout_session IS NOT NULL
	UNION SELECT r.id FROM refunds r JOIN charged c ON r.charge_id = c.id WHERE r.account_id = @account_id
	UNION SELECT d.id FROM disputes d JOIN charged c ON d.charge_id = c.id WHERE d.account_id = @account_id
	UNION SELECT original_payout FROM payouts WHERE account_id = @account_id AND id = @id AND original_payout IS NOT NULL
	UNION SELECT reversed_by FROM payouts WHERE account_id = @account_id AND id = @id AND reversed_by IS NOT NULL`

// requestsOf are the requests that made and changed some objects. Events are only
// searched from the time of the first object on, and not without end: no index
// leads from an object to its events, because every payment would pay for it.
const requestsOf = `
	SELECT request_id FROM charges WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT request_id FROM refunds WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT request_id FROM payment_intents WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT request_id FROM setup_intents WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT request_id FROM setup_attempts WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT request_id FROM checkout_sessions WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT request_id FROM customers WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT request_id FROM payment_methods WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT request_id FROM cards WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT request_id FROM tokens WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT used_by FROM tokens WHERE account_id = @account_id AND id = ANY (@ids::text[]) AND used_by IS NOT NULL
	UNION SELECT request_id FROM products WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT request_id FROM prices WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT request_id FROM disputes WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT request_id FROM payouts WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT request_id FROM settlement_parts WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT request_id FROM webhook_endpoints WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT request_id FROM test_clocks WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT p.request_id FROM ledger_postings p JOIN ledger_books b ON b.id = p.book_id
		WHERE b.account_id = @account_id AND (p.source = ANY (@ids::text[]) OR p.id = ANY (@ids::text[]))
	UNION SELECT request_id FROM events WHERE account_id = @account_id AND id = ANY (@ids::text[])
	UNION SELECT later.request_id FROM (
		SELECT request_id, object_id FROM events WHERE account_id = @account_id AND id >= @since ORDER BY id LIMIT 5000) later
		WHERE later.object_id = ANY (@ids::text[])
	LIMIT 30`

// Story reads all requests that a subject is about, oldest first.
func Story(ctx context.Context, db idempotency.Reader, books Books, of Subject) (all []*Request, err error) {
	names := []string{of.ID}
	if of.Kind != "request" {
		names, err = requestsAbout(ctx, db, of)
		if err != nil {
			return nil, fmt.Errorf("find the requests of %s: %w", of.ID, err)
		}
	}
	for _, name := range names {
		found, err := idempotency.LookUp(ctx, db, name)
		if err != nil {
			return nil, err
		}
		for _, standing := range found {
			if standing.AccountID != of.AccountID || standing.ID != name {
				continue // somebody used another one's id as a key
			}
			r, err := Show(ctx, db, books, standing)
			if err != nil {
				return nil, err
			}
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *Request) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return all, nil
}

func requestsAbout(ctx context.Context, db idempotency.Reader, of Subject) ([]string, error) {
	ids, err := texts(ctx, db, family, postgres.Args{"account_id": of.AccountID, "id": of.ID})
	if err != nil {
		return nil, err
	}
	return texts(ctx, db, requestsOf, postgres.Args{"account_id": of.AccountID, "ids": ids, "since": "evt_" + earliest(ids)})
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
