package payout

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// Difference is something in which the acquirer's settlement file and our books
// do not agree.
type Difference struct {
	AccountID string // "" if the reference is unknown
	Reference string // the acquirer's, or the id of our object where it has none
	Wrong     string
}

// besideDay is how far beyond a day its file is read: the acquirer acts a moment
// before we book it, and midnight may lie between. A file cannot be held against
// what is still under way, so a day is reconciled an hour after it has ended.
const besideDay = time.Hour

// What the books say of a movement of money, found by the reference that a line of
// the file has, or by its posting: either is a step into an index. All there is would
// be every charge ever made. A refund is in the file when the acquirer has executed it:
// it may still be pending here, or fail later at the customer's bank.
const (
	bookedCharges = `
		SELECT account_id, id, 'charge' AS kind, acquirer_reference AS reference, amount_captured AS amount, currency
		FROM charges WHERE captured`
	bookedRefunds = `
		SELECT account_id, id, 'refund', acquirer_reference, amount, currency FROM refunds
		WHERE kind = 'refund'`
	bookedPayouts = `SELECT account_id, id, 'payout', bank_reference, amount, currency FROM payouts WHERE amount > 0`
	bookedRecalls = `
		SELECT account_id, id, 'recall', bank_reference, amount, currency FROM payouts
		WHERE amount > 0 AND (status = 'canceled' OR reversed_by IS NOT NULL)`

	bookedOfLine = `(` + bookedCharges + ` AND m.ours = 'charge' AND acquirer_reference = m.name
		UNION ALL ` + bookedRefunds + ` AND m.ours = 'refund' AND acquirer_reference = m.name
		UNION ALL ` + bookedPayouts + ` AND m.ours = 'payout' AND bank_reference = m.name
		UNION ALL ` + bookedRecalls + ` AND m.ours = 'recall' AND bank_reference = m.name)`

	ofPosting       = ` AND account_id = k.account_id AND id = p.source AND balance_transaction = p.id`
	bookedOfPosting = `(` + bookedCharges + ` AND p.kind = 'charge'` + ofPosting + `
		UNION ALL ` + bookedRefunds + ` AND p.kind = 'refund'` + ofPosting + `
		UNION ALL ` + bookedPayouts + ` AND p.kind = 'payout' AND bank_reference IS NOT NULL` + ofPosting + `)`
)

// The file's lines are compared with what we have booked at any time, and what we have booked on the day with the lines
// of that day and an hour around it. A posting's id begins with its time, so a book's day is one piece of its index.
// Without OFFSET 0 PostgreSQL may read all of that index, once there are many books.
const compareSettlement = `
	WITH line AS (
		SELECT * FROM unnest(@ats::timestamptz[], @keys::text[], @refs::text[], @auths::text[], @kinds::text[],
		       @amounts::bigint[], @currencies::text[])
			AS l (at, key, reference, auth, kind, amount, currency)
	), matched AS (
		SELECT l.*, CASE WHEN l.kind IN ('sale', 'capture') THEN 'charge' ELSE l.kind END AS ours,
		       CASE WHEN l.kind = 'refund' THEN l.reference ELSE l.auth END AS name
		FROM line l
	)
	SELECT coalesce(b.account_id, a.account_id, f.account_id, '') AS account_id, m.reference,
	       CASE WHEN b.id IS NULL THEN 'the acquirer reports a ' || m.kind || ' of ' || m.amount || ' ' || m.currency
	           || ' under ' || m.key || ', and nothing here says so'
	            ELSE 'the acquirer reports a ' || m.kind || ' of ' || m.amount || ' ' || m.currency || ', and ' || b.id
	            || ' says ' || b.amount || ' ' || b.currency END AS wrong
	FROM matched m
	LEFT JOIN LATERAL ` + bookedOfLine + ` b ON true
	LEFT JOIN (SELECT account_id, call_keys[1] AS key FROM answers WHERE cardinality(call_keys) > 0) a ON a.key = m.key
	LEFT JOIN foreign_calls f ON f.derived_key = m.key
	WHERE m.at >= @from AND m.at < @to
	  AND NOT EXISTS (SELECT FROM runs r
	      WHERE m.key = ANY (r.call_keys)
	        AND r.call_phases[array_position(r.call_keys, m.key)] <> ALL (r.recovery_points))
	  AND (b.id IS NULL OR (b.amount, b.currency) IS DISTINCT FROM (m.amount, m.currency))
	UNION ALL
	SELECT b.account_id, b.id,
	       'here is a ' || b.kind || ' of ' || b.amount || ' ' || b.currency || ', and the acquirer does not report it'
	FROM ledger_books k
	CROSS JOIN LATERAL (
		SELECT * FROM ledger_postings WHERE book_id = k.id AND id >= @first_id AND id < @last_id
		  AND created_at >= @from AND created_at < @to OFFSET 0) p
	CROSS JOIN LATERAL ` + bookedOfPosting + ` b
	WHERE NOT EXISTS (SELECT FROM matched m WHERE m.ours = b.kind AND m.name = b.reference)
	UNION ALL
	SELECT '', m.reference, 'the acquirer reports it ' || count(*) || ' times'
	FROM matched m WHERE m.at >= @from AND m.at < @to GROUP BY m.reference, m.kind HAVING count(*) > 1`

