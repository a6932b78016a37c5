package verify

// payoutRules are what has to hold of money that leaves for the merchants' banks.
var payoutRules = []rule{
	{
		since: ofPayments,
		name:  "every payout has exactly its postings", counted: "payouts",
		count: `SELECT count(*) FROM payouts`,
		sql: `
			WITH wanted AS (
				SELECT p.account_id, p.livemode, p.currency, p.id AS source, w.kind, abs(p.amount) AS amount,
				       CASE WHEN p.amount > 0 THEN w.debit ELSE w.credit END AS debit,
				       CASE WHEN p.amount > 0 THEN w.credit ELSE w.debit END AS credit,
				           CASE w.kind WHEN 'payout' THEN p.balance_transaction WHEN 'payout_paid' THEN NULL
				               ELSE p.failure_balance_transaction END AS posting
				FROM payouts p
				JOIN (VALUES ('payout', NULL, 'merchant_balance', 'payouts_in_transit'),
				             ('payout_paid', 'paid', 'payouts_in_transit', 'bank_cash'),
				             ('payout_failure', 'failed', 'payouts_in_transit', 'merchant_balance'),
				             ('payout_cancel', 'canceled', 'payouts_in_transit', 'merchant_balance')) AS w (kind,
				             status, debit, credit)
				  ON w.status IS NULL OR w.status = p.status
			), booked AS (
				SELECT b.account_id, b.livemode, b.currency, p.source, p.kind, p.id AS posting,
				       cardinality(p.amounts) AS legs, l.amount, l.debit::text, l.credit::text, l.purpose::text
				FROM ledger_postings p JOIN ledger_books b ON b.id = p.book_id
				LEFT JOIN LATERAL ` + legsOf + ` ON true
				WHERE p.kind LIKE 'payout%')
			SELECT coalesce(w.source, b.posting), CASE
			       WHEN b.source IS NULL THEN 'has no ' || w.kind || ' of ' || w.amount || ' ' || w.currency
			       || ' posted from ' || w.credit || ' to ' || w.debit
			       ELSE b.kind || ' of ' || b.source || ', from ' || b.credit || ' to ' || b.debit || ' ' || b.amount
			       || ' ' || b.currency || ', which no payout accounts for' END
			FROM wanted w FULL JOIN booked b
			  ON b.account_id = w.account_id AND b.livemode = w.livemode AND b.currency = w.currency
			      AND b.source = w.source AND b.kind = w.kind AND b.legs = 1
			 AND b.amount = w.amount AND b.debit = w.debit AND b.credit = w.credit AND b.purpose = 'gross'
			 AND b.posting = coalesce(w.posting, b.posting)
			WHERE w.source IS NULL OR b.source IS NULL`,
	},
	{
		name: "no book has paid out more than ever became available", counted: "books",
		count: `SELECT count(*) FROM ledger_books`,
		sql: `
			WITH ` + posted + `
			SELECT b.account_id, 'has had '
			       || coalesce(sum(p.gross - p.fee) FILTER (WHERE p.kind NOT LIKE 'payout%' AND p.gross > p.fee
			           AND t.available_on <= n.now), 0) || ' ' || b.currency
			       || ' available and was paid '
			       || coalesce(-sum(p.gross) FILTER (WHERE p.kind LIKE 'payout%'
			           AND (p.gross < 0 OR t.available_on <= n.now)), 0)
			FROM ledger_books b
			CROSS JOIN LATERAL (SELECT clock_timestamp() + coalesce(
				(SELECT max(c.frozen_time - c.started_at) FROM test_clocks c
				    WHERE c.account_id = b.account_id AND NOT b.livemode), interval '0') AS now) n
			JOIN posted p ON p.book_id = b.id
			JOIN ledger_postings t ON t.book_id = p.book_id AND t.id = p.id
			GROUP BY b.id, b.account_id, b.currency
			HAVING coalesce(sum(p.gross - p.fee) FILTER (WHERE (p.kind LIKE 'payout%'
			    AND (p.gross < 0 OR t.available_on <= n.now)) OR (p.gross > p.fee AND t.available_on <= n.now)),
			    0) < 0`,
	},
	{
		name: "every automatic payout agrees with the movements in it", counted: "payouts",
		count: `SELECT count(*) FROM payouts`,
		sql: `
			WITH ` + posted + `
			SELECT s.payout, 'consists of movements that come to ' || sum(s.net) || ' beside its own'
			FROM (SELECT s.book_id, s.payout, p.gross - p.fee AS net
			      FROM ledger_swept s JOIN posted p ON p.book_id = s.book_id AND p.id = s.posting_id
			      UNION ALL SELECT book_id, payout, amount FROM swept_before) s
			GROUP BY s.book_id, s.payout HAVING sum(s.net) <> 0
			UNION ALL
			SELECT o.payout, 'takes ' || o.amount || ' for what was posted before ' || o.until || ', which comes to '
			       || coalesce(sum(p.gross - p.fee), 0)
			FROM swept_before o LEFT JOIN ledger_postings t ON t.book_id = o.book_id AND t.created_at < o.until
			LEFT JOIN posted p ON p.book_id = t.book_id AND p.id = t.id
			GROUP BY o.payout, o.amount, o.until HAVING o.amount <> coalesce(sum(p.gross - p.fee), 0)
			UNION ALL
			SELECT s.payout, 'names ' || t.id || ', which is part of the balance that ' || o.payout || ' takes'
			FROM swept_before o JOIN ledger_postings t ON t.book_id = o.book_id AND t.created_at < o.until
			JOIN ledger_swept s ON s.book_id = t.book_id AND s.posting_id = t.id
			UNION ALL
			SELECT p.id, CASE WHEN p.automatic_on IS NULL THEN 'was asked for, and yet consists of movements'
			       ELSE 'is automatic, and does not hold its own movement' END
			FROM payouts p JOIN ledger_books b ON b.account_id = p.account_id AND b.livemode = p.livemode
			    AND b.currency = p.currency
			LEFT JOIN ledger_swept s ON s.book_id = b.id AND s.payout = p.id AND s.posting_id = p.balance_transaction
			WHERE (p.automatic_on IS NULL) <> (s.payout IS NULL)
			UNION ALL
			SELECT p.id, 'is reversed by ' || p.reversed_by || ', which '
			       || CASE WHEN r.id IS NULL THEN 'does not exist' ELSE 'fetches ' || r.amount || ' back' END
			FROM payouts p LEFT JOIN payouts r ON r.account_id = p.account_id AND r.id = p.reversed_by
			    AND r.original_payout = p.id
			WHERE p.reversed_by IS NOT NULL
			  AND (r.id IS NULL OR r.amount <> -p.amount OR r.currency <> p.currency OR r.livemode <> p.livemode)
			UNION ALL
			SELECT p.id, 'is locked by ' || p.locked_by || ', which '
			       || CASE WHEN r.id IS NULL THEN 'does not exist' ELSE 'has finished' END
			FROM payouts p LEFT JOIN ` + asked + ` r ON r.account_id = p.account_id AND r.id = p.locked_by
			WHERE p.locked_by IS NOT NULL AND (r.id IS NULL OR r.status IS NOT NULL)
			UNION ALL
			SELECT r.id, r.flow || ' answered ' || r.status || ' and made ' || count(p.id) || ' payouts'
			FROM ` + asked + ` r LEFT JOIN payouts p ON p.account_id = r.account_id AND p.request_id = r.id
			WHERE r.flow IN ('payout.create', 'payout.daily', 'payout.reverse') AND r.status IS NOT NULL
			GROUP BY r.account_id, r.id, r.flow, r.status, r.object_id
			HAVING count(p.id) <> CASE r.status WHEN 200 THEN 1 ELSE 0 END OR bool_or(p.status = 'new')
			    OR r.status = 200 AND min(p.id) IS DISTINCT FROM r.object_id
			UNION ALL
			SELECT p.id, 'goes to ' || p.destination || ', which is not the bank account of ' || p.account_id
			FROM payouts p
			WHERE p.destination <> 'ba_' || regexp_replace(p.account_id, '^acct_', '')
			  AND (p.livemode OR p.destination NOT LIKE 'ba_us_%')
			UNION ALL
			SELECT r.id, r.flow || ' left ' || r.object_id || ' ' || coalesce(p.status, 'nowhere')
			FROM ` + asked + ` r LEFT JOIN payouts p ON p.account_id = r.account_id AND p.id = r.object_id
			WHERE r.status = 200 AND (r.flow = 'payout.cancel' AND p.status IS DISTINCT FROM 'canceled'
			    OR r.flow = 'payout.arrive' AND p.status IS DISTINCT FROM 'paid')`,
	},
}
