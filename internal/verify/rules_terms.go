package verify

// exponents are how many decimals the currency of a book b has.
const exponents = `
	CASE WHEN b.currency IN ('bif', 'clp', 'djf', 'gnf', 'jpy', 'kmf', 'krw', 'mga', 'pyg', 'rwf', 'vnd', 'vuv', 'xaf',
	    'xof', 'xpf') THEN 0
	WHEN b.currency IN ('bhd', 'jod', 'kwd', 'omr', 'tnd') THEN 3 ELSE 2 END`

// termRules prove what follows from the terms of the account alone. The books
// balance with any fee, so nothing else notices a wrong one.
var termRules = []rule{
	{
		since: ofPayments,
		name:  "every fee follows the account's terms", counted: "fees",
		count: `SELECT count(*) FROM ledger_postings WHERE 'stripe_fee' = ANY (purposes)`,
		sql: `
			WITH ` + posted + `, terms AS (
				SELECT p.id, p.kind, p.gross, p.fee, CASE p.kind
				       WHEN 'charge' THEN least(greatest(div(p.gross * 29 + 300 *
				           power(10::numeric, ` + exponents + `) + 500, 1000), 1), p.gross)
				       WHEN 'dispute' THEN CASE ` + exponents + ` WHEN 3 THEN 15000 ELSE 1500 END
				       WHEN 'dispute_reversal' THEN -CASE ` + exponents + ` WHEN 3 THEN 15000 ELSE 1500 END
				       ELSE 0 END AS wanted
				FROM posted p JOIN ledger_books b ON b.id = p.book_id
				WHERE p.kind <> 'reversal')
			SELECT id, kind || ' of ' || gross || ' costs ' || fee || ', and by the terms ' || wanted
			FROM terms WHERE fee <> wanted`,
	},
	{
		// The days and the test clock of a payment are those that its request was made with.
		// An hour is left for a change to or from summer time among the days.
		since: ofPayments,
		name:  "money becomes available when the account's terms say", counted: "postings",
		count: `SELECT count(*) FROM ledger_postings`,
		sql: `
			WITH due AS (
				SELECT p.id, p.available_on, CASE WHEN p.kind = 'charge' AND c.card->>'vault' NOT LIKE 'bypassPending%'
				       THEN p.created_at + make_interval(days
				           => coalesce((q.context->'application'->>'payout_delay_days')::integer, 0))
				            + interval '1 microsecond' *
				            (coalesce((q.context->'application'->>'ahead')::bigint, 0) / 1000)
				       WHEN y.original_payout IS NOT NULL THEN y.arrives_at
				       ELSE p.created_at END AS wanted
				FROM ledger_postings p
				JOIN ledger_books b ON b.id = p.book_id
				LEFT JOIN charges c ON c.account_id = b.account_id AND c.id = p.source
				LEFT JOIN payouts y ON y.account_id = b.account_id AND y.id = p.source AND p.kind = 'payout'
				LEFT JOIN requests q ON q.account_id = b.account_id AND q.id = p.request_id)
			SELECT id, 'is available on ' || available_on || ', and by the terms on ' || wanted
			FROM due WHERE available_on NOT BETWEEN wanted - interval '61 minutes' AND wanted + interval '61 minutes'`,
	},
	{
		since: ofPayments,
		name:  "every uncaptured authorization expires in time", counted: "charges that were not captured",
		count: `SELECT count(*) FROM charges WHERE NOT captured`,
		sql: `
			SELECT c.id, 'can be captured until ' || coalesce(c.capture_before::text, 'the end of time')
			FROM charges c LEFT JOIN requests q ON q.account_id = c.account_id AND q.id = c.request_id
			WHERE c.status = 'succeeded' AND NOT c.captured
			  AND (c.capture_before IS NULL OR c.capture_before > c.created_at + interval '7 days 61 minutes'
			       + interval '1 microsecond' * (coalesce((q.context->'application'->>'ahead')::bigint, 0) / 1000))`,
	},
	{
		// Pauses between attempts are a setting. A sensible one is shorter than a month.
		since: ofChanges,
		name:  "every delivery ends with an attempt, or with its endpoint", counted: "deliveries",
		count: `SELECT count(*) FROM webhook_deliveries`,
		sql: `
			SELECT d.event_id, CASE d.state
			       WHEN 'failed' THEN 'is given up for ' || d.endpoint_id || ', and its last attempt '
			       || coalesce('was answered ' || a.status, 'was not made')
			       ELSE 'is canceled for ' || d.endpoint_id || ', which has been listening' END
			FROM webhook_deliveries d
			JOIN webhook_endpoints w ON w.account_id = d.account_id AND w.id = d.endpoint_id
			LEFT JOIN webhook_attempts a ON a.account_id = d.account_id AND a.event_id = d.event_id
			    AND a.endpoint_id = d.endpoint_id AND a.attempt = d.attempts
			WHERE d.state = 'failed' AND (d.failures = 0 OR a.attempt IS NULL OR a.status BETWEEN 200 AND 299)
			   OR d.state = 'canceled' AND w.status = 'enabled' AND w.deleted_at IS NULL AND d.ended_at > w.changed_at
			UNION ALL
			SELECT d.event_id, 'waits for ' || d.endpoint_id || ' until ' || greatest(d.due_at, d.claimed_until)
			FROM webhook_deliveries d
			WHERE d.state = 'pending'
			  AND (d.due_at > now() + interval '31 days' OR d.claimed_until > now() + interval '1 day')
			UNION ALL
			SELECT d.event_id, 'counts ' || d.failures || ' failures in ' || d.attempts || ' attempts to '
			       || d.endpoint_id || ', and ' || count(a.attempt) || ' failed'
			FROM webhook_deliveries d
			LEFT JOIN webhook_attempts a ON a.account_id = d.account_id AND a.event_id = d.event_id
			    AND a.endpoint_id = d.endpoint_id
			  AND a.ended_at IS NOT NULL AND (a.error IS NOT NULL OR a.status NOT BETWEEN 200 AND 299)
			GROUP BY d.account_id, d.event_id, d.endpoint_id, d.failures, d.attempts
			HAVING d.failures > count(a.attempt)`,
	},
}
