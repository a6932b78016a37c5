package privacy

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// scope is all that is kept of a subject.
type scope struct {
	accountID string
	livemode  bool
	objects   []string
	requests  []string
}

func (s *scope) byObject() postgres.Args {
	return postgres.Args{"account_id": s.accountID, "objects": s.objects}
}

func (s *scope) byRequest() postgres.Args {
	return postgres.Args{"account_id": s.accountID, "requests": s.requests}
}

func (s *scope) byBoth() postgres.Args {
	return postgres.Args{"account_id": s.accountID, "objects": s.objects, "requests": s.requests}
}

const findSubject = `
	SELECT account_id, livemode FROM requests WHERE id = @subject
	UNION ALL SELECT account_id, livemode FROM customers WHERE id = @subject
	UNION ALL SELECT account_id, livemode FROM payment_intents WHERE id = @subject
	UNION ALL SELECT account_id, livemode FROM setup_intents WHERE id = @subject
	UNION ALL SELECT account_id, livemode FROM charges WHERE id = @subject
	UNION ALL SELECT account_id, livemode FROM refunds WHERE id = @subject
	UNION ALL SELECT account_id, livemode FROM disputes WHERE id = @subject
	UNION ALL SELECT account_id, livemode FROM checkout_sessions WHERE id = @subject
	UNION ALL SELECT account_id, livemode FROM payment_methods WHERE id = @subject
	UNION ALL SELECT account_id, livemode FROM confirmation_tokens WHERE id = @subject
	UNION ALL SELECT account_id, livemode FROM cards WHERE id = @subject
	UNION ALL SELECT account_id, livemode FROM tokens WHERE id = @subject`

// A customer that is deleted has lost its payment methods. The events still tell
// whose they were, and every change has told its event.
const findObjects = `
	WITH named AS (
		SELECT @subject::text AS id
		UNION SELECT object_id FROM answers
		WHERE account_id = @account_id AND request_id = @subject AND object_id IS NOT NULL
		UNION SELECT object_id FROM events
		WHERE account_id = @account_id
		  AND (request_id = @subject OR data->'object'->>'customer' = @subject
		      OR data->'previous_attributes'->>'customer' = @subject)
	), intents AS (
		SELECT id, payment_method_id FROM payment_intents
		WHERE account_id = @account_id AND (id IN (SELECT id FROM named) OR checkout_session IN (SELECT id FROM named))
		UNION SELECT id, payment_method_id FROM setup_intents
		WHERE account_id = @account_id AND (id IN (SELECT id FROM named) OR checkout_session IN (SELECT id FROM named))
	), paid AS (
		SELECT id FROM charges
		WHERE account_id = @account_id
		  AND (id IN (SELECT id FROM named) OR customer_id = @subject OR payment_intent_id IN (SELECT id FROM intents))
	)
	SELECT id FROM named
	UNION SELECT id FROM intents
	UNION SELECT id FROM checkout_sessions
	WHERE account_id = @account_id
	  AND (customer_id = @subject OR payment_intent_id IN (SELECT id FROM intents)
	      OR setup_intent_id IN (SELECT id FROM intents))
	UNION SELECT payment_method_id FROM intents WHERE payment_method_id IS NOT NULL
	UNION SELECT payment_method_id FROM setup_attempts
	WHERE account_id = @account_id AND setup_intent_id IN (SELECT id FROM intents)
	UNION SELECT payment_method_id FROM confirmation_tokens
	WHERE account_id = @account_id AND id IN (SELECT id FROM named)
	UNION SELECT id FROM paid
	UNION SELECT id FROM refunds WHERE account_id = @account_id AND charge_id IN (SELECT id FROM paid)
	UNION SELECT id FROM disputes WHERE account_id = @account_id AND charge_id IN (SELECT id FROM paid)
	UNION SELECT id FROM cards WHERE account_id = @account_id AND customer_id = @subject`

// A request is about an object if it made or changed it, or names it: one that
// was refused has made nothing, and yet its parameters are kept. This reads all
// requests of the account, which is slow and happens rarely.
const findRequests = `
	SELECT r.id FROM requests r LEFT JOIN answers a ON a.account_id = r.account_id AND a.request_id = r.id
	WHERE r.account_id = @account_id
	  AND (r.id = ANY (@objects::text[]) OR a.object_id = ANY (@objects::text[])
	    OR EXISTS (SELECT FROM unnest(@objects::text[]) AS object (id)
	        WHERE position(object.id IN r.path || r.params::text) > 0))
	UNION SELECT request_id FROM events
	WHERE account_id = @account_id AND object_id = ANY (@objects::text[]) AND request_id LIKE 'req%'`

// A token belongs to the customer it was used for.
const findTokens = `
	SELECT id, request_id FROM tokens
	WHERE account_id = @account_id
	  AND (id = ANY (@objects::text[]) OR card_id = ANY (@objects::text[]) OR used_by = ANY (@requests::text[]))
	UNION SELECT id, request_id FROM confirmation_tokens
	WHERE account_id = @account_id
	  AND (id = ANY (@objects::text[]) OR payment_method_id = ANY (@objects::text[])
	    OR intent_id = ANY (@objects::text[]))`

func find(ctx context.Context, tx pgx.Tx, subject string) (*scope, error) {
	s := &scope{}
	err := tx.QueryRow(ctx, findSubject, postgres.Args{"subject": subject}).Scan(&s.accountID, &s.livemode)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("%s: %w", subject, ErrUnknown)
	}
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", subject, err)
	}
	s.objects, err = ids(ctx, tx, findObjects, postgres.Args{"account_id": s.accountID, "subject": subject})
	if err != nil {
		return nil, err
	}
	if s.requests, err = ids(ctx, tx, findRequests, s.byObject()); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, findTokens, s.byBoth())
	if err != nil {
		return nil, fmt.Errorf("find tokens: %w", err)
	}
	var token, request string
	_, err = pgx.ForEachRow(rows, []any{&token, &request}, func() error {
		s.objects, s.requests = append(s.objects, token), append(s.requests, request)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find tokens: %w", err)
	}
	return s, nil
}

func ids(ctx context.Context, tx pgx.Tx, sql string, args postgres.Args) ([]string, error) {
	rows, err := tx.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("find stored data: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("find stored data: %w", err)
	}
	return found, nil
}

const findUnended = `
	SELECT request_id FROM runs WHERE account_id = @account_id AND request_id = ANY (@requests::text[]) LIMIT 1`

const findUnclosed = `
	SELECT id FROM customers WHERE account_id = @account_id AND id = ANY (@objects::text[]) AND deleted_at IS NULL
	LIMIT 1`

// closed makes sure that no unfinished request writes erased data again.
func (s *scope) closed(ctx context.Context, tx pgx.Tx) error {
	unended, err := ids(ctx, tx, findUnended, s.byRequest())
	if err != nil {
		return err
	}
	if len(unended) > 0 {
		return fmt.Errorf("%s %w", unended[0], ErrUnended)
	}
	unclosed, err := ids(ctx, tx, findUnclosed, s.byObject())
	if err != nil {
		return err
	}
	if len(unclosed) > 0 {
		return fmt.Errorf("%s %w", unclosed[0], ErrNotClosed)
	}
	return nil
}
