package schema_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The SQLSTATEs a promise is kept with.
const (
	notNull      = "23502"
	foreignKey   = "23503"
	unique       = "23505"
	check        = "23514"
	privilege    = "42501" // also what reject_change() raises
	invalidText  = "22P02"
	notAvailable = "RT003"
	lockTimeout  = "55P03"
	notUpdatable = "55000"
)

// atCommit checks now what is deferred to the commit.
const atCommit = `SET CONSTRAINTS ALL IMMEDIATE`

// A promise is an event the schema will not let happen.
type promise struct {
	event      string
	given      string // statements before it, which go through
	refused    string // the statement that does not
	state      string // its SQLSTATE
	constraint string // and what refuses it, where that has a name
}

func allPromises() []promise {
	return slices.Concat(secretPromises, peoplePromises, accountPromises, requestPromises, callPromises, ledgerPromises,
		refundChainPromises,
		periodPromises, payoutPromises, payoutRowPromises,
		customerPromises, chargePromises, refundPromises, intentPromises, disputePromises, settlementPromises,
		inboxPromises, webhookPromises, checkoutPromises, auditPromises, verificationPromises, dayPromises,
		inboxPromises, webhookPromises, checkoutPromises, auditPromises, verificationPromises, monthPromises,
		searchPromises,
		frozenPromises())
}

func TestEveryPromiseIsKept(t *testing.T) {
	t.Parallel()

	t.Run("a fresh database refuses", func(t *testing.T) {
		t.Parallel()
		tryAll(t, seeded(t).Pool)
	})

	t.Run("one restored from a dump refuses", func(t *testing.T) {
		t.Parallel()
		tryAll(t, restored(t, seeded(t)))
	})
}

func tryAll(t *testing.T, pool *pgxpool.Pool) {
	for _, p := range allPromises() {
		t.Run(p.event, func(t *testing.T) { try(t, pool, p) })
	}
}

// try makes one attempt in a separate transaction, which never commits.
func try(t *testing.T, pool *pgxpool.Pool, p promise) {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()

	_, err = tx.Exec(t.Context(), p.given)
	if err != nil {
		t.Fatalf("what should go through does not: %v\nin: %s", err, p.given)
	}
	tag, err := tx.Exec(t.Context(), p.refused)
	if err == nil {
		t.Fatalf("it was accepted (%s): %s", tag, p.refused)
	}
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		t.Fatalf("no answer of the server: %v", err)
	}
	if answer.Code != p.state || answer.ConstraintName != p.constraint {
		t.Errorf("refused with %s %q, want %s %q\n%s\nin: %s",
			answer.Code, answer.ConstraintName, p.state, p.constraint, answer.Message, p.refused)
	}
}

// A refusal means little if the same statement without its fault is refused too.
func TestWhatIsHonestIsAccepted(t *testing.T) {
	t.Parallel()
	pool := seeded(t).Pool

	for sentence, sql := range map[string]string{
		"a posting with all its legs":  withLegs(legs(gross, fee)),
		"a refund of all that is left": chained("ch_1", 1000, 2, "re_2", 300, 700),
		"a refund of what came back": chained("ch_1", 1000, 2, "re_1", 300, -300) +
			chained("ch_1", 1000, 3, "re_2", 0, 1000),
		"a message that waited is applied": `
			UPDATE inbox SET state = 'applied', reason = NULL, due_at = NULL, account_id = 'acct_1',
			    request_id = 'req_finished', applied_at = now() WHERE state = 'waiting';`,
		"a payout of all that is available": payOut(1, 941),
		"another request with another key":  begun(``, ``),
		"the same key of another merchant": begun(`"key": "key of req_running", "account_id": "acct_2"`,
			`"account_id": "acct_2"`),
		"a request that is answered at once": answered(``),
		"a run that reaches two points":      advanced("{authorized,captured}", 2),
		"a run that ends with its answer":    ended("req_running", "{authorized,captured}"),
		"a second generation after proof": retired("req_running", 1, "key under req_running") + noCalls +
			announced("req_running", 2, "another"),
		"the generation after one that was retired": announced("req_review", 2, "another"),
		"a charge of its own request": copyOf("charges", "ch_1",
			`{"id": "ch_new", "request_id": "req_new", "acquirer_reference": "auth_new"}`),
		"a refund of its own request": copyOf("refunds", "re_1", `{"id": "re_new", "request_id": "req_new"}`),
		"moving a finished answer to the archive": `
			INSERT INTO archived_answers (account_id, request_id, headers, body)
			VALUES ('acct_1', 'req_finished', '{}', '{}');
			UPDATE answers SET archived_at = now(), headers = NULL, body = NULL WHERE request_id = 'req_finished';`,
		"erasing the personal details of an audit row": `UPDATE audit_events SET details = NULL, salt = NULL;`,
		"erasing what is personal in a finished request": `
			UPDATE answers SET body = redact_pii(body), redacted_at = now() WHERE request_id = 'req_finished';
			UPDATE requests SET params = redact_pii(params), context = redact_pii(context) WHERE id = 'req_finished';`,
		"erasing what is personal in an archived answer": `
			UPDATE archived_answers SET body = redact_pii(body);
			UPDATE answers SET redacted_at = now() WHERE request_id = 'req_archived';`,
		"erasing what is personal in an event": `UPDATE events SET data = redact_pii(data);`,
		"an attempt whose cardholder has answered": `
			UPDATE setup_attempts SET status = 'succeeded' WHERE id = 'setatt_open';`,
		"erasing what is personal in an attempt":  `UPDATE setup_attempts SET setup_error = redact_pii(setup_error);`,
		"erasing what a posting was described as": `UPDATE ledger_postings SET description = '[erased]';`,
	} {
		t.Run(sentence, func(t *testing.T) { accept(t, pool, sql) })
	}
}

// accept runs sql up to its commit, which never comes.
func accept(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = tx.Exec(t.Context(), sql+atCommit)
	if err != nil {
		t.Errorf("%v\nin: %s", err, sql)
	}
}

// copyOf inserts a row once more, with some columns changed: what is not named
// in changes cannot be the reason for a refusal.
func copyOf(table, id, changes string) string {
	return fmt.Sprintf(`
		INSERT INTO %s SELECT (jsonb_populate_record(original, '%s')).* FROM %[1]s original
		WHERE id = '%[3]s';`, table, changes, id)
}
