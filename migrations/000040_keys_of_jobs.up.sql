-- 000040: idempotency keys of background jobs that clients cannot take
--
-- The worker's request that announces an available balance has the key that this function returns, after the prefix of
-- all jobs (internal/apirequest/refusal.go:JobKeys). Requests from before have no prefix.
CREATE OR REPLACE FUNCTION balance_available_key(of_account text, of_livemode boolean) RETURNS text
LANGUAGE sql STABLE AS $$
    WITH t AS MATERIALIZED (SELECT account_time(of_account, of_livemode) AS now),
         m AS (SELECT 'available on ' || to_char(max(l.at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS key
                 FROM t CROSS JOIN ledger_books b
                CROSS JOIN LATERAL (SELECT max(p.available_on) AS at FROM ledger_postings p
                                     WHERE p.book_id = b.id AND p.kind = 'charge' AND p.available_on <= t.now) l
                WHERE b.account_id = of_account AND b.livemode = of_livemode)
    SELECT m.key FROM m
     WHERE m.key IS NOT NULL
       AND NOT EXISTS (SELECT FROM requests r
                        WHERE r.account_id = of_account AND r.livemode = of_livemode
                          AND r.key IN ('job:' || m.key, m.key))
$$;
