// Package privacy erases a person's data from everything that is stored about one customer,
// payment or request: the objects, the parameters and responses of requests, the events, the
// details of the audit trail. Data that the books need stays: IDs, amounts, states, times, and
// the displayable details of a card.
//
// The database decides which data is personal (migrations/000001_guards.up.sql:
// redact_pii), and allows no other change of final rows.
package privacy

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Order says whose data to erase, and who requested it.
type Order struct {
	Subject string // id of a customer, intent, charge, refund, dispute, checkout session, method, token or request
	User    string // who does it, for the audit trail
	Because string // on what grounds; it must not name the person
}

// Count is how many rows of a table were emptied of a person.
type Count struct {
	Table string
	Rows  int64
}

// Why nothing was erased.
var (
	ErrUnknown   = errors.New("object not found")
	ErrUnended   = errors.New("is not finished yet")
	ErrNotClosed = errors.New("is a customer that still exists: delete the customer through the API first")
)

// Erase does all of it in one transaction, with its audit row, or nothing. The row
// names the requests: details that are missing elsewhere are damage. It needs the
// grants of the schema's owner, can be repeated, and cannot be undone.
func Erase(ctx context.Context, tx pgx.Tx, o Order) ([]Count, error) {
	s, err := find(ctx, tx, o.Subject)
	if err != nil {
		return nil, err
	}
	if err := s.closed(ctx, tx); err != nil {
		return nil, err
	}
	var counts []Count
	done := map[string]int64{}
	for _, e := range erasures {
		tag, err := tx.Exec(ctx, e.sql, e.args(s))
		if err != nil {
			return nil, fmt.Errorf("erase from %s: %w", e.table, err)
		}
		if n := tag.RowsAffected(); n > 0 {
			counts = append(counts, Count{e.table, n})
			done[e.table] = n
		}
	}
	// Erased texts have changed, so the blocks that index them are built again.
	if _, err := tx.Exec(ctx, indexAgain, postgres.Args{"account_id": s.accountID}); err != nil {
		return nil, fmt.Errorf("erase from the search index: %w", err)
	}
	return counts, audit.RecordOperator(ctx, tx, audit.OperatorAct{
		User:      o.User,
		Operation: "data.erase",
		AccountID: s.accountID,
		Livemode:  s.livemode,
		ObjectID:  o.Subject,
		Details:   map[string]any{"because": o.Because, "rows": done, "requests": s.requests},
	})
}

// erasures name what is personal column by column where a column is a person's,
// and leave it to redact_pii where it is a document. A trail's row is detached
// from its details as a whole; what operators wrote down stays.
var erasures = []struct {
	table, sql string
	args       func(*scope) postgres.Args
}{
	{"customers", eraseCustomers, (*scope).byObject}, {"cards", eraseCards, (*scope).byObject},
	{"tokens", eraseTokens, (*scope).byObject}, {"payment_methods", eraseMethods, (*scope).byObject},
	{"confirmation_tokens", eraseConfirmations, (*scope).byObject},
	{"payment_intents", eraseIntents, (*scope).byObject}, {"setup_intents", eraseSetups, (*scope).byObject},
	{"setup_attempts", eraseTries, (*scope).byObject}, {"charges", eraseCharges, (*scope).byObject},
	{"refunds", eraseRefunds, (*scope).byObject}, {"disputes", eraseDisputes, (*scope).byObject},
	{"checkout_sessions", eraseSessions, (*scope).byObject}, {"checkout_items", eraseItems, (*scope).byObject},
	{"ledger_postings", erasePostings, (*scope).byObject}, {"webhook_attempts", eraseAttempts, (*scope).byBoth},
	{"events", eraseEvents, (*scope).byBoth}, {"answers", eraseAnswers, (*scope).byRequest},
	{"requests", eraseRequests, (*scope).byRequest}, {"archived_answers", eraseArchive, (*scope).byRequest},
	{"audit_events", eraseTrail, (*scope).byRequest},
}

