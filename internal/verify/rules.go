package verify

// rule is one thing that has to hold, and the SQL that finds where it does not.
// Each statement returns (object, wrong): the thing at fault, and what is wrong
// with it. None shares a line with the code that writes, nor do they look through
// the views that the API reads: those are among the things to be proved.
type rule struct {
	name    string // as an auditor would say it
	counted string // what is checked, for "n …" in the report
	count   string // how many there are
	sql     string
	since   scope // what an incremental run looks at

	// hidden: the rule reads what the worker's role may not, such as the hashes of passwords.
	hidden bool
}

// legsOf are the legs of posting p. Element n of each of its arrays is leg n.
const legsOf = `unnest(p.purposes, p.debits, p.credits, p.amounts) WITH ORDINALITY
	AS l (purpose, debit, credit, amount, leg)`

// posted is every posting with its book, and what its legs do to the merchant's
// balance: gross, and the fee that is taken off it.
const posted = `posted AS (
	SELECT b.account_id, b.livemode, b.currency, p.book_id, p.id, p.source, p.kind, p.request_id, s.gross, s.fee,
	       s.moves
	FROM ledger_postings p
	JOIN ledger_books b ON b.id = p.book_id
	CROSS JOIN LATERAL (
		SELECT coalesce(sum(amount) FILTER (WHERE purpose = 'gross' AND credit = 'merchant_balance'), 0)
		     - coalesce(sum(amount) FILTER (WHERE purpose = 'gross' AND debit = 'merchant_balance'), 0) AS gross,
		       coalesce(sum(amount) FILTER (WHERE purpose = 'stripe_fee' AND debit = 'merchant_balance'), 0)
		     - coalesce(sum(amount) FILTER (WHERE purpose = 'stripe_fee' AND credit = 'merchant_balance'), 0) AS fee,
		       coalesce(bool_or('merchant_balance' IN (debit, credit)), false) AS moves
		FROM ` + legsOf + `
	) s)`

// asked is every request with its run or its answer, from the tables themselves.
const asked = `(
	SELECT ` + askedColumns + `
	FROM requests q
	LEFT JOIN runs u ON u.account_id = q.account_id AND u.request_id = q.id
	LEFT JOIN answers a ON a.account_id = q.account_id AND a.request_id = q.id)`

// askedOfAll is the same where a rule looks up a request that may be older than what it checks.
const askedOfAll = `(
	SELECT ` + askedColumns + `
	FROM public.requests q
	LEFT JOIN runs u ON u.account_id = q.account_id AND u.request_id = q.id
	LEFT JOIN public.answers a ON a.account_id = q.account_id AND a.request_id = q.id)`

const askedColumns = `
	       q.account_id, q.id, q.livemode, q.key, q.key_generated, q.flow, q.version, q.fingerprint, q.params,
	       q.context, q.created_at, u.request_id IS NOT NULL AS has_run, u.state,
	       a.request_id IS NOT NULL AS has_answer, a.status, a.object_id, a.body, a.finished_at, a.archived_at,
	       a.redacted_at, coalesce(a.recovery_points, u.recovery_points) AS path`

// adoptions are the flows that book what the acquirer executed for a request that a
// restored backup has lost.
const adoptions = `'charge.adopt', 'charge.adopt_capture', 'refund.adopt'`

// retried is every retry of a lost request that was answered with an adopted charge: it
// called under the key that the adoption names.
const retried = `(
	SELECT w.account_id, w.request_id, a.object_id, a.request_id AS adopted_by
	FROM requests q
	JOIN answers a ON a.account_id = q.account_id AND a.request_id = q.id
	JOIN answers w ON w.account_id = q.account_id AND cardinality(w.call_keys) > 0
	    AND w.call_keys[1] = substr(q.key, length('adopt ') + 1)
	WHERE q.flow = 'charge.adopt')`

// refunded is every refund with the request that was answered with it: the one that made
// it, or a retry of a lost request that found it adopted.
const refunded = `(
	SELECT account_id, id, charge_id, request_id, status, acquirer_reference FROM refunds
	UNION ALL
	SELECT DISTINCT ON (w.account_id, w.id) f.account_id, f.id, f.charge_id, w.id, f.status, f.acquirer_reference
	FROM requests q
	JOIN refunds f ON f.account_id = q.account_id AND f.request_id = q.id
	JOIN ` + asked + ` w ON w.account_id = f.account_id AND w.status = 200 AND NOT EXISTS (
	       SELECT FROM refunds own WHERE own.account_id = w.account_id AND own.request_id = w.id)
	  AND (w.flow IN ('refund.create', 'charge.refund.create') AND w.object_id = f.id OR w.flow = 'charge.refund'
	      AND w.object_id = f.charge_id)
	WHERE q.flow = 'refund.adopt')`

// emitted is every change there must be an event of, and whether an amount belongs
// to it: from the objects where they remember the request that made them, from
// the requests where they do not.
const emitted = `told_of (flow, type) AS (VALUES
		('charge.capture', 'charge.captured'), ('charge.adopt_capture', 'charge.captured'),
		('acquirer.refund.failed', 'refund.failed'), ('acquirer.dispute.closed', 'charge.dispute.closed'),
		('dispute.close', 'charge.dispute.closed'), ('charge.dispute.close', 'charge.dispute.closed'),
		('payment_intent.cancel', 'payment_intent.canceled'),
		('payment_intent.capture', 'payment_intent.succeeded'), ('payout.cancel', 'payout.canceled'),
		('payout.arrive', 'payout.paid'), ('product.delete', 'product.deleted'),
		('coupon.delete', 'coupon.deleted'), ('checkout_session.expire', 'checkout.session.expired'),
		('customer.delete', 'customer.deleted'), ('card.delete', 'customer.source.deleted')
), finished AS MATERIALIZED ( -- requests are read once, not once for each kind of event
	SELECT account_id, id, flow, object_id, params->>'Passed' AS passed FROM ` + asked + ` q
	WHERE status = 200 AND flow IN (SELECT flow FROM told_of
		UNION VALUES ('payment_intent.authenticate'), ('test_clock.delete'))
), emitted (account_id, request_id, type, object_id, amount) AS (
	SELECT account_id, request_id, 'charge.' || status, id, amount FROM charges WHERE status <> 'pending'
	UNION ALL SELECT account_id, request_id, 'refund.created', id, amount FROM refunds
	WHERE status <> 'pending' OR acquirer_reference IS NOT NULL
	UNION ALL SELECT account_id, request_id, 'refund.failed', id, amount FROM refunds
	WHERE status = 'failed' AND acquirer_reference IS NULL
	UNION ALL SELECT account_id, request_id, 'charge.refunded', charge_id, NULL FROM refunds
	WHERE acquirer_reference IS NOT NULL AND kind <> 'remainder'
	UNION ALL SELECT account_id, request_id, 'charge.expired', charge_id, NULL FROM refunds
	WHERE reason = 'expired_uncaptured_charge' AND status = 'succeeded'
	UNION ALL SELECT account_id, request_id, 'charge.dispute.created', id, amount FROM disputes
	UNION ALL SELECT b.account_id, p.request_id,
	    CASE p.kind WHEN 'dispute' THEN 'charge.dispute.funds_withdrawn' ELSE 'charge.dispute.funds_reinstated' END,
	        p.source, NULL
	          FROM ledger_postings p JOIN ledger_books b ON b.id = p.book_id
	          WHERE p.kind IN ('dispute', 'dispute_reversal')
	UNION ALL SELECT account_id, request_id, 'customer.created', id, NULL FROM customers
	UNION ALL SELECT account_id, request_id, 'customer.source.created', id, NULL FROM cards
	UNION ALL SELECT r.account_id, r.id, 'charge.captured', p.latest_charge, NULL
		FROM finished r JOIN public.payment_intents p ON p.account_id = r.account_id AND p.id = r.object_id
		WHERE r.flow = 'payment_intent.capture'
	UNION ALL SELECT account_id, request_id, 'payment_intent.created', id, NULL FROM payment_intents
	UNION ALL SELECT c.account_id, coalesce(t.request_id, c.request_id), 'payment_intent.succeeded',
	    c.payment_intent_id, NULL
		FROM charges c LEFT JOIN ` + retried + ` t ON t.account_id = c.account_id AND t.adopted_by = c.request_id
		WHERE c.payment_intent_id IS NOT NULL AND c.captured
		  AND coalesce(t.request_id, c.request_id) NOT IN (SELECT request_id FROM events
		      WHERE type = 'payment_intent.amount_capturable_updated')
	UNION ALL SELECT account_id, request_id, 'payment_intent.payment_failed', payment_intent_id, NULL FROM charges
		WHERE payment_intent_id IS NOT NULL AND status = 'failed'
	UNION ALL SELECT r.account_id, r.id, 'payment_intent.payment_failed', r.object_id, NULL
		FROM finished r WHERE r.flow = 'payment_intent.authenticate' AND r.passed = 'false'
	UNION ALL SELECT account_id, request_id, 'payout.created', id, amount FROM payouts WHERE status <> 'new'
	UNION ALL SELECT account_id, request_id, 'payout.failed', id, amount FROM payouts WHERE status = 'failed'
	UNION ALL SELECT account_id, request_id, 'payout.paid', id, amount FROM payouts
	WHERE method = 'instant' AND status = 'paid'
	UNION ALL SELECT r.account_id, r.id, 'payment_intent.canceled', p.id, NULL
		FROM finished r JOIN public.payment_intents p ON p.account_id = r.account_id
		    AND p.checkout_session = r.object_id
		WHERE r.flow = 'checkout_session.expire'
	UNION ALL SELECT account_id, request_id, 'setup_intent.created', id, NULL FROM setup_intents
	UNION ALL SELECT account_id, request_id, 'product.created', id, NULL FROM products
	UNION ALL SELECT account_id, request_id, 'price.created', id, NULL FROM prices
	UNION ALL SELECT account_id, request_id, 'coupon.created', id, NULL FROM coupons
	UNION ALL SELECT r.account_id, r.id, 'customer.deleted', c.id, NULL
		FROM finished r JOIN test_clocks t ON t.account_id = r.account_id AND t.id = r.object_id
		JOIN public.customers c ON c.account_id = t.account_id AND c.test_clock = t.id AND c.deleted_at = t.deleted_at
		WHERE r.flow = 'test_clock.delete'
	UNION ALL SELECT q.account_id, q.id, t.type, q.object_id, NULL FROM finished q JOIN told_of t ON t.flow = q.flow)`

// keys is every key under which another system was asked: announced by a run, kept
// in an answer, or retired with the proof that nothing was done under it.
const keys = `keys AS (
	SELECT r.account_id, r.request_id, c.phase, c.generation, c.key, false AS retired,
	       c.phase <> ALL (r.recovery_points) AS open
	FROM (SELECT account_id, request_id, recovery_points, call_phases, call_generations, call_keys FROM runs
	      UNION ALL SELECT account_id, request_id, recovery_points, call_phases, call_generations, call_keys
	      FROM answers) r
	CROSS JOIN LATERAL unnest(r.call_phases, r.call_generations, r.call_keys) AS c (phase, generation, key)
	UNION ALL
	SELECT account_id, request_id, phase, generation, derived_key, true, false FROM foreign_calls)`

