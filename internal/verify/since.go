package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/worker"
)

// An incremental run executes the same SQL over less data. It finds out which requests were made or finished since a
// time and which payments they touched. Then it puts a CTE with only those rows behind the name of each table that a
// rule starts from. So a rule is written once. Where a rule has to find a row however old it is, it says
// public.charges instead of charges.

// scope is what an incremental run reads of a rule's tables. The zero scope is for a rule that only a full run checks:
// it adds up everything there is, or reads rows that no index finds by time.
type scope struct {
	tables  string // CTEs that hide the tables of the same names
	checked bool   // by an incremental run at all
}

var (
	// inFull: the rule reads tables that do not grow with payments.
	inFull = scope{checked: true}
	// ofPayments: every row that belongs to a payment or another object that was touched.
	ofPayments = scope{payments, true}
	// ofRequests: the requests that were made or finished, and what the audit trail says of that time.
	ofRequests = scope{requestsOnly, true}
	ofBoth     = scope{payments + ",\n" + requestsOnly, true}
	// ofChanges: what those requests created, with its events and their deliveries.
	ofChanges = scope{changes, true}
)

// How much of its data a check looked at.
const (
	reachSince   = "since"
	reachFull    = "in full"
	reachSkipped = "not checked"
)

// selectTouched finds requests by time, by indexes that 000022 adds. A retry of a request that a backup had lost is
// proved with the request that adopted its movement.
const selectTouched = `
	WITH touched AS MATERIALIZED (
		SELECT account_id, request_id, object_id, finished_at FROM answers WHERE finished_at >= @since
		UNION ALL SELECT account_id, request_id, NULL, NULL FROM runs
	), adopted AS (
		SELECT q.account_id, q.id AS request_id, a.object_id, a.finished_at
		FROM touched t JOIN answers w USING (account_id, request_id)
		JOIN requests q ON q.key = 'adopt ' || w.call_keys[1] AND q.account_id = w.account_id
		    AND q.flow IN (` + adoptions + `)
		LEFT JOIN answers a ON a.account_id = q.account_id AND a.request_id = q.id
	), loose AS (
		SELECT q.account_id, q.id AS request_id FROM requests q WHERE q.created_at >= @since
		  AND NOT EXISTS (SELECT FROM touched t WHERE t.account_id = q.account_id AND t.request_id = q.id)
	)
	SELECT account_id, request_id, coalesce(object_id, '') AS object_id, finished_at FROM touched
	UNION SELECT account_id, request_id, coalesce(object_id, ''), finished_at FROM adopted
	UNION SELECT account_id, request_id, '', NULL FROM loose`

// postedSince are the recent postings of all books. The index that has them is on this expression, so that no statement
// about one book uses it (migrations/000029_flat_lists.up.sql).
const postedSince = `p.created_at AT TIME ZONE 'UTC' >= @since::timestamptz AT TIME ZONE 'UTC'`

type touched struct {
	AccountID, RequestID, ObjectID string
	FinishedAt                     *time.Time
}