const indexAgain = `SELECT search_index(@account_id, '1970-01-01', 1000000)`

const (
	theObjects  = ` WHERE account_id = @account_id AND id = ANY (@objects::text[])`
	theRequests = ` WHERE account_id = @account_id AND request_id = ANY (@requests::text[])`
	theEvents   = `
		 WHERE account_id = @account_id
		   AND (object_id = ANY (@objects::text[]) OR request_id = ANY (@requests::text[]))`

	eraseCustomers = `
		UPDATE customers SET name = NULL, email = NULL, phone = NULL, description = NULL, address = NULL,
		shipping = NULL, metadata = '{}', invoice_settings = redact_pii(invoice_settings),
		preferred_locales = '{}'` + theObjects
	eraseCards   = `UPDATE cards SET card = redact_pii(card), metadata = '{}'` + theObjects
	eraseTokens  = `UPDATE tokens SET card = redact_pii(card), client_ip = NULL` + theObjects
	eraseMethods = `
		UPDATE payment_methods SET card = redact_pii(card), billing_details = redact_pii(billing_details),
		    metadata = '{}'` + theObjects
	eraseConfirmations = `
		UPDATE confirmation_tokens SET shipping = redact_pii(shipping), return_url = NULL` + theObjects
	eraseIntents = `
		UPDATE payment_intents SET description = NULL, metadata = '{}', receipt_email = NULL,
		    shipping = redact_pii(shipping), last_payment_error = redact_pii(last_payment_error)` + theObjects
	eraseSetups = `
		UPDATE setup_intents SET description = NULL, metadata = '{}',
		    last_setup_error = redact_pii(last_setup_error)` + theObjects
	eraseTries = `
		UPDATE setup_attempts SET setup_error = redact_pii(setup_error)
		WHERE account_id = @account_id AND setup_intent_id = ANY (@objects::text[]) AND setup_error IS NOT NULL`
	eraseCharges = `
		UPDATE charges SET card = redact_pii(card), description = NULL, metadata = '{}', receipt_email = NULL,
		    shipping = redact_pii(shipping)` + theObjects
	eraseRefunds  = `UPDATE refunds SET metadata = '{}'` + theObjects
	eraseDisputes = `UPDATE disputes SET evidence = redact_pii(evidence, true), metadata = '{}'` + theObjects
	eraseSessions = `
		UPDATE checkout_sessions SET customer_email = NULL, customer_details = redact_pii(customer_details),
		metadata = '{}', options = redact_pii(options)` + theObjects
	eraseItems = `
		UPDATE checkout_items SET metadata = '{}'
		WHERE account_id = @account_id AND session_id = ANY (@objects::text[]) AND metadata::text <> '{}'`
	erasePostings = `UPDATE ledger_postings p SET description = '[erased]' FROM ledger_books b
		WHERE b.id = p.book_id AND b.account_id = @account_id AND p.source = ANY (@objects::text[])
		  AND p.description IS NOT NULL`
	eraseAttempts = `UPDATE webhook_attempts SET headers = NULL, body = NULL
		WHERE account_id = @account_id AND (headers IS NOT NULL OR body IS NOT NULL)
		  AND event_id IN (SELECT id FROM events` + theEvents + `)`
	eraseEvents = `UPDATE events SET data = redact_pii(data)` + theEvents
	// The answers first: a request is redacted once its answer is.
	eraseAnswers = `
		UPDATE answers SET body = redact_pii(body),
		    redacted_at = coalesce(redacted_at, clock_timestamp())` + theRequests
	eraseRequests = `
		UPDATE requests SET params = redact_pii(params), context = redact_pii(context)
		WHERE account_id = @account_id AND id = ANY (@requests::text[])`
	eraseArchive = `UPDATE archived_answers SET body = redact_pii(body)` + theRequests
	eraseTrail   = `UPDATE audit_events SET details = NULL, salt = NULL` +
		theRequests + ` AND details IS NOT NULL AND actor NOT LIKE 'operator:%'`
)