const insertDifference = `
	INSERT INTO settlement_differences (account_id, day, reference, wrong)
	VALUES (@account_id, @day, @reference, @wrong)
	ON CONFLICT DO NOTHING`

// Reconcile compares the acquirer's settlement file of a day, in UTC, with our
// books, writes down what differs and returns it. It changes nothing else, and
// what was written down before is not written again.
func Reconcile(ctx context.Context, db *pgxpool.Pool, reports acquirer.Reports, day time.Time) ([]Difference, error) {
	from := day.UTC().Truncate(24 * time.Hour)
	to := from.AddDate(0, 0, 1)
	file, err := reports.Settlement(ctx, from.Add(-besideDay), to.Add(besideDay))
	if err != nil {
		return nil, err
	}
	found, err := resource.QueryWithTimeout[Difference](ctx, db, compareSettlement, settlementArgs(file, from, to))
	if err != nil {
		return nil, fmt.Errorf("compare the settlement file: %w", err)
	}
	batch := &pgx.Batch{}
	for _, d := range found {
		batch.Queue(insertDifference,
			pgx.StrictNamedArgs{"account_id": d.AccountID, "day": from, "reference": d.Reference, "wrong": d.Wrong})
	}
	if err := db.SendBatch(ctx, batch).Close(); err != nil {
		return nil, fmt.Errorf("record differences: %w", err)
	}
	return found, nil
}

func settlementArgs(file []acquirer.SettlementLine, from, to time.Time) pgx.StrictNamedArgs {
	n := len(file)
	ats, amounts := make([]time.Time, n), make([]int64, n)
	keys := make([]string, n)
	refs := make([]string, n)
	auths := make([]string, n)
	kinds := make([]string, n)
	currencies := make([]string, n)
	for i, l := range file {
		ats[i], amounts[i] = l.At, l.Amount
		keys[i], refs[i], auths[i], kinds[i], currencies[i] = l.Key, l.Reference, l.Authorization, l.Kind, l.Currency
	}
	return pgx.StrictNamedArgs{
		"ats":        ats,
		"keys":       keys,
		"refs":       refs,
		"auths":      auths,
		"kinds":      kinds,
		"amounts":    amounts,
		"currencies": currencies,
		"from":       from,
		"to":         to,
		"first_id":   postingAt(from.Add(-besideDay)),
		"last_id":    postingAt(to.Add(besideDay)),
	}
}

// postingAt is less than the ids of all postings made at that time or later.
func postingAt(at time.Time) string { return "txn_" + id.EncodeTime(at) }

// ReconcileYesterday is Reconcile for the last day whose file is complete.
func ReconcileYesterday(ctx context.Context, db *pgxpool.Pool, reports acquirer.Reports) ([]Difference, error) {
	now, err := resource.QueryOne[struct{ Now time.Time }](ctx, db, `SELECT clock_timestamp() AS now`,
		pgx.StrictNamedArgs{})
	if err != nil {
		return nil, err
	}
	return Reconcile(ctx, db, reports, now.Now.Add(-2*besideDay).AddDate(0, 0, -1))
}