// selectPayments finds every object of the payments that were touched: from what the requests made or were answered
// with, and from new postings, along the references between charges, refunds, disputes, intents, sessions and payouts.
const selectPayments = `
	WITH RECURSIVE named AS MATERIALIZED (
		SELECT * FROM unnest(@accounts::text[], @requests::text[], @objects::text[]) AS n (account_id, request_id, id)
	), payment (account_id, id) AS (
		(SELECT account_id, id FROM named WHERE id <> ''
		 UNION SELECT o.account_id, o.id FROM named JOIN charges o USING (account_id, request_id)
		 UNION SELECT o.account_id, o.id FROM named JOIN refunds o USING (account_id, request_id)
		 UNION SELECT o.account_id, o.id FROM named JOIN disputes o USING (account_id, request_id)
		 UNION SELECT o.account_id, o.id FROM named JOIN payouts o USING (account_id, request_id)
		 UNION SELECT o.account_id, o.id FROM named JOIN setup_attempts o USING (account_id, request_id)
		 UNION SELECT o.account_id, o.object_id FROM named JOIN events o USING (account_id, request_id)
		 UNION SELECT b.account_id, p.source FROM ledger_postings p JOIN ledger_books b ON b.id = p.book_id
		 WHERE ` + postedSince + `)
		UNION
		SELECT n.account_id, next.id FROM payment n CROSS JOIN LATERAL (
			SELECT charge_id FROM refunds r WHERE r.account_id = n.account_id AND r.id = n.id
			UNION ALL SELECT r.id FROM refunds r WHERE r.charge_id = n.id AND r.account_id = n.account_id
			UNION ALL SELECT charge_id FROM disputes d WHERE d.account_id = n.account_id AND d.id = n.id
			UNION ALL SELECT d.id FROM disputes d WHERE d.charge_id = n.id AND d.account_id = n.account_id
			UNION ALL SELECT payment_intent_id FROM charges c WHERE c.account_id = n.account_id AND c.id = n.id
			UNION ALL SELECT c.id FROM charges c WHERE c.payment_intent_id = n.id AND c.account_id = n.account_id
			UNION ALL SELECT checkout_session FROM payment_intents p WHERE p.account_id = n.account_id AND p.id = n.id
			UNION ALL SELECT p.id FROM payment_intents p WHERE p.checkout_session = n.id
			    AND p.account_id = n.account_id
			UNION ALL SELECT checkout_session FROM setup_intents s WHERE s.account_id = n.account_id AND s.id = n.id
			UNION ALL SELECT s.id FROM setup_intents s WHERE s.checkout_session = n.id AND s.account_id = n.account_id
			UNION ALL SELECT setup_intent_id FROM setup_attempts t WHERE t.account_id = n.account_id AND t.id = n.id
			UNION ALL SELECT t.id FROM setup_attempts t WHERE t.setup_intent_id = n.id
			    AND t.account_id = n.account_id
			UNION ALL SELECT original_payout FROM payouts o WHERE o.account_id = n.account_id AND o.id = n.id
			UNION ALL SELECT o.id FROM payouts o WHERE o.original_payout = n.id AND o.account_id = n.account_id
		) AS next (id) WHERE next.id IS NOT NULL
	)
	SELECT account_id, id FROM payment`

// The arguments of the CTEs below: n is what was touched. A join of n and a table by account and ID finds a thousand
// times as many rows as PostgreSQL expects, and then it compares every row of one CTE with every row of another. So
// each CTE looks its rows up in a LATERAL subquery, which OFFSET 0 keeps apart and whose rows PostgreSQL counts
// correctly. It is MATERIALIZED, so that no join looks its rows up again.
const (
	someRequests = `unnest(@accounts::text[], @requests::text[]) AS n (account_id, id)`
	someObjects  = `unnest(@owners::text[], @objects::text[]) AS n (account_id, id)`

	andPostings = someObjects + ` CROSS JOIN LATERAL (
			SELECT p.* FROM public.ledger_postings p JOIN public.ledger_books b ON b.id = p.book_id
			WHERE p.source = n.id AND b.account_id = n.account_id OFFSET 0) p`
)

// lookedUp is the CTE that hides a table: of each n, the rows whose column is the ID of n.
func lookedUp(table, n, column string) string {
	return table + ` AS MATERIALIZED (SELECT t.* FROM ` + n + ` CROSS JOIN LATERAL (
		SELECT * FROM public.` + table + ` WHERE account_id = n.account_id AND ` + column + ` = n.id OFFSET 0) t)`
}

// hidden is the CTE that hides a table with an id.
func hidden(table string) string { return lookedUp(table, someObjects, "id") }

// madeBy is the CTE that hides a table by the requests that made its rows.
func madeBy(table string) string { return lookedUp(table, someRequests, "request_id") }