var rules = []rule{
	{
		name: "the books balance, per currency and mode", counted: "books",
		count: `SELECT count(*) FROM ledger_books`,
		sql: `
			SELECT b.currency || CASE WHEN b.livemode THEN ' live' ELSE ' test' END,
			       'debits and credits differ by ' || sum(e.amount)
			FROM ledger_postings p JOIN ledger_books b ON b.id = p.book_id
			CROSS JOIN LATERAL ` + legsOf + `
			CROSS JOIN LATERAL (VALUES (l.debit, l.amount), (l.credit, -l.amount)) AS e (account, amount)
			WHERE e.account IS NOT NULL
			GROUP BY b.currency, b.livemode HAVING sum(e.amount) <> 0
			UNION ALL
			SELECT coalesce(b.account, v.account)::text || ' in book ' || coalesce(b.book_id, v.book_id),
			       'has entries of ' || coalesce(b.amount, 0) || ', and people are shown '
			       || coalesce(v.amount, 0) || ' or ' || coalesce(t.amount, 0)
			FROM (SELECT p.book_id, e.account, sum(e.amount) AS amount, count(*) AS entries
			      FROM ledger_postings p CROSS JOIN LATERAL ` + legsOf + `
			      CROSS JOIN LATERAL (VALUES (l.debit, l.amount), (l.credit, -l.amount)) AS e (account, amount)
			      GROUP BY p.book_id, e.account) b
			FULL JOIN (SELECT book_id, account, sum(amount) AS amount, count(*) AS entries FROM ledger_entries
			    GROUP BY book_id, account) v ON v.book_id = b.book_id AND v.account = b.account
			LEFT JOIN (SELECT book_id, account, debit - credit AS amount, debits + credits AS entries
			    FROM ledger_totals) t ON t.book_id = b.book_id AND t.account = b.account
			WHERE (b.amount, b.entries) IS DISTINCT FROM (v.amount, v.entries)
			   OR (b.amount, b.entries) IS DISTINCT FROM (t.amount::numeric, t.entries)`,
	},
	{
		since: ofPayments,
		name:  "the balance transactions shown to merchants match the postings", counted: "postings",
		count: `SELECT count(*) FROM ledger_postings`,
		sql: `
			WITH ` + posted + `, moving AS (
				SELECT p.* FROM posted p
				WHERE p.moves)
			SELECT coalesce(p.id, t.id),
			       'posted ' || coalesce(p.gross || ' less ' || p.fee, 'nothing') || ', shown '
			       || coalesce(t.amount || ' less ' || t.fee || ', net ' || t.net, 'nothing')
			FROM moving p FULL JOIN balance_transactions t ON t.book_id = p.book_id AND t.id = p.id
			WHERE (t.amount, t.fee, t.net, t.account_id, t.livemode, t.currency, t.source, t.kind)
			      IS DISTINCT FROM (p.gross::bigint, p.fee::bigint, (p.gross - p.fee)::bigint, p.account_id, p.livemode,
			          p.currency, p.source, p.kind)`,
	},
	{
		since: ofPayments,
		name:  "every posting has exactly its legs", counted: "postings",
		count: `SELECT count(*) FROM ledger_postings`,
		sql: `
			SELECT p.id, 'has ' || coalesce(cardinality(p.amounts), 0) || ' amounts, '
			       || coalesce(cardinality(p.purposes), 0) || ' purposes, '
			       || coalesce(cardinality(p.debits), 0) || ' debits and ' || coalesce(cardinality(p.credits), 0)
			       || ' credits'
			FROM ledger_postings p
			WHERE coalesce(cardinality(p.amounts), 0) = 0
			   OR (cardinality(p.purposes), cardinality(p.debits), cardinality(p.credits)) IS DISTINCT FROM
			      (cardinality(p.amounts), cardinality(p.amounts), cardinality(p.amounts))
			          OR array_ndims(p.amounts) <> 1
			UNION ALL
			SELECT p.id, 'leg ' || l.leg || ' is '
			       || concat_ws(' ', coalesce(l.amount::text, 'no amount'), 'from', coalesce(l.credit::text, 'nowhere'),
			           'to', coalesce(l.debit::text, 'nowhere'))
			FROM ledger_postings p CROSS JOIN LATERAL ` + legsOf + `
			WHERE num_nulls(l.purpose, l.debit, l.credit, l.amount) > 0 OR l.amount <= 0 OR l.debit = l.credit
			UNION ALL
			SELECT p.id, 'is in book ' || p.book_id || ', which does not exist'
			FROM ledger_postings p LEFT JOIN ledger_books b ON b.id = p.book_id WHERE b.id IS NULL
			UNION ALL
			SELECT k.refund, 'is chained in book ' || k.book_id || ', which does not exist'
			FROM ledger_refund_chain k LEFT JOIN ledger_books b ON b.id = k.book_id WHERE b.id IS NULL
			UNION ALL
			SELECT p.id, 'reverses ' || p.reverses || ', which does not exist'
			FROM ledger_postings p LEFT JOIN public.ledger_postings r ON r.book_id = p.book_id AND r.id = p.reverses
			WHERE p.reverses IS NOT NULL AND r.id IS NULL`,
	},
	{
		name: "every closed period matches its postings", counted: "periods",
		count: `SELECT count(*) FROM ledger_periods`,
		sql: `
			WITH posting AS MATERIALIZED (
				SELECT c.book_id, c.until, p.*
				FROM ledger_periods c
				CROSS JOIN LATERAL (
					SELECT p.id, p.available_on, p.purposes, p.debits, p.credits, p.amounts, n.net,
					       p.available_on > p.created_at AS waits
					FROM ledger_postings p
					CROSS JOIN LATERAL (SELECT sum(CASE WHEN l.credit = 'merchant_balance' THEN l.amount
					    WHEN l.debit = 'merchant_balance' THEN -l.amount ELSE 0 END) AS net FROM ` + legsOf + `) n
					WHERE p.book_id = c.book_id AND p.source <> '' AND p.created_at >= c.since
					  AND p.created_at < c.until) p -- <> '': see postings_by_time
			), entry AS (
				SELECT p.book_id, p.until, side.account, sum(side.debit) AS debit, sum(side.credit) AS credit,
				       count(*) FILTER (WHERE side.debit > 0) AS debits,
				       count(*) FILTER (WHERE side.credit > 0) AS credits
				FROM posting p CROSS JOIN LATERAL ` + legsOf + `
				CROSS JOIN LATERAL (VALUES (l.debit, l.amount, 0), (l.credit, 0, l.amount)) AS side (account, debit,
				    credit)
				GROUP BY p.book_id, p.until, side.account
			), whole AS (
				SELECT book_id, until, count(*) AS postings, sum(net) FILTER (WHERE net > 0 AND waits) AS maturing,
				       min(available_on) FILTER (WHERE net > 0 AND waits) AS matures_from,
				       max(available_on) FILTER (WHERE net > 0 AND waits) AS matures_until
				FROM posting GROUP BY book_id, until)
			SELECT 'book ' || coalesce(e.book_id, s.book_id),
			       'until ' || coalesce(e.until, s.until) || ' ' || coalesce(e.account, s.account) || ' was debited '
			       || coalesce(e.debit, 0) || ' and credited ' || coalesce(e.credit, 0) || ', and its period says '
			       || coalesce(s.debit || ' and ' || s.credit, 'nothing')
			FROM entry e FULL JOIN ledger_period_sums s ON s.book_id = e.book_id AND s.until = e.until
			    AND s.account = e.account
			WHERE (e.debit, e.credit, e.debits, e.credits)
			    IS DISTINCT FROM (s.debit::numeric, s.credit::numeric, s.debits, s.credits)
			UNION ALL
			SELECT 'book ' || c.book_id,
			       'until ' || c.until || ' its period says ' || c.postings || ' postings of which ' || c.maturing
			       || ' matures, and there are '
			       || coalesce(w.postings, 0) || ' and ' || coalesce(w.maturing, 0)
			FROM ledger_periods c LEFT JOIN whole w ON w.book_id = c.book_id AND w.until = c.until
			WHERE (c.postings::bigint, c.maturing::numeric, c.matures_from, c.matures_until) IS DISTINCT FROM
			      (coalesce(w.postings, 0), coalesce(w.maturing, 0), coalesce(w.matures_from, '-infinity'),
			          coalesce(w.matures_until, '-infinity'))
			UNION ALL
			SELECT 'book ' || c.book_id, 'the period from ' || c.since || ' has nothing before it'
			FROM ledger_periods c LEFT JOIN ledger_periods before ON before.book_id = c.book_id
			    AND before.until = c.since
			WHERE c.since > '-infinity' AND before.until IS NULL`,
	},
	{
		name: "the sums of every day agree with its charges and webhook attempts", counted: "days",
		count: `SELECT (SELECT count(*) FROM charge_days) + (SELECT count(*) FROM attempt_days)`,
		sql: `
			WITH charged AS (
				SELECT c.account_id, c.livemode, c.currency, date_trunc('day', c.created_at, 'UTC') AS day,
				       count(*) FILTER (WHERE c.status <> 'pending') AS tried,
				       count(*) FILTER (WHERE c.status = 'succeeded') AS approved,
				       count(*) FILTER (WHERE c.captured) AS captured, sum(c.amount_captured) AS amount
				FROM charges c JOIN counted k ON k.account_id = c.account_id AND c.id < k.charges_before
				WHERE NOT EXISTS (SELECT FROM charges_to_count w WHERE w.account_id = c.account_id AND w.id = c.id)
				GROUP BY 1, 2, 3, 4
			), attempted AS (
				SELECT t.account_id, e.livemode, date_trunc('day', t.started_at, 'UTC') AS day, count(*) AS tried,
				       count(*) FILTER (WHERE t.status BETWEEN 200 AND 299) AS acknowledged
				FROM webhook_attempts t JOIN webhook_endpoints e ON e.account_id = t.account_id AND e.id = t.endpoint_id
				JOIN counted k ON k.account_id = t.account_id AND t.started_at < k.attempts_before
				WHERE NOT e.listener AND NOT EXISTS (
				    SELECT FROM attempts_to_count w WHERE w.account_id = t.account_id AND w.event_id = t.event_id
				        AND w.endpoint_id = t.endpoint_id AND w.attempt = t.attempt)
				GROUP BY 1, 2, 3
			)
			SELECT coalesce(c.account_id, d.account_id),
			       concat('on ', coalesce(c.day::date, d.day), ' had ', c.tried, ' charges, of which ', c.approved,
			           ' approved and ', c.captured, ' captured with ', c.amount, ' ', c.currency,
			           ', and its sum says ', d.tried, ', ', d.approved, ', ', d.captured, ' and ', d.amount,
			           ' ', d.currency)
			FROM charged c FULL JOIN charge_days d ON d.account_id = c.account_id AND d.livemode = c.livemode
			    AND d.currency = c.currency AND d.day = (c.day AT TIME ZONE 'UTC')::date
			WHERE (c.tried, c.approved, c.captured, c.amount)
			    IS DISTINCT FROM (d.tried, d.approved, d.captured, d.amount::numeric)
			UNION ALL
			SELECT coalesce(t.account_id, d.account_id),
			       concat('on ', coalesce(t.day::date, d.day), ' had ', t.tried, ' webhook attempts, of which ',
			           t.acknowledged, ' were acknowledged, and its sum says ', d.tried, ' and ', d.acknowledged)
			FROM attempted t FULL JOIN attempt_days d ON d.account_id = t.account_id AND d.livemode = t.livemode
			    AND d.day = (t.day AT TIME ZONE 'UTC')::date
			WHERE (t.tried, t.acknowledged) IS DISTINCT FROM (d.tried, d.acknowledged)
			UNION ALL
			SELECT w.id, 'waits to be counted, and is not among the charges that were'
			FROM charges_to_count w LEFT JOIN counted k ON k.account_id = w.account_id AND w.id < k.charges_before
			WHERE k.account_id IS NULL
			UNION ALL
			SELECT w.event_id, 'has attempt ' || w.attempt || ' to ' || w.endpoint_id
			       || ', which waits to be counted, and is not among those that were'
			FROM attempts_to_count w LEFT JOIN webhook_attempts t ON t.account_id = w.account_id
			    AND t.event_id = w.event_id AND t.endpoint_id = w.endpoint_id AND t.attempt = w.attempt
			LEFT JOIN counted k ON k.account_id = w.account_id AND t.started_at < k.attempts_before
			WHERE k.account_id IS NULL`,
	},
	{
		since: ofPayments,
		name:  "every leg has the accounts of its kind of posting", counted: "legs",
		count: `SELECT coalesce(sum(cardinality(amounts)), 0)::bigint FROM ledger_postings`,
		sql: `
			SELECT p.id, concat(p.kind, ' with a leg ', l.purpose, ' from ', l.credit, ' to ', l.debit)
			FROM ledger_postings p CROSS JOIN LATERAL ` + legsOf + `
			LEFT JOIN (VALUES ('charge', 'gross', 'processor_receivable', 'merchant_balance'),
			                  ('charge', 'stripe_fee', 'merchant_balance', 'fee_revenue'),
			                  ('refund', 'gross', 'merchant_balance', 'processor_receivable'),
			                  ('refund_failure', 'gross', 'processor_receivable', 'merchant_balance'),
			                  ('dispute', 'gross', 'merchant_balance', 'processor_receivable'),
			                  ('dispute', 'stripe_fee', 'merchant_balance', 'dispute_fee_revenue'),
			                  ('dispute_reversal', 'gross', 'processor_receivable', 'merchant_balance'),
			                  ('dispute_reversal', 'stripe_fee', 'dispute_fee_revenue', 'merchant_balance'),
			                  ('settlement', 'gross', 'bank_cash', 'processor_receivable'),
			                  ('settlement', 'gross', 'processor_receivable', 'bank_cash')) AS way (kind, purpose,
			                  debit, credit)
			  ON way.kind = p.kind AND way.purpose = l.purpose::text AND way.debit = l.debit::text
			      AND way.credit = l.credit::text
			WHERE p.kind NOT IN ('reversal', 'adjustment') AND way.kind IS NULL AND p.kind NOT LIKE 'payout%'
			UNION ALL
			SELECT p.id, 'moves ' || count(*) FILTER (WHERE l.purpose = 'gross') || ' amounts for '
			       || count(*) FILTER (WHERE l.purpose = 'stripe_fee') || ' fees'
			FROM ledger_postings p CROSS JOIN LATERAL ` + legsOf + `
			WHERE p.kind IN ('charge', 'refund', 'refund_failure', 'dispute', 'dispute_reversal', 'settlement')
			GROUP BY p.book_id, p.id, p.kind
			HAVING count(*) FILTER (WHERE l.purpose = 'gross') <> CASE p.kind WHEN 'settlement'
			    THEN count(DISTINCT l.debit) FILTER (WHERE l.purpose = 'gross') ELSE 1 END
			    OR count(*) FILTER (WHERE l.purpose = 'stripe_fee')
			    <> CASE WHEN p.kind IN ('charge', 'dispute', 'dispute_reversal') THEN 1 ELSE 0 END
			UNION ALL
			SELECT id, 'has a fee of ' || fee || ' on ' || gross
			FROM (WITH ` + posted + ` SELECT id, fee, gross FROM posted WHERE kind = 'charge') AS sale WHERE fee > gross
			UNION ALL
			SELECT p.id, 'does not mirror ' || p.reverses
			FROM ledger_postings p LEFT JOIN public.ledger_postings r ON r.book_id = p.book_id AND r.id = p.reverses
			WHERE p.kind = 'reversal'
			  AND (p.purposes, p.debits, p.credits, p.amounts)
			      IS DISTINCT FROM (r.purposes, r.credits, r.debits, r.amounts)`,
	},
	{
		since: ofPayments,
		name:  "every capture is posted once, with its amount", counted: "captured charges",
		count: `SELECT count(*) FROM charges WHERE captured`,
		sql: `
			WITH ` + posted + `
			SELECT c.id, 'captured ' || c.amount_captured || ' ' || c.currency || ', posted '
			       || coalesce(string_agg(t.gross || ' ' || t.currency || ' as ' || t.id, ' and '), 'nothing')
			FROM charges c LEFT JOIN posted t ON t.source = c.id AND t.kind = 'charge'
			WHERE c.captured
			GROUP BY c.account_id, c.id, c.amount_captured, c.currency, c.livemode, c.balance_transaction
			HAVING count(t.id) <> 1 OR (min(t.gross), min(t.currency), min(t.account_id), bool_and(t.livemode),
			    min(t.id))
			       IS DISTINCT FROM (c.amount_captured::numeric, c.currency, c.account_id, c.livemode,
			           c.balance_transaction)`,
	},
	{
		since: ofPayments,
		name:  "every refund is posted once, with its amount", counted: "refunds of money",
		count: `SELECT count(*) FROM refunds WHERE balance_transaction IS NOT NULL`,
		sql: `
			WITH ` + posted + `
			SELECT r.id, 'refunded ' || r.amount || ' ' || r.currency || ', posted '
			       || coalesce(string_agg(t.gross || ' ' || t.currency || ' as ' || t.id, ' and '), 'nothing')
			FROM refunds r LEFT JOIN posted t ON t.source = r.id AND t.kind = 'refund'
			WHERE r.kind = 'refund' AND (r.status = 'succeeded' OR r.failure_balance_transaction IS NOT NULL)
			GROUP BY r.account_id, r.id, r.amount, r.currency, r.livemode, r.balance_transaction
			HAVING count(t.id) <> 1 OR (min(t.gross), min(t.currency), min(t.account_id), bool_and(t.livemode),
			    min(t.id))
			       IS DISTINCT FROM (-r.amount::numeric, r.currency, r.account_id, r.livemode, r.balance_transaction)
			UNION ALL
			SELECT r.id, 'came back after it was refunded, posted '
			       || coalesce(string_agg(t.gross || ' ' || t.currency || ' as ' || t.id, ' and '), 'nothing')
			FROM refunds r LEFT JOIN posted t ON t.source = r.id AND t.kind = 'refund_failure'
			WHERE r.status = 'failed' AND r.balance_transaction IS NOT NULL
			GROUP BY r.account_id, r.id, r.amount, r.currency, r.livemode, r.failure_balance_transaction
			HAVING count(t.id) <> 1 OR (min(t.gross), min(t.currency), min(t.account_id), bool_and(t.livemode),
			    min(t.id))
			       IS DISTINCT FROM (r.amount::numeric, r.currency, r.account_id, r.livemode,
			           r.failure_balance_transaction)`,
	},
	{
		since: ofPayments,
		name:  "every posting has a source", counted: "postings",
		count: `SELECT count(*) FROM ledger_postings`,
		sql: `
			SELECT p.id, 'charge of ' || p.source || ', which was not captured'
			FROM ledger_postings p JOIN ledger_books b ON b.id = p.book_id
			LEFT JOIN charges c ON c.account_id = b.account_id AND c.id = p.source AND c.captured
			WHERE p.kind = 'charge' AND c.id IS NULL
			UNION ALL
			SELECT p.id, 'refund of ' || p.source || ', which gave no money back'
			FROM ledger_postings p JOIN ledger_books b ON b.id = p.book_id
			LEFT JOIN refunds r ON r.account_id = b.account_id AND r.id = p.source AND r.kind = 'refund'
			    AND r.balance_transaction IS NOT NULL
			WHERE p.kind = 'refund' AND r.id IS NULL
			UNION ALL
			SELECT p.id, p.kind || ' of ' || p.source || ', which no object here says'
			FROM ledger_postings p JOIN ledger_books b ON b.id = p.book_id
			LEFT JOIN (SELECT account_id, id, failure_balance_transaction AS posting, 'refund_failure' AS kind
			    FROM refunds
			           UNION ALL SELECT account_id, id, withdrawal, 'dispute' FROM disputes
			           UNION ALL SELECT account_id, id, reinstatement, 'dispute_reversal' FROM disputes) o
			  ON o.account_id = b.account_id AND o.id = p.source AND o.kind = p.kind AND o.posting = p.id
			WHERE p.kind IN ('refund_failure', 'dispute', 'dispute_reversal') AND o.id IS NULL
			UNION ALL
			SELECT p.id, 'settlement of ' || p.source || ', which the acquirer did not announce'
			FROM ledger_postings p JOIN ledger_books b ON b.id = p.book_id
			LEFT JOIN settlement_parts s ON s.account_id = b.account_id AND s.id = p.source
			LEFT JOIN ` + asked + ` r ON r.account_id = b.account_id AND r.id = p.request_id AND r.object_id = p.source
			    AND r.flow = 'settlement.late'
			WHERE p.kind = 'settlement' AND num_nonnulls(s.id, r.id) <> 1
			UNION ALL
			SELECT p.id, p.kind || ' of ' || p.source || ', which no operator''s row in the audit trail vouches for'
			FROM ledger_postings p JOIN ledger_books b ON b.id = p.book_id
			LEFT JOIN audit_events a ON a.account_id = b.account_id AND a.livemode = b.livemode
			    AND a.request_id = p.request_id AND a.object_id = p.id AND a.actor LIKE 'operator:%'
			    AND a.operation = CASE p.kind WHEN 'reversal' THEN 'ledger.reverse' ELSE 'ledger.adjust' END
			WHERE p.kind IN ('reversal', 'adjustment') AND a.id IS NULL
			  AND date_trunc('month', p.created_at AT TIME ZONE 'UTC')::date NOT IN (SELECT month
			      FROM audit_detachments)`,
	},
	{
		since: ofPayments,
		name:  "every charge's totals agree with its refunds", counted: "charges",
		count: `SELECT count(*) FROM charges`,
		sql: `
			SELECT c.id, 'says ' || c.amount_refunded || ' of ' || c.amount || ' is refunded, its refunds say '
			       || coalesce(sum(r.amount), 0)
			FROM charges c LEFT JOIN refunds r ON r.account_id = c.account_id AND r.charge_id = c.id
			    AND r.status <> 'failed'
			GROUP BY c.account_id, c.id, c.amount, c.amount_refunded
			HAVING c.amount_refunded <> coalesce(sum(r.amount), 0) OR c.amount_refunded > c.amount
			UNION ALL
			SELECT c.id, 'captured ' || c.amount_captured || ' of ' || c.amount || ', and let '
			       || coalesce(sum(r.amount) FILTER (WHERE r.kind <> 'refund'), 0)
			       || ' go and gave ' || coalesce(sum(r.amount) FILTER (WHERE r.kind = 'refund'), 0) || ' back'
			FROM charges c JOIN refunds r ON r.account_id = c.account_id AND r.charge_id = c.id AND r.status <> 'failed'
			GROUP BY c.account_id, c.id, c.amount, c.amount_captured, c.captured, c.payment_intent_id
			HAVING coalesce(sum(r.amount) FILTER (WHERE r.kind = 'refund'), 0) > c.amount_captured
			    OR coalesce(sum(r.amount) FILTER (WHERE r.kind = 'remainder'), 0) <> CASE WHEN c.captured
			    AND c.payment_intent_id IS NULL THEN c.amount - c.amount_captured ELSE 0 END
			    OR coalesce(sum(r.amount) FILTER (WHERE r.kind = 'void'), 0) NOT IN (0,
			        CASE WHEN c.captured THEN 0 ELSE c.amount END)
			UNION ALL
			SELECT r.id, 'is in another currency or mode than its charge'
			FROM refunds r JOIN charges c ON c.account_id = r.account_id AND c.id = r.charge_id
			WHERE r.currency <> c.currency OR r.livemode <> c.livemode`,
	},
	{
		since: ofPayments,
		name:  "refunds are chained end to end within what was captured", counted: "chained refunds",
		count: `SELECT count(*) FROM ledger_refund_chain`,
		sql: `
			SELECT r.id, 'is chained ' || count(k.refund) || ' times for ' || coalesce(sum(k.amount), 0) || ' of '
			       || r.amount || ', and ' || r.status
			FROM refunds r LEFT JOIN ledger_refund_chain k ON k.refund = r.id AND k.charge = r.charge_id
			WHERE r.kind = 'refund' AND (r.status = 'succeeded' OR r.failure_balance_transaction IS NOT NULL)
			GROUP BY r.account_id, r.id, r.amount, r.status
			HAVING count(k.refund) <> CASE r.status WHEN 'failed' THEN 2 ELSE 1 END OR max(k.amount) <> r.amount
			    OR r.status = 'failed' AND min(k.amount) <> -r.amount
			UNION ALL
			SELECT k.charge, 'refunds of ' || sum(k.amount) || ' in a chain for ' || min(k.charge_amount)
			FROM ledger_refund_chain k JOIN ledger_books b ON b.id = k.book_id
			LEFT JOIN charges c ON c.account_id = b.account_id AND c.id = k.charge
			GROUP BY k.book_id, k.charge, c.amount_captured
			HAVING sum(k.amount) NOT BETWEEN 0 AND min(k.charge_amount) OR max(k.place) <> count(*) OR min(k.place) <> 1
			    OR (array_agg(k.prior + k.amount ORDER BY k.place DESC))[1] <> sum(k.amount)
			    OR min(k.charge_amount) IS DISTINCT FROM c.amount_captured
			    OR max(k.charge_amount) IS DISTINCT FROM c.amount_captured
			UNION ALL
			SELECT k.refund, 'is in the chain and not among the refunds that succeeded'
			FROM ledger_refund_chain k JOIN ledger_books b ON b.id = k.book_id
			LEFT JOIN refunds r ON r.account_id = b.account_id AND r.id = k.refund AND r.kind = 'refund'
			    AND r.balance_transaction IS NOT NULL
			WHERE r.id IS NULL`,
	},
	{
		since: ofPayments,
		name:  "every dispute has exactly its postings", counted: "disputes",
		count: `SELECT count(*) FROM disputes`,
		sql: `
			WITH ` + posted + `
			SELECT d.id, d.status || ', and took ' || coalesce(sum(-t.gross) FILTER (WHERE t.kind = 'dispute'), 0)
			       || ' and gave ' || coalesce(sum(t.gross) FILTER (WHERE t.kind = 'dispute_reversal'), 0)
			       || ' back of ' || d.amount || ' ' || d.currency
			FROM disputes d LEFT JOIN posted t ON t.source = d.id AND t.account_id = d.account_id
			    AND t.kind IN ('dispute', 'dispute_reversal')
			GROUP BY d.account_id, d.id, d.status, d.amount, d.currency, d.livemode, d.withdrawal, d.reinstatement
			HAVING count(t.id) FILTER (WHERE t.kind = 'dispute') <> CASE WHEN d.status LIKE 'warning%' THEN 0 ELSE 1 END
			    OR count(t.id) FILTER (WHERE t.kind = 'dispute_reversal') <> CASE d.status WHEN 'won' THEN 1 ELSE 0 END
			    OR bool_or(t.gross <> CASE t.kind WHEN 'dispute' THEN -d.amount ELSE d.amount END
			        OR t.currency <> d.currency OR t.livemode <> d.livemode
			               OR t.id IS DISTINCT FROM CASE t.kind WHEN 'dispute' THEN d.withdrawal ELSE d.reinstatement
			               END)
			    OR count(t.id) = 2 AND sum(t.fee) <> 0
			UNION ALL
			SELECT c.id, 'says ' || c.amount_charged_back || ' is charged back, its disputes say '
			       || coalesce(sum(d.amount) FILTER (WHERE d.withdrawal IS NOT NULL AND d.status <> 'won'), 0)
			FROM charges c LEFT JOIN disputes d ON d.account_id = c.account_id AND d.charge_id = c.id
			GROUP BY c.account_id, c.id, c.amount_charged_back, c.disputed
			HAVING c.amount_charged_back <> coalesce(sum(d.amount) FILTER (WHERE d.withdrawal IS NOT NULL
			    AND d.status <> 'won'), 0) OR c.disputed <> (count(d.id) > 0)
			UNION ALL
			SELECT d.id, 'is in another currency or mode than its charge'
			FROM disputes d JOIN charges c ON c.account_id = d.account_id AND c.id = d.charge_id
			WHERE d.currency <> c.currency OR d.livemode <> c.livemode`,
	},
	{
		name: "every settlement is posted once, with its amounts", counted: "settlements",
		count: `SELECT count(*) FROM settlements`,
		sql: `
			WITH booked AS (
				SELECT s.account_id, s.posting_id, s.livemode, s.currency,
				       sum(s.amount) FILTER (WHERE s.movement NOT IN ('refund', 'chargeback')) AS paid,
				       sum(s.amount) FILTER (WHERE s.movement IN ('refund', 'chargeback')) AS taken,
				       min(s.request_id) AS request_id, count(DISTINCT s.request_id) AS requests
				FROM settlements s GROUP BY s.account_id, s.posting_id, s.livemode, s.currency
			), posted AS (
				SELECT b.account_id, p.id, b.livemode, b.currency, p.request_id, count(*) AS legs,
				       sum(l.amount) FILTER (WHERE l.debit = 'bank_cash') AS paid,
				       sum(l.amount) FILTER (WHERE l.credit = 'bank_cash') AS taken
				FROM ledger_postings p JOIN ledger_books b ON b.id = p.book_id CROSS JOIN LATERAL ` + legsOf + `
				WHERE p.kind = 'settlement' GROUP BY b.account_id, p.id, b.livemode, b.currency, p.request_id)
			SELECT coalesce(s.posting_id, p.id),
			       'settles ' || coalesce(s.paid, 0) || ' paid and ' || coalesce(s.taken, 0) || ' taken, posted '
			       || coalesce(p.paid, 0) || ' and ' || coalesce(p.taken, 0)
			FROM booked s FULL JOIN posted p ON p.account_id = s.account_id AND p.id = s.posting_id
			    AND p.livemode = s.livemode AND p.currency = s.currency
			WHERE (s.paid, s.taken, s.request_id, s.requests, num_nonnulls(s.paid, s.taken)::bigint)
			    IS DISTINCT FROM (p.paid, p.taken, p.request_id, 1::bigint, p.legs)
			UNION ALL
			SELECT c.id, 'is paid by ' || s.batch || ', and says that it still settles'
			FROM charges c JOIN settlements s ON s.account_id = c.account_id AND s.charge_id = c.id
			    AND s.movement = 'sale'
			LEFT JOIN charges_to_show d ON d.account_id = c.account_id AND d.charge_id = c.id
			    AND d.created_at > now() - interval '10 minutes'
			WHERE c.settlement_pending AND d.charge_id IS NULL
			UNION ALL
			SELECT d.charge_id, 'is to be shown as paid, and '
			       || CASE WHEN c.id IS NULL THEN 'does not exist' ELSE 'hides nothing' END
			FROM charges_to_show d LEFT JOIN charges c ON c.account_id = d.account_id AND c.id = d.charge_id
			WHERE c.settlement_pending IS NOT TRUE`,
	},
	{
		// What the acquirer said is read from the messages themselves, as they were signed.
		name: "every movement that the acquirer settled is booked, waiting or set aside", counted: "parts of batches",
		count: `SELECT count(*) FROM settlement_parts`,
		sql: `
			WITH said AS MATERIALIZED (
				SELECT m.event_id, m.account_id, m.request_id, convert_from(m.body, 'UTF8')::jsonb AS body FROM inbox m
				WHERE m.kind = 'batch.settled' AND m.state = 'applied'
			), reported AS MATERIALIZED (
				SELECT s.account_id, s.request_id, (s.body->>'livemode')::boolean AS livemode,
				       s.body->>'currency' AS currency, s.body->>'batch' AS batch, (s.body->>'part')::integer AS part,
				       t.movement->>'kind' AS movement, t.movement->>'authorization' AS authorization_id,
				       t.movement->>'reference' AS reference, (t.movement->>'amount')::bigint AS amount
				FROM said s CROSS JOIN LATERAL jsonb_array_elements(s.body->'movements') AS t (movement)
			), reports AS MATERIALIZED (
				SELECT s.account_id, s.acquirer_reference AS reference, s.movement, s.livemode, s.batch, s.part,
				       s.amount, s.currency, c.acquirer_reference AS authorization_id, 'is booked' AS as_what
				FROM settlements s LEFT JOIN charges c ON c.account_id = s.account_id AND c.id = s.charge_id
				UNION ALL SELECT account_id, acquirer_reference, movement, livemode, batch, part, amount, currency,
				    authorization_id, 'waits' FROM movements_waiting
				UNION ALL SELECT account_id, acquirer_reference, movement, livemode, batch, part, amount, currency,
				    authorization_id, 'is set aside' FROM movements_set_aside)
			SELECT t.reference, t.movement || ' of ' || t.amount || ' ' || t.currency || ' in part ' || t.part || ' of '
			       || t.batch || ' is neither booked nor waiting nor set aside'
			FROM reported t
			WHERE NOT EXISTS (SELECT FROM reports w
				WHERE w.account_id = t.account_id AND w.reference = t.reference AND w.movement = t.movement
				  AND w.livemode = t.livemode AND w.currency = t.currency
				  AND w.amount = t.amount AND w.authorization_id = t.authorization_id)
			UNION ALL
			SELECT w.reference, w.movement || ' of ' || w.amount || ' ' || w.currency || ' ' || w.as_what
			       || ', and part ' || w.part || ' of ' || w.batch || ' does not list it'
			FROM reports w
			WHERE NOT EXISTS (SELECT FROM reported t
				WHERE t.account_id = w.account_id AND t.reference = w.reference AND t.movement = w.movement
				  AND t.livemode = w.livemode AND t.currency = w.currency
				  AND t.amount = w.amount AND t.batch = w.batch AND t.part = w.part)
			UNION ALL
			SELECT coalesce(p.id, s.event_id),
			       'part ' || coalesce(p.part::text, s.body->>'part') || ' of ' || coalesce(p.batch, s.body->>'batch')
			       || ' is not kept as it was sent'
			FROM settlement_parts p FULL JOIN said s ON s.account_id = p.account_id AND s.request_id = p.request_id
			WHERE (p.batch, p.part, p.parts, p.livemode, p.currency, p.movements, p.paid, p.taken) IS DISTINCT FROM
			      (s.body->>'batch', (s.body->>'part')::integer, (s.body->>'parts')::integer,
			          (s.body->>'livemode')::boolean, s.body->>'currency',
			       (s.body->>'count')::integer, (s.body->>'paid')::bigint, (s.body->>'taken')::bigint)
			UNION ALL
			SELECT p.id, 'announces ' || p.movements || ' movements, ' || p.paid || ' paid and ' || p.taken
			       || ' taken, and lists ' || coalesce(t.movements, 0) || ', ' || coalesce(t.paid, 0) || ' and '
			       || coalesce(t.taken, 0)
			FROM settlement_parts p
			LEFT JOIN (SELECT account_id, request_id, count(*) AS movements,
			                  coalesce(sum(amount) FILTER (WHERE movement NOT IN ('refund', 'chargeback')), 0) AS paid,
			                  coalesce(sum(amount) FILTER (WHERE movement IN ('refund', 'chargeback')), 0) AS taken
			           FROM reported GROUP BY account_id, request_id) t ON t.account_id = p.account_id
			           AND t.request_id = p.request_id
			WHERE (p.movements::bigint, p.paid::numeric, p.taken::numeric)
			    IS DISTINCT FROM (t.movements, t.paid, t.taken)
			UNION ALL
			SELECT p.batch, 'has ' || max(p.parts) || ' parts, and ' || count(DISTINCT p.part) || ' came, the last at '
			       || max(p.created_at)
			FROM settlement_parts p GROUP BY p.account_id, p.batch
			HAVING count(DISTINCT p.parts) > 1 OR count(DISTINCT p.part) <> max(p.parts)
			    AND max(p.created_at) < now() - interval '10 minutes'
			UNION ALL
			SELECT w.acquirer_reference,
			       w.movement || ' of ' || w.amount || ' ' || w.currency || ' waits since ' || w.received_at
			       || ' for a charge with the authorization ' || w.authorization_id
			FROM movements_waiting w WHERE w.received_at < now() - interval '10 minutes'
			UNION ALL
			SELECT a.acquirer_reference,
			       a.movement || ' of ' || a.amount || ' ' || a.currency || ' is set aside: ' || a.reason
			FROM movements_set_aside a`,
	},
	{
		name: "every inbox message took effect once, and no two conflict", counted: "messages",
		count: `SELECT count(*) FROM inbox`,
		sql: `
			SELECT m.event_id, 'applied by ' || m.request_id || ', which '
			       || CASE WHEN r.id IS NULL THEN 'does not exist' ELSE 'did something else' END
			FROM inbox m LEFT JOIN ` + asked + ` r ON r.account_id = m.account_id AND r.id = m.request_id
			WHERE m.state = 'applied'
			  AND (r.id IS NULL OR r.status IS DISTINCT FROM 200 OR r.flow <> m.source || '.' || m.kind
			      OR r.fingerprint <> m.digest)
			UNION ALL
			SELECT r.id, r.flow || ' by ' || count(m.event_id) || ' messages'
			FROM ` + asked + ` r LEFT JOIN inbox m ON m.account_id = r.account_id AND m.request_id = r.id
			    AND m.state = 'applied'
			WHERE r.flow LIKE 'acquirer.%'
			GROUP BY r.account_id, r.id, r.flow HAVING count(m.event_id) <> 1
			UNION ALL
			SELECT event_id, 'does not say what it said when it came' FROM inbox WHERE sha256(body) <> digest
			UNION ALL
			SELECT event_id, 'was sent with two different bodies, and no operator has acknowledged that'
			FROM inbox_contradictions c
			WHERE NOT EXISTS (SELECT FROM inbox_acknowledgments k
			    WHERE k.source = c.source AND k.event_id = c.event_id AND k.digest = c.digest)
			UNION ALL
			SELECT event_id, 'is set aside: ' || reason FROM inbox WHERE state = 'set_aside'`,
	},
	{
		since: ofPayments,
		name:  "every object was created by a request of its account and mode", counted: "objects and postings",
		count: `
			SELECT (SELECT count(*) FROM charges) + (SELECT count(*) FROM refunds) + (SELECT count(*)
			       FROM ledger_postings)
			+ (SELECT count(*) FROM disputes) + (SELECT count(*) FROM settlements) + (SELECT count(*)
			    FROM customers) + (SELECT count(*) FROM cards) + (SELECT count(*) FROM tokens) + (SELECT count(*)
			    FROM events)`,
		sql: `
			SELECT m.id, 'its request ' || m.request_id
			       || CASE WHEN r.id IS NULL THEN ' does not exist' ELSE ' was made in the other mode' END
			FROM (SELECT account_id, id, request_id, livemode FROM charges
			      UNION ALL SELECT account_id, id, request_id, livemode FROM refunds
			      UNION ALL SELECT account_id, id, request_id, livemode FROM disputes
			      UNION ALL SELECT account_id, id, request_id, livemode FROM settlement_parts
			      UNION ALL SELECT account_id, acquirer_reference, request_id, livemode FROM settlements
			      UNION ALL SELECT account_id, acquirer_reference, request_id, livemode FROM movements_set_aside
			      UNION ALL SELECT account_id, id, request_id, livemode FROM customers
			      UNION ALL SELECT account_id, id, request_id, livemode FROM cards
			      UNION ALL SELECT account_id, id, request_id, livemode FROM tokens
			      UNION ALL SELECT account_id, id, request_id, livemode FROM payment_methods
			      UNION ALL SELECT account_id, id, request_id, livemode FROM payment_intents
			      UNION ALL SELECT account_id, id, request_id, livemode FROM setup_intents
			      UNION ALL SELECT account_id, id, request_id, livemode FROM setup_attempts
			      UNION ALL SELECT account_id, id, request_id, livemode FROM payouts
			      UNION ALL SELECT account_id, id, request_id, livemode FROM test_clocks
			      UNION ALL SELECT account_id, id, request_id, livemode FROM products
			      UNION ALL SELECT account_id, id, request_id, livemode FROM prices
			      UNION ALL SELECT account_id, id, request_id, livemode FROM coupons
			      UNION ALL SELECT account_id, id, request_id, livemode FROM shipping_rates
			      UNION ALL SELECT account_id, id, request_id, livemode FROM checkout_sessions
			      UNION ALL SELECT account_id, id, request_id, livemode FROM events
			      UNION ALL SELECT b.account_id, p.id, p.request_id, b.livemode FROM ledger_postings p
			      JOIN ledger_books b ON b.id = p.book_id
			      WHERE p.kind NOT IN ('reversal', 'adjustment')) m -- an operator makes those
			LEFT JOIN ` + asked + ` r ON r.account_id = m.account_id AND r.id = m.request_id
			WHERE r.id IS NULL OR r.livemode <> m.livemode
			UNION ALL
			SELECT p.id, 'was posted by ' || p.request_id || ', which did not ask for ' || p.source
			FROM ledger_postings p JOIN ledger_books b ON b.id = p.book_id
			LEFT JOIN charges c ON c.account_id = b.account_id AND c.id = p.source
			LEFT JOIN ` + asked + ` r ON r.account_id = b.account_id AND r.id = p.request_id
			  AND (r.flow IN ('charge.capture', 'charge.adopt_capture') AND r.object_id = p.source
			      OR r.flow = 'payment_intent.capture' AND r.object_id = c.payment_intent_id)
			LEFT JOIN refunds f ON f.account_id = b.account_id AND f.id = p.source AND f.request_id = p.request_id
			LEFT JOIN ` + asked + ` n ON n.account_id = b.account_id AND n.id = p.request_id AND n.object_id = p.source
			  AND n.flow IN ('acquirer.refund.succeeded', 'acquirer.refund.failed', 'acquirer.dispute.opened',
			      'acquirer.dispute.escalated', 'acquirer.dispute.closed', 'acquirer.batch.settled', 'settlement.late')
			    AND n.flow = CASE p.kind
			  WHEN 'refund' THEN 'acquirer.refund.succeeded' WHEN 'refund_failure' THEN 'acquirer.refund.failed'
			  WHEN 'dispute_reversal' THEN 'acquirer.dispute.closed'
			  WHEN 'settlement' THEN CASE n.flow WHEN 'settlement.late' THEN n.flow ELSE 'acquirer.batch.settled' END
			  WHEN 'dispute' THEN n.flow END
			WHERE p.kind = 'charge' AND num_nonnulls(r.id, CASE WHEN c.request_id = p.request_id THEN c.id END) <> 1
			   OR p.kind = 'refund'
			  AND num_nonnulls(f.id, n.id) <> 1
			   OR p.kind IN ('refund_failure', 'dispute_reversal', 'settlement') AND n.id IS NULL
			   OR p.kind = 'dispute' AND coalesce(n.flow, '') NOT IN ('acquirer.dispute.opened',
			       'acquirer.dispute.escalated')`,
	},
	{
		since: ofBoth,
		name:  "every finished request took effect once", counted: "finished requests",
		count: `SELECT count(*) FROM answers`,
		sql: `
			SELECT r.id, r.flow || ' answered ' || r.status || ' and made ' || count(c.id) || ' charges'
			FROM ` + asked + ` r
			LEFT JOIN (SELECT account_id, id, request_id, status FROM charges
			           UNION ALL
			           SELECT c.account_id, c.id, t.request_id, c.status
			           FROM charges c JOIN ` + retried + ` t ON t.account_id = c.account_id
			               AND t.adopted_by = c.request_id) c
			  ON c.account_id = r.account_id AND c.request_id = r.id
			WHERE r.flow IN ('charge.create', 'charge.adopt') AND r.status IS NOT NULL
			GROUP BY r.account_id, r.id, r.flow, r.status, r.object_id
			HAVING count(c.id) <> 1 OR bool_or(c.status = 'pending')
			    OR bool_or((c.status = 'succeeded') <> (r.status = 200)) OR min(c.id) IS DISTINCT FROM r.object_id
			UNION ALL
			SELECT r.id, r.flow || ' answered ' || r.status || ' and made ' || count(f.id) || ' refunds'
			FROM ` + asked + ` r LEFT JOIN ` + refunded + ` f ON f.account_id = r.account_id AND f.request_id = r.id
			WHERE r.flow IN ('refund.create', 'charge.refund', 'charge.refund.create', 'refund.adopt')
			  AND r.status IS NOT NULL
			GROUP BY r.account_id, r.id, r.flow, r.status, r.object_id
			HAVING count(f.id) <> CASE r.status WHEN 200 THEN 1 ELSE 0 END
			    OR bool_or(f.status = 'pending' AND f.acquirer_reference IS NULL)
			    OR r.status = 200 AND r.object_id
			    IS DISTINCT FROM CASE r.flow WHEN 'charge.refund' THEN min(f.charge_id) ELSE min(f.id) END
			UNION ALL
			SELECT r.id, r.flow || ' answered ' || r.status || ' and captured ' || count(p.id) || ' times'
			FROM ` + asked + ` r LEFT JOIN (ledger_postings p JOIN ledger_books b ON b.id = p.book_id)
			  ON b.account_id = r.account_id AND p.request_id = r.id AND p.kind = 'charge' AND p.source = r.object_id
			WHERE r.flow IN ('charge.capture', 'charge.adopt_capture') AND r.status IS NOT NULL
			GROUP BY r.account_id, r.id, r.flow, r.status HAVING count(p.id) <> CASE r.status WHEN 200 THEN 1 ELSE 0 END
			UNION ALL
			SELECT r.id, r.flow || ' of ' || coalesce(r.object_id, 'nothing') || ', which it has not made'
			FROM ` + asked + ` r
			LEFT JOIN (SELECT account_id, id, request_id, 'customer.create' AS flow FROM customers
			    UNION ALL SELECT account_id, id, request_id, 'card.create' FROM cards
			           UNION ALL SELECT account_id, id, request_id, 'token.create' FROM tokens
			           UNION ALL SELECT account_id, id, request_id, 'payment_intent.create' FROM payment_intents
			           UNION ALL SELECT account_id, id, request_id, 'setup_intent.create' FROM setup_intents) made
			  ON made.account_id = r.account_id AND made.request_id = r.id AND made.id = r.object_id
			      AND made.flow = r.flow
			WHERE (r.flow IN ('customer.create', 'card.create', 'token.create') AND r.status = 200
			       OR r.flow IN ('payment_intent.create', 'setup_intent.create') AND r.status IS NOT NULL)
			       AND made.id IS NULL -- declined or refused, it is there
			UNION ALL
			SELECT r.id, r.flow || ' left ' || r.object_id || ' where it was'
			FROM ` + asked + ` r
			LEFT JOIN (SELECT account_id, id, 'customer.delete' AS flow FROM customers WHERE deleted_at IS NOT NULL
			           UNION ALL SELECT account_id, id, 'card.delete' FROM cards WHERE deleted_at IS NOT NULL) gone
			  ON gone.account_id = r.account_id AND gone.id = r.object_id AND gone.flow = r.flow
			WHERE r.flow IN ('customer.delete', 'card.delete') AND r.status = 200 AND gone.id IS NULL`,
	},
	{
		since: ofRequests,
		name:  "every request has either a run or an answer", counted: "requests",
		count: `SELECT count(*) FROM requests`,
		sql: `
			SELECT r.id, CASE WHEN r.has_run THEN 'has an answer, and its run goes on'
			       ELSE 'has neither a run nor an answer' END
			FROM ` + asked + ` r WHERE r.has_run = r.has_answer
			UNION ALL
			SELECT u.request_id, 'a run of a request that does not exist'
			FROM runs u WHERE NOT EXISTS (SELECT FROM requests q
			    WHERE q.account_id = u.account_id AND q.id = u.request_id AND q.flow = u.flow AND q.version = u.version)
			UNION ALL
			SELECT a.request_id, 'an answer to a request that does not exist'
			FROM answers a WHERE NOT EXISTS (SELECT FROM requests q
			    WHERE q.account_id = a.account_id AND q.id = a.request_id)`,
	},
	{
		since: ofRequests,
		name:  "every finished request keeps its answer", counted: "answers",
		count: `SELECT count(*) FROM answers`,
		sql: `
			SELECT r.id, CASE WHEN coalesce(r.body, a.body) IS NULL THEN 'its answer is nowhere'
			       ELSE 'its answer does not name ' || coalesce(r.object_id, 'an object') END
			FROM ` + asked + ` r LEFT JOIN archived_answers a ON a.account_id = r.account_id AND a.request_id = r.id
			WHERE r.status IS NOT NULL
			  AND NOT (coalesce(r.body, a.body) IS NULL AND r.archived_at IS NOT NULL
			      AND ` + responseOf + `r.id` + isAway + `)
			  AND (coalesce(r.body, a.body) IS NULL
			    OR r.status = 200 AND coalesce(position(convert_to('"' || r.object_id || '"',
			        'UTF8') IN coalesce(r.body, a.body)), 0) = 0)
			UNION ALL
			SELECT a.request_id, 'an answer in the archive that no request has given up'
			FROM archived_answers a LEFT JOIN answers r ON r.account_id = a.account_id AND r.request_id = a.request_id
			    AND r.archived_at IS NOT NULL
			WHERE r.request_id IS NULL`,
	},
	{
		since: ofRequests,
		name:  "every finished request has passed its recovery points", counted: "recovery points passed",
		count: `
			SELECT (SELECT coalesce(sum(cardinality(recovery_points)), 0)
			       FROM answers) + (SELECT coalesce(sum(cardinality(recovery_points)), 0) FROM runs)`,
		sql: `
			WITH journey AS NOT MATERIALIZED ( -- without NULL: the last join compares all of it
				SELECT q.id, coalesce(q.flow, '') AS flow, coalesce(q.version, 0) AS version,
				       coalesce(s.status, 0) AS status, coalesce(s.recovery_points, '{}') AS recovery_points,
				       coalesce(s.reached_epochs, '{}') AS reached_epochs,
				       coalesce(cardinality(s.reached_at), 0) AS times,
				       coalesce(array_positions(s.reached_at, NULL), '{}') AS untimed,
				       coalesce(s.calls, '{}') AS calls, c.request_id IS NOT NULL AS retired
				FROM (SELECT account_id, request_id, status, reached_at, reached_epochs, recovery_points,
				    call_phases AS calls FROM answers
				      UNION ALL SELECT account_id, request_id, NULL, reached_at, reached_epochs, recovery_points,
				          call_phases FROM runs) s
				JOIN requests q ON q.account_id = s.account_id AND q.id = s.request_id
				LEFT JOIN (SELECT DISTINCT account_id, request_id FROM foreign_calls) c ON c.account_id = q.account_id
				    AND c.request_id = q.id
			), way AS MATERIALIZED ( -- most requests go one of a few ways, and each of them is judged once
				SELECT flow, version, status, recovery_points, reached_epochs, times, untimed, calls, retired,
				       recovery_points[cardinality(recovery_points)] AS stands_on
				FROM journey
				GROUP BY flow, version, status, recovery_points, reached_epochs, times, untimed, calls, retired
			), passed AS (
				SELECT w.*, p.name, p.epoch, p.at, p.n, k.position, k.kind,
				       lag(k.position) OVER w AS position_before, lag(p.epoch) OVER w AS epoch_before
				FROM way w CROSS JOIN LATERAL unnest(w.recovery_points, w.reached_epochs,
				    array_fill(true, ARRAY[w.times])) WITH ORDINALITY AS p (name, epoch, at, n)
				LEFT JOIN recovery_points k ON k.flow = w.flow AND k.version = w.version AND k.name = p.name
				WINDOW w AS (PARTITION BY w.flow, w.version, w.status, w.recovery_points, w.reached_epochs, w.times,
				    w.untimed, w.calls, w.retired ORDER BY p.n)
			), wrong (flow, version, status, recovery_points, reached_epochs, times, untimed, calls, retired,
			    wrong) AS (
				SELECT w.flow, w.version, w.status, w.recovery_points, w.reached_epochs, w.times, w.untimed, w.calls,
				       w.retired, 'ended at ' || w.stands_on || ' without passing ' || p.name
				FROM way w
				JOIN recovery_points e ON e.flow = w.flow AND e.version = w.version AND e.name = w.stands_on
				JOIN recovery_points p ON p.flow = w.flow AND p.version = w.version AND p.position <= e.position
				    AND p.kind <> 'abandoned'
				WHERE w.status <> 0 AND w.stands_on <> 'abandoned' AND p.name <> ALL (w.recovery_points)
				UNION ALL
				SELECT w.flow, w.version, w.status, w.recovery_points, w.reached_epochs, w.times, w.untimed, w.calls,
				       w.retired, 'succeeded at ' || w.stands_on || ', before the end of ' || w.flow
				       || ', though it had called other systems'
				FROM way w
				JOIN recovery_points e ON e.flow = w.flow AND e.version = w.version AND e.name = w.stands_on
				JOIN (SELECT flow, version, max(position) AS last FROM recovery_points WHERE kind <> 'abandoned'
				    GROUP BY flow, version) f ON f.flow = w.flow AND f.version = w.version
				WHERE w.status = 200 AND e.position < f.last AND (cardinality(w.calls) > 0 OR w.retired)
				UNION ALL
				SELECT flow, version, status, recovery_points, reached_epochs, times, untimed, calls, retired,
				       'passed ' || coalesce(name, 'a point without a name')
				       || CASE WHEN position IS NULL THEN ', which is not on its way'
				          ELSE ' after a later point, or twice' END
				FROM passed WHERE position IS NULL OR position <= position_before
				UNION ALL
				SELECT flow, version, status, recovery_points, reached_epochs, times, untimed, calls, retired,
				       'passed ' || name || ' without its time or its epoch, or in an epoch that was over'
				FROM passed WHERE epoch IS NULL OR at IS NULL OR untimed <> '{}' OR epoch < epoch_before
				UNION ALL
				SELECT flow, version, status, recovery_points, reached_epochs, times, untimed, calls, retired,
				       'passed ' || name || ' without an answer to its call'
				FROM passed WHERE kind = 'foreign' AND name <> ALL (calls))
			SELECT id, wrong
			FROM wrong JOIN journey USING (flow, version, status, recovery_points, reached_epochs, times, untimed,
			    calls, retired)`,
	},
	{
		since: ofBoth,
		name:  "no request, call or lock is left open", counted: "calls to others",
		count: `
			SELECT (SELECT coalesce(sum(cardinality(call_phases)), 0)
			       FROM answers) + (SELECT coalesce(sum(cardinality(call_phases)), 0) FROM runs) + (SELECT count(*)
			       FROM foreign_calls)`,
		sql: `
			WITH ` + keys + `
			SELECT a.request_id, 'finished with the outcome of ' || phase || ' unknown'
			FROM answers a CROSS JOIN LATERAL unnest(a.call_phases) AS phase WHERE phase <> ALL (a.recovery_points)
			UNION ALL
			SELECT min(request_id), 'asked under the key ' || key || ', which was used ' || count(*) || ' times'
			FROM keys GROUP BY key, account_id HAVING count(*) > 1
			UNION ALL
			SELECT request_id, 'asked for ' || phase || ' under key ' || max(generation) || ', and '
			       || count(*) FILTER (WHERE retired) || ' before it are proven unused'
			FROM keys GROUP BY account_id, request_id, phase
			HAVING count(*) <> max(generation) OR min(generation) <> 1 OR count(DISTINCT generation) <> count(*)
			    OR count(*) FILTER (WHERE NOT retired) > 1
			    OR max(generation) FILTER (WHERE NOT retired) < max(generation)
			UNION ALL
			SELECT r.id, r.state || ' for ' || date_trunc('second', now() - r.created_at)
			FROM ` + asked + ` r WHERE r.state IN ('running', 'parked') AND r.created_at < now() - interval '10 minutes'
			UNION ALL
			SELECT c.id, 'is locked by ' || c.locked_by || ', which '
			       || CASE WHEN r.id IS NULL THEN 'does not exist' ELSE 'has finished' END
			FROM charges c LEFT JOIN ` + asked + ` r ON r.account_id = c.account_id AND r.id = c.locked_by
			WHERE c.locked_by IS NOT NULL AND (r.id IS NULL OR r.status IS NOT NULL)
			UNION ALL
			SELECT d.id, 'is locked by ' || d.locked_by || ', which '
			       || CASE WHEN r.id IS NULL THEN 'does not exist' ELSE 'has finished' END
			FROM disputes d LEFT JOIN ` + asked + ` r ON r.account_id = d.account_id AND r.id = d.locked_by
			WHERE d.locked_by IS NOT NULL AND (r.id IS NULL OR r.status IS NOT NULL)
			UNION ALL
			SELECT p.id, 'is locked by ' || p.locked_by || ', which '
			       || CASE WHEN r.id IS NULL THEN 'does not exist' ELSE 'has finished' END
			FROM (SELECT account_id, id, locked_by FROM payment_intents UNION ALL SELECT account_id, id, locked_by
			    FROM setup_intents) p
			LEFT JOIN ` + asked + ` r ON r.account_id = p.account_id AND r.id = p.locked_by
			WHERE p.locked_by IS NOT NULL AND (r.id IS NULL OR r.status IS NOT NULL)`,
	},
	{
		name: "the views of requests match the tables", counted: "views",
		count: `SELECT 3`,
		sql: `
			WITH ` + keys + `, shown (view, rows) AS (
				SELECT 'request_status', (count(*),
				       sum(hashtext(id || state || coalesce(epoch, 0) || coalesce(recovery_point, '')
				           || coalesce(status, 0)))) FROM request_status
				UNION ALL SELECT 'request_checkpoints', (count(*), sum(hashtext(request_id || recovery_point || epoch)))
				FROM request_checkpoints
				UNION ALL SELECT 'request_calls',
				    (count(*), sum(hashtext(request_id || phase || generation || derived_key || outcome)))
				FROM request_calls
			), kept (view, rows) AS (
				SELECT 'request_status', (count(*),
				       sum(hashtext(q.id || coalesce(u.state,
				           CASE WHEN a.archived_at IS NOT NULL THEN 'archived' WHEN a.status IS NOT NULL THEN 'finished'
				               ELSE 'damaged' END)
				       || coalesce(u.epoch, a.reached_epochs[cardinality(a.reached_epochs)], 0)
				       || coalesce(u.recovery_points[cardinality(u.recovery_points)],
				           a.recovery_points[cardinality(a.recovery_points)], '') || coalesce(a.status, 0))))
				FROM requests q LEFT JOIN runs u ON u.account_id = q.account_id AND u.request_id = q.id
				LEFT JOIN answers a ON a.account_id = q.account_id AND a.request_id = q.id
				UNION ALL
				SELECT 'request_checkpoints', (count(*), sum(hashtext(request_id || name || epoch)))
				FROM (SELECT request_id, recovery_points, reached_epochs FROM answers
				    UNION ALL SELECT request_id, recovery_points, reached_epochs FROM runs) s
				CROSS JOIN LATERAL unnest(s.recovery_points, s.reached_epochs) AS p (name, epoch)
				UNION ALL
				SELECT 'request_calls', (count(*),
				       sum(hashtext(request_id || phase || generation || key
				           || CASE WHEN retired THEN 'not_executed' WHEN open THEN 'unknown' ELSE 'executed' END)))
				           FROM keys
			)
			SELECT shown.view, 'shows something else than the tables' FROM shown JOIN kept USING (view)
			WHERE shown.rows IS DISTINCT FROM kept.rows`,
	},
	{
		since: ofPayments,
		name:  "every payment intent agrees with its charges", counted: "payment intents",
		count: `SELECT count(*) FROM payment_intents`,
		sql: `
			SELECT p.id, p.status || ' with ' || p.amount_received || ' received and ' || p.amount_capturable
			       || ' held, and its charges took '
			       || coalesce(sum(c.amount_captured), 0) || ' and hold '
			       || coalesce(sum(c.amount) FILTER (WHERE c.status = 'succeeded' AND NOT c.captured
			           AND c.amount_refunded = 0), 0)
			FROM payment_intents p LEFT JOIN charges c ON c.account_id = p.account_id AND c.payment_intent_id = p.id
			GROUP BY p.account_id, p.id, p.status, p.amount, p.amount_received, p.amount_capturable, p.currency,
			    p.livemode, p.latest_charge
			HAVING coalesce(sum(c.amount_captured), 0) <> p.amount_received
			    OR coalesce(sum(c.amount) FILTER (WHERE c.status = 'succeeded' AND NOT c.captured
			        AND c.amount_refunded = 0), 0) <> p.amount_capturable
			    OR count(c.id) FILTER (WHERE c.status = 'succeeded') > 1
			    OR bool_or(c.currency <> p.currency AND c.status <> 'failed' OR c.livemode <> p.livemode)
			    OR max(c.id) IS DISTINCT FROM p.latest_charge
			UNION ALL
			SELECT c.id, 'was made for ' || c.payment_intent_id || ', which does not exist'
			FROM charges c LEFT JOIN payment_intents p ON p.account_id = c.account_id AND p.id = c.payment_intent_id
			WHERE c.payment_intent_id IS NOT NULL AND p.id IS NULL`,
	},
	{
		since: ofPayments,
		name:  "every setup intent agrees with its latest attempt", counted: "attempts at setups",
		count: `SELECT count(*) FROM setup_attempts`,
		sql: `
			SELECT s.id, 'is ' || s.status || ', and its latest attempt '
			       || coalesce('is ' || a.status, 'does not exist')
			FROM setup_intents s LEFT JOIN setup_attempts a ON a.account_id = s.account_id AND a.id = s.latest_attempt
			    AND a.setup_intent_id = s.id AND a.livemode = s.livemode
			WHERE s.latest_attempt IS NOT NULL AND (a.id IS NULL OR (s.status = 'succeeded') <> (a.status = 'succeeded')
			   OR a.status = 'requires_action' AND s.status NOT IN ('requires_action', 'processing')
			   OR a.status <> 'requires_action' AND s.status = 'requires_action')
			UNION ALL
			SELECT a.id, 'is ' || a.status || ', and not the latest of ' || a.setup_intent_id
			FROM setup_attempts a LEFT JOIN setup_intents s ON s.account_id = a.account_id AND s.id = a.setup_intent_id
			    AND s.latest_attempt = a.id
			WHERE a.status IN ('requires_action', 'succeeded') AND s.id IS NULL
			UNION ALL
			SELECT s.id, 'has been tried and names no attempt'
			FROM setup_intents s WHERE s.latest_attempt IS NULL
			    AND EXISTS (SELECT FROM setup_attempts a
			        WHERE a.account_id = s.account_id AND a.setup_intent_id = s.id)`,
	},
	{
		since: ofPayments,
		name:  "every checkout session is paid once, by its intent, for its total", counted: "checkout sessions",
		count: `SELECT count(*) FROM checkout_sessions`,
		sql: `
			SELECT s.id, 'is ' || s.status || ' and ' || s.payment_status || ' for ' || s.amount_total || ' '
			       || s.currency || ', and ' || count(c.id)
			       || ' charges of its intents took ' || coalesce(sum(c.amount_captured), 0) || ' of '
			       || coalesce(sum(c.amount), 0)
			FROM checkout_sessions s
			LEFT JOIN payment_intents p ON p.account_id = s.account_id AND p.checkout_session = s.id
			LEFT JOIN charges c ON c.account_id = p.account_id AND c.payment_intent_id = p.id AND c.status = 'succeeded'
			WHERE s.mode = 'payment'
			GROUP BY s.account_id, s.id, s.status, s.payment_status, s.amount_total, s.currency, s.livemode,
			    s.payment_intent_id
			HAVING count(c.id) <> CASE s.status WHEN 'complete' THEN 1 ELSE 0 END
			    OR count(c.id) FILTER (WHERE c.captured) <> CASE s.payment_status WHEN 'paid' THEN 1 ELSE 0 END
			    OR bool_or((c.amount, c.currency, c.livemode, p.amount)
			        IS DISTINCT FROM (s.amount_total, s.currency, s.livemode, s.amount_total)) FILTER
			        (WHERE c.id IS NOT NULL)
			    OR min(p.id) IS DISTINCT FROM s.payment_intent_id OR max(p.id) IS DISTINCT FROM s.payment_intent_id
			UNION ALL
			SELECT s.id, 'is for ' || s.amount_subtotal || ' less ' || s.amount_discount || ', and its items come to '
			       || coalesce(sum(i.amount), 0)
			       || ' less ' || coalesce(sum(i.discount), 0)
			FROM checkout_sessions s
			LEFT JOIN (checkout_items i JOIN public.prices r ON r.account_id = i.account_id
			    AND r.id = i.price_id)
			    ON i.account_id = s.account_id AND i.session_id = s.id
			WHERE s.mode = 'payment'
			GROUP BY s.account_id, s.id, s.amount_subtotal, s.amount_discount, s.currency
			HAVING coalesce(sum(i.amount), 0) <> s.amount_subtotal OR coalesce(sum(i.discount), 0) <> s.amount_discount
			    OR bool_or(i.amount <> i.quantity * r.unit_amount OR r.currency <> s.currency)
			UNION ALL
			SELECT s.id, 'is for ' || s.amount_total || ', and not for ' || s.amount_subtotal || ' less '
			       || s.amount_discount
			       || ' and ' || coalesce(r.amount, 0) || ' ' || coalesce(r.currency, '') || ' for shipping'
			FROM checkout_sessions s
			LEFT JOIN public.shipping_rates r ON r.account_id = s.account_id AND r.id = s.shipping_rate_id
			    AND r.livemode = s.livemode
			WHERE s.mode = 'payment' AND (s.amount_total <> s.amount_subtotal - s.amount_discount + s.amount_shipping
			      OR s.amount_shipping <> coalesce(r.amount, 0) OR r.currency <> s.currency)
			UNION ALL
			SELECT s.id, 'takes ' || s.amount_discount || ' off ' || s.amount_subtotal || ' ' || s.currency
			       || ', and its coupon takes off '
			       || coalesce(c.percent_off / 100.0 || ' %', c.amount_off || ' ' || c.currency, 'nothing')
			FROM checkout_sessions s
			LEFT JOIN public.coupons c ON c.account_id = s.account_id AND c.id = s.coupon_id AND c.livemode = s.livemode
			WHERE s.mode = 'payment' AND (c.currency <> s.currency
			      OR s.amount_discount > coalesce(c.amount_off, round(s.amount_subtotal * c.percent_off / 10000.0), 0))
			UNION ALL
			SELECT s.id, 'is ' || s.status || ', and its setup intent is ' || coalesce(i.status, 'not there')
			FROM checkout_sessions s LEFT JOIN setup_intents i ON i.account_id = s.account_id
			    AND i.id = s.setup_intent_id AND i.checkout_session = s.id
			WHERE s.mode = 'setup' AND (i.id IS NULL OR (s.status = 'complete') <> (i.status = 'succeeded'))
			UNION ALL
			SELECT p.id, 'was made for ' || p.checkout_session || ', which does not exist'
			FROM payment_intents p LEFT JOIN checkout_sessions s ON s.account_id = p.account_id
			    AND s.id = p.checkout_session
			WHERE p.checkout_session IS NOT NULL AND s.id IS NULL`,
	},
	{
		name: "every complete checkout session has one event that says so", counted: "checkout sessions",
		count: `SELECT count(*) FROM checkout_sessions`,
		sql: `
			SELECT s.id, 'is ' || s.status || ' and has reported it ' || count(e.id) || ' times'
			FROM checkout_sessions s LEFT JOIN events e ON e.account_id = s.account_id AND e.object_id = s.id
			    AND e.type = 'checkout.session.completed'
			GROUP BY s.account_id, s.id, s.status, s.created_at
			HAVING count(e.id) <> CASE s.status WHEN 'complete' THEN 1 ELSE 0 END
			   AND NOT (count(e.id) = 0
			       AND ` + eventsBetween + `s.created_at, s.created_at + interval '1 day'` + mayBeAway + `)`,
	},
	{
		name:    "every coupon and promotion code is redeemed once per session that was paid with it",
		counted: "coupons", count: `SELECT count(*) FROM coupons`,
		sql: `
			SELECT c.id, 'was redeemed ' || c.times_redeemed || ' times and is reserved ' || c.times_reserved
			       || ' times, and '
			       || count(s.id) FILTER (WHERE s.status = 'complete') || ' sessions with it are complete and '
			       || count(s.id) FILTER (WHERE s.status = 'open' AND s.coupon_reserved) || ' have reserved it'
			FROM coupons c LEFT JOIN checkout_sessions s ON s.account_id = c.account_id AND s.coupon_id = c.id
			GROUP BY c.account_id, c.id, c.times_redeemed, c.times_reserved, c.max_redemptions
			HAVING c.times_redeemed <> count(s.id) FILTER (WHERE s.status = 'complete')
			    OR c.times_reserved <> count(s.id) FILTER (WHERE s.status = 'open' AND s.coupon_reserved)
			    OR c.times_redeemed + c.times_reserved > c.max_redemptions
			UNION ALL
			SELECT p.id, 'was redeemed ' || p.times_redeemed || ' times and is reserved ' || p.times_reserved
			       || ' times, and '
			       || count(s.id) FILTER (WHERE s.status = 'complete') || ' sessions with it are complete and '
			       || count(s.id) FILTER (WHERE s.status = 'open' AND s.coupon_reserved) || ' have reserved it'
			FROM promotion_codes p
			LEFT JOIN checkout_sessions s ON s.account_id = p.account_id AND s.promotion_code_id = p.id
			    AND s.coupon_id = p.coupon_id
			GROUP BY p.account_id, p.id, p.times_redeemed, p.times_reserved, p.max_redemptions
			HAVING p.times_redeemed <> count(s.id) FILTER (WHERE s.status = 'complete')
			    OR p.times_reserved <> count(s.id) FILTER (WHERE s.status = 'open' AND s.coupon_reserved)
			    OR p.times_redeemed + p.times_reserved > p.max_redemptions
			UNION ALL
			SELECT s.id, 'was paid with the promotion code ' || s.promotion_code_id || ', which does not exist'
			FROM checkout_sessions s
			LEFT JOIN promotion_codes p ON p.account_id = s.account_id AND p.id = s.promotion_code_id
			WHERE s.promotion_code_id IS NOT NULL AND p.id IS NULL`,
	},
	{
		since: ofChanges,
		name:  "every change has its event, and every event has its change", counted: "events",
		count: `SELECT count(*) FROM events`,
		sql: `
			WITH ` + emitted + `, telling (type) AS (VALUES -- types of which emitted has amounts
			        ('charge.succeeded'), ('charge.failed'), ('refund.created'), ('refund.failed'),
			        ('charge.dispute.created'), ('payout.created'), ('payout.failed'), ('payout.paid')
			), emitted_types (type) AS (SELECT type FROM telling UNION VALUES
				('charge.captured'), ('charge.refunded'), ('charge.expired'), ('charge.dispute.funds_withdrawn'),
				('charge.dispute.funds_reinstated'),
				('charge.dispute.closed'), ('customer.created'), ('customer.source.created'), ('customer.deleted'),
				('customer.source.deleted'), ('payout.canceled'),
				('payment_intent.created'), ('payment_intent.canceled'), ('payment_intent.succeeded'),
				('payment_intent.payment_failed'), ('setup_intent.created'),
				('product.created'), ('product.deleted'), ('price.created'), ('coupon.created'), ('coupon.deleted'),
				('checkout.session.expired'))
			SELECT coalesce(t.object_id, e.id), CASE
			       WHEN e.id IS NULL THEN 'no event ' || t.type
			       WHEN t.type IS NULL THEN 'tells ' || e.type || ' of ' || e.object_id || ', which did not happen'
			       ELSE 'its event ' || e.type || ' tells another object or amount' END
			FROM emitted t FULL JOIN (
			    SELECT account_id, id, request_id, type, object_id, data#>>'{object,id}' AS told_id,
			           CASE WHEN type IN (SELECT type FROM telling) THEN data#>>'{object,amount}' END AS told_amount
			    FROM events WHERE type IN (SELECT type FROM emitted_types)
			    OFFSET 0) e -- the join keeps rows without their data
			  ON e.request_id = t.request_id AND e.type = t.type AND e.object_id = t.object_id
			      AND e.account_id = t.account_id
			WHERE e.id IS NULL AND NOT ` + emittedMayBeAway + ` OR t.type IS NULL
			   OR e.id IS NOT NULL AND e.told_id IS DISTINCT FROM t.object_id
			   OR e.id IS NOT NULL AND t.amount IS NOT NULL AND e.told_amount IS DISTINCT FROM t.amount::text`,
	},
	{
		since: ofChanges,
		name:  "every event has a delivery to each subscribed endpoint", counted: "deliveries",
		count: `SELECT count(*) FROM webhook_deliveries`,
		sql: `
			SELECT e.id, 'has no delivery to ' || w.id
			FROM webhook_endpoints w
			JOIN events e ON e.account_id = w.account_id AND e.livemode = w.livemode
			    AND e.created_at > w.changed_at + interval '1 minute'
			LEFT JOIN webhook_deliveries d ON d.account_id = e.account_id AND d.event_id = e.id AND d.endpoint_id = w.id
			WHERE w.status = 'enabled' AND w.deleted_at IS NULL
			  AND ('*' = ANY (w.enabled_events) OR e.type = ANY (w.enabled_events)) AND d.event_id IS NULL
			UNION ALL
			SELECT d.event_id, 'is delivered to ' || d.endpoint_id || ', which is '
			       || CASE WHEN w.id IS NULL THEN 'not there' ELSE 'of another mode' END
			FROM webhook_deliveries d JOIN events e ON e.account_id = d.account_id AND e.id = d.event_id
			LEFT JOIN webhook_endpoints w ON w.account_id = d.account_id AND w.id = d.endpoint_id
			WHERE w.id IS NULL OR w.livemode <> e.livemode
			UNION ALL
			SELECT d.event_id, CASE WHEN count(a.attempt) <> d.attempts
			       THEN 'has ' || count(a.attempt) || ' attempts to ' || d.endpoint_id || ', wants ' || d.attempts
			       ELSE 'is acknowledged by ' || d.endpoint_id || ' without an answer that says so' END
			FROM webhook_deliveries d
			LEFT JOIN webhook_attempts a ON a.account_id = d.account_id AND a.event_id = d.event_id
			    AND a.endpoint_id = d.endpoint_id
			GROUP BY d.account_id, d.event_id, d.endpoint_id, d.attempts, d.state
			HAVING count(a.attempt) <> d.attempts OR d.state = 'succeeded'
			    AND count(*) FILTER (WHERE a.status BETWEEN 200 AND 299) = 0`,
	},
	{
		name: "erased requests hold no personal data", counted: "erased requests",
		count: `SELECT count(*) FROM answers WHERE redacted_at IS NOT NULL`,
		sql: `
			WITH erased AS (SELECT account_id, request_id AS id FROM answers WHERE redacted_at IS NOT NULL)
			SELECT r.id, 'was erased, and its parameters or its answer still contain personal data'
			FROM ` + asked + ` r LEFT JOIN archived_answers c ON c.account_id = r.account_id AND c.request_id = r.id
			WHERE r.redacted_at IS NOT NULL
			  AND (r.params::text <> redact_pii(r.params)::text OR r.context::text <> redact_pii(r.context)::text
			   OR coalesce(r.body, c.body) <> redact_pii(coalesce(r.body, c.body)))
			UNION ALL
			SELECT e.id, 'contains personal data, and its request was erased'
			FROM events e JOIN erased r ON r.account_id = e.account_id AND r.id = e.request_id
			WHERE e.data::text <> redact_pii(e.data)::text
			UNION ALL
			SELECT s.id, 'knows its customer, and its request was erased'
			FROM checkout_sessions s JOIN erased r ON r.account_id = s.account_id AND r.id = s.request_id
			WHERE s.customer_email IS NOT NULL OR s.customer_details::text <> redact_pii(s.customer_details)::text
			UNION ALL
			SELECT d.id, 'has evidence of a person, and its request was erased'
			FROM disputes d JOIN erased r ON r.account_id = d.account_id AND r.id = d.request_id
			WHERE d.evidence::text <> redact_pii(d.evidence, true)::text`,
	},
	{
		since: ofRequests,
		name:  "every finished request is in the audit trail, once", counted: "audit rows",
		count: `SELECT count(*) FROM audit_events`,
		sql: `
			SELECT r.id, CASE WHEN a.id IS NULL THEN 'has no audit row' ELSE 'its audit row tells another outcome' END
			FROM ` + asked + ` r LEFT JOIN audit_events a ON a.request_id = r.id AND a.account_id = r.account_id
			    AND a.operation = r.flow
			WHERE r.status IS NOT NULL
			  AND (a.id IS NULL AND date_trunc('month', r.finished_at AT TIME ZONE 'UTC')::date NOT IN (SELECT month
			          FROM audit_detachments)
			    OR a.id IS NOT NULL AND (a.status, a.object_id, a.livemode, a.idempotency_key)
			       IS DISTINCT FROM (r.status, r.object_id, r.livemode, CASE WHEN NOT r.key_generated THEN r.key END))
			UNION ALL
			SELECT r.id, 'has ' || several.rows || ' audit rows'
			FROM (SELECT account_id, request_id, operation, count(*) AS rows FROM audit_events
			      GROUP BY account_id, request_id, operation HAVING count(*) > 1) several
			JOIN requests r ON r.account_id = several.account_id AND r.id = several.request_id
			    AND r.flow = several.operation
			UNION ALL
			SELECT a.id, 'of a request that does not exist'
			FROM audit_events a LEFT JOIN ` + askedOfAll + ` r ON r.account_id = a.account_id AND r.id = a.request_id
			WHERE a.actor NOT LIKE 'operator:%' AND a.actor <> 'inbox' AND r.status IS NULL
			UNION ALL
			SELECT a.id, 'its details are not what was committed to'
			FROM audit_events a WHERE a.details IS NOT NULL
			    AND a.commitment <> sha256(a.salt || convert_to(a.details, 'UTF8'))`,
	},
}
