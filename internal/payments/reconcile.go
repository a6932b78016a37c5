package payments

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
)

// Difference is something in which the acquirer's settlement file and our books
// do not agree.
type Difference struct {
	AccountID string // "" where nobody here knows the reference
	Reference string // the acquirer's, or the id of our object where it has none
	Wrong     string
}

// besideDay is how far beyond a day its file is read: the acquirer acts a moment
// before we book it, and midnight may lie between. A file cannot be held against
// what is still under way, so a day is reconciled an hour after it has ended.
const besideDay = time.Hour

// The file's lines are compared with what we have booked at any time, and what we
// have booked on the day with the lines of that day and an hour around it.
const compareSettlement = `
	WITH line AS (
		SELECT * FROM unnest(@ats::timestamptz[], @keys::text[], @refs::text[], @auths::text[], @kinds::text[], @amounts::bigint[], @currencies::text[])
			AS l (at, key, reference, auth, kind, amount, currency)
	), booked (account_id, id, kind, reference, amount, currency, posting) AS (
		SELECT account_id, id, 'charge', acquirer_reference, amount_captured, currency, balance_transaction FROM charges WHERE captured
		UNION ALL SELECT account_id, id, 'refund', acquirer_reference, amount, currency, balance_transaction FROM refunds WHERE kind = 'refund' AND status = 'succeeded'
		UNION ALL SELECT account_id, id, 'payout', bank_reference, amount, currency, balance_transaction FROM payouts WHERE amount > 0 AND bank_reference IS NOT NULL
		UNION ALL SELECT account_id, id, 'recall', bank_reference, amount, currency, NULL FROM payouts WHERE amount > 0 AND (status = 'canceled' OR reversed_by IS NOT NULL)
	), matched AS (
		SELECT l.*, CASE WHEN l.kind IN ('sale', 'capture') THEN 'charge' ELSE l.kind END AS ours,
		       CASE WHEN l.kind = 'refund' THEN l.reference ELSE l.auth END AS name
		FROM line l
	)
	SELECT coalesce(b.account_id, c.account_id, '') AS account_id, m.reference,
	       CASE WHEN b.id IS NULL THEN 'the acquirer reports a ' || m.kind || ' of ' || m.amount || ' ' || m.currency || ' under ' || m.key || ', and nothing here says so'
	            ELSE 'the acquirer reports a ' || m.kind || ' of ' || m.amount || ' ' || m.currency || ', and ' || b.id || ' says ' || b.amount || ' ' || b.currency END AS wrong
	FROM matched m
	LEFT JOIN booked b ON b.kind = m.ours AND b.reference = m.name
	LEFT JOIN calls c ON c.derived_key = m.key
	WHERE m.at >= @from AND m.at < @to AND c.verdict IS DISTINCT FROM 'unknown'
	  AND (b.id IS NULL OR (b.amount, b.currency) IS DISTINCT FROM (m.amount, m.currency))
	UNION ALL
	SELECT b.account_id, b.id, 'here is a ' || b.kind || ' of ' || b.amount || ' ' || b.currency || ', and the acquirer does not report it'
	FROM booked b
	JOIN ledger_books k ON k.account_id = b.account_id
	JOIN ledger_postings p ON p.book_id = k.id AND p.id = b.posting AND p.created_at >= @from AND p.created_at < @to
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
func Reconcile(ctx context.Context, db *pgxpool.Pool, client *acquirer.Client, day time.Time) ([]Difference, error) {
	from := day.UTC().Truncate(24 * time.Hour)
	to := from.AddDate(0, 0, 1)
	file, err := client.Settlement(ctx, from.Add(-besideDay), to.Add(besideDay))
	if err != nil {
		return nil, err
	}
	rows, err := db.Query(ctx, compareSettlement, settlementArgs(file, from, to))
	if err != nil {
		return nil, fmt.Errorf("compare the settlement file: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[Difference])
	if err != nil {
		return nil, fmt.Errorf("compare the settlement file: %w", err)
	}
	batch := &pgx.Batch{}
	for _, d := range found {
		batch.Queue(insertDifference, pgx.StrictNamedArgs{"account_id": d.AccountID, "day": from, "reference": d.Reference, "wrong": d.Wrong})
	}
	if err := db.SendBatch(ctx, batch).Close(); err != nil {
		return nil, fmt.Errorf("write down differences: %w", err)
	}
	return found, nil
}

func settlementArgs(file []acquirer.SettlementLine, from, to time.Time) pgx.StrictNamedArgs {
	n := len(file)
	ats, amounts := make([]time.Time, n), make([]int64, n)
	keys, refs, auths, kinds, currencies := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, l := range file {
		ats[i], amounts[i] = l.At, l.Amount
		keys[i], refs[i], auths[i], kinds[i], currencies[i] = l.Key, l.Reference, l.Authorization, l.Kind, l.Currency
	}
	return pgx.StrictNamedArgs{"ats": ats, "keys": keys, "refs": refs, "auths": auths, "kinds": kinds, "amounts": amounts, "currencies": currencies,
		"from": from, "to": to}
}

// ReconcileYesterday is Reconcile for the last day whose file is complete.
func ReconcileYesterday(ctx context.Context, db *pgxpool.Pool, client *acquirer.Client) ([]Difference, error) {
	now, err := one[struct{ Now time.Time }](ctx, db, `SELECT clock_timestamp() AS now`, pgx.StrictNamedArgs{})
	if err != nil {
		return nil, err
	}
	return Reconcile(ctx, db, client, now.Now.Add(-2*besideDay).AddDate(0, 0, -1))
}