var payments = hidden("charges") + ",\n" + hidden("refunds") + ",\n" + hidden("disputes") + ",\n" +
	hidden("payment_intents") + ",\n" + hidden("setup_intents") + ",\n" + hidden("setup_attempts") + ",\n" +
	hidden("checkout_sessions") + ",\n" + hidden("payouts") + ",\n" + hidden("customers") + ",\n" +
	hidden("cards") + ",\n" + hidden("tokens") + ",\n" + hidden("payment_methods") + ",\n" +
	hidden("products") + ",\n" + hidden("prices") + ",\n" + hidden("coupons") + ",\n" +
	hidden("shipping_rates") + ",\n" + hidden("settlement_parts") + ",\n" +
	lookedUp("settlements", someObjects, "charge_id") + ",\n" + madeBy("events") + `,
	ledger_postings AS MATERIALIZED (
		SELECT p.* FROM ` + andPostings + `
		UNION ALL
		SELECT p.* FROM public.ledger_postings p WHERE ` + postedSince + `
		  AND NOT EXISTS (SELECT FROM public.ledger_books b WHERE b.id = p.book_id)),
	ledger_refund_chain AS MATERIALIZED (
		SELECT k.* FROM ` + someObjects + ` JOIN public.ledger_books b ON b.account_id = n.account_id
		CROSS JOIN LATERAL (
			SELECT * FROM public.ledger_refund_chain WHERE charge = n.id AND book_id = b.id OFFSET 0) k),
	balance_transactions AS MATERIALIZED (
		SELECT v.* FROM ledger_postings p JOIN public.balance_transactions v ON v.book_id = p.book_id
		    AND v.id = p.id)`

// touchedRequests is the CTE of the requests themselves.
var touchedRequests = lookedUp("requests", someRequests, "id")

var requestsOnly = touchedRequests + ",\n" + madeBy("answers") + ",\n" + madeBy("archived_answers") + ",\n" +
	madeBy("foreign_calls") + `,
	audit_events AS MATERIALIZED (SELECT * FROM public.audit_events WHERE at >= @audit_since)`

// madeByOf is madeBy for a table without an index by request: its row is found by its id.
func madeByOf(table string) string {
	return table + ` AS MATERIALIZED (SELECT t.* FROM ` + someObjects + ` CROSS JOIN LATERAL (
		SELECT * FROM public.` + table + ` WHERE account_id = n.account_id AND id = n.id OFFSET 0) t
	    JOIN unnest(@accounts::text[], @requests::text[]) AS q (account_id, id) ON q.account_id = t.account_id
	        AND q.id = t.request_id)`
}

var changes = madeBy("charges") + ",\n" + madeBy("refunds") + ",\n" + madeBy("disputes") + ",\n" +
	madeBy("payouts") + ",\n" + madeBy("events") + ",\n" + madeByOf("customers") + ",\n" + madeByOf("cards") + ",\n" +
	madeByOf("payment_intents") + ",\n" + madeByOf("setup_intents") + ",\n" + madeByOf("products") + ",\n" +
	madeByOf("prices") + ",\n" + madeByOf("coupons") + "," + touchedRequests + `,
	ledger_postings AS MATERIALIZED (
		SELECT p.* FROM ` + andPostings + `
		JOIN unnest(@accounts::text[], @requests::text[]) AS q (account_id, id) ON q.account_id = n.account_id
		    AND q.id = p.request_id),
	webhook_deliveries AS MATERIALIZED (
		SELECT d.* FROM ` + someRequests + ` CROSS JOIN LATERAL (
			SELECT * FROM public.events WHERE request_id = n.id AND account_id = n.account_id OFFSET 0) e
		CROSS JOIN LATERAL (
			SELECT * FROM public.webhook_deliveries WHERE account_id = e.account_id AND event_id = e.id OFFSET 0) d)`

// part is what an incremental run looks at.
type part struct {
	since time.Time
	args  pgx.NamedArgs
}

// auditMargin is how much earlier than the first answer audit rows are read. An answer and its audit row carry the time
// of their transaction. The margin covers the rows of operators, who act in separate transactions.
const auditMargin = 5 * time.Second

// readPart finds what was touched since a time.
func readPart(ctx context.Context, db reader, since time.Time) (*part, error) {
	requests, err := readNamed[touched](ctx, db, selectTouched, pgx.NamedArgs{"since": since})
	if err != nil {
		return nil, fmt.Errorf("find the requests since %s: %w", since.Format(time.RFC3339), err)
	}
	accounts, ids, objects, auditSince := []string{}, []string{}, []string{}, since
	for _, r := range requests {
		accounts, ids, objects = append(accounts, r.AccountID), append(ids, r.RequestID), append(objects, r.ObjectID)
		if r.FinishedAt != nil && r.FinishedAt.Before(auditSince) {
			auditSince = *r.FinishedAt
		}
	}
	args := pgx.NamedArgs{"since": since, "accounts": accounts, "requests": ids, "objects": objects}
	found, err := readNamed[struct{ AccountID, ID string }](ctx, db, selectPayments, args)
	if err != nil {
		return nil, fmt.Errorf("find the payments since %s: %w", since.Format(time.RFC3339), err)
	}
	owners, objects := []string{}, []string{}
	for _, o := range found {
		owners, objects = append(owners, o.AccountID), append(objects, o.ID)
	}
	args["owners"], args["objects"], args["audit_since"] = owners, objects, auditSince.Add(-auditMargin)
	return &part{since, args}, nil
}

func readNamed[T any](ctx context.Context, db reader, sql string, args pgx.NamedArgs) ([]T, error) {
	rows, err := db.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

// behind puts a rule's statement behind the CTEs of its scope.
func (p *part) behind(s scope, sql string) string {
	if p == nil || s.tables == "" {
		return sql
	}
	return "WITH " + s.tables + "\n" + sql
}

// reach says how much of its data a rule of this scope looks at.
func (p *part) reach(s scope) string {
	switch {
	case p == nil:
		return ""
	case !s.checked:
		return reachSkipped
	case s.tables == "":
		return reachFull
	}
	return reachSince
}

const selectLastClean = `SELECT max(clean_until) FROM verifications`

// LastClean is where the next run begins after the worker's last one that found no violation; zero if there was none.
func LastClean(ctx context.Context, pool *pgxpool.Pool) (time.Time, error) {
	var at *time.Time
	if err := pool.QueryRow(ctx, selectLastClean).Scan(&at); err != nil || at == nil {
		return time.Time{}, err
	}
	return at.Add(-worker.VerifyAgain), nil
}

// newestAtMost bounds what a run of the worker costs. A busy installation answers more requests in a minute than can be
// checked beside them, and the snapshot of a long run holds back vacuum.
const newestAtMost = 2000

// ForWorker is a run of the worker: without parallel workers of the database, with pauses, and one at a time.
func ForWorker(
	ctx context.Context, pool *pgxpool.Pool, auditKeys secret.Keys, since time.Time,
) (*worker.Verified, error) {
	report, err := Run(ctx, Config{Pool: pool, AuditKeys: auditKeys, AllowEmpty: true, Since: since,
		AtMost: newestAtMost, Politely: true, OnlyOne: true, AsWorker: true})
	if errors.Is(err, ErrRunning) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := &worker.Verified{Since: report.Since, Until: report.Until}
	for _, c := range report.Checks {
		for _, v := range c.Violations {
			found.Violations = append(found.Violations,
				worker.Violation{Rule: c.Rule, Object: v.Object, Wrong: v.Wrong})
		}
		switch {
		case c.Reach == reachSkipped, c.Rule == acquirerRuleName: // the worker does not read the acquirer's journal
			found.LeftOut++
		case c.Unchecked != "":
			found.LeftOut++
			found.Unchecked = append(found.Unchecked, worker.Violation{Rule: c.Rule, Wrong: c.Unchecked})
		default:
			found.Rules++
		}
	}
	return found, nil
}
