DROP FUNCTION ledger_close_period(bigint, timestamptz, integer);
CREATE OR REPLACE FUNCTION ledger_sweep(of_book bigint, posting text, into_payout text, request text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$
DECLARE
    time  timestamptz;
    total bigint;
    taken text[];
BEGIN
    PERFORM FROM ledger_books WHERE id = of_book FOR NO KEY UPDATE;
    SELECT account_time(b.account_id, b.livemode) INTO time FROM ledger_books b WHERE b.id = of_book;
    SELECT sum(n.net), array_agg(n.id) INTO total, taken
      FROM (SELECT p.id, p.available_on, (
                   SELECT sum(CASE WHEN l.credit = 'merchant_balance' THEN l.amount ELSE -l.amount END)
                     FROM unnest(p.debits, p.credits, p.amounts) AS l (debit, credit, amount) WHERE 'merchant_balance' IN (l.debit, l.credit)) AS net
              FROM ledger_postings p
             WHERE p.book_id = of_book AND 'merchant_balance' = ANY (p.debits || p.credits)
               AND NOT EXISTS (SELECT FROM ledger_swept s WHERE s.book_id = p.book_id AND s.posting_id = p.id)) n
     WHERE n.net < 0 OR n.available_on <= time;
    IF total IS NULL OR total <= 0 THEN
        RETURN NULL;
    END IF;
    PERFORM ledger_pay_out(of_book, posting, into_payout, total, request);
    INSERT INTO ledger_swept (book_id, posting_id, payout) SELECT of_book, unnest(taken || posting), into_payout;
    RETURN total;
END $$;
CREATE OR REPLACE FUNCTION ledger_available(of_book bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
    WITH t AS MATERIALIZED (SELECT account_time(b.account_id, b.livemode) AS now FROM ledger_books b WHERE b.id = of_book)
    SELECT coalesce(sum(n.net) FILTER (WHERE n.net < 0 OR n.available_on <= t.now), 0)::bigint
      FROM (SELECT p.available_on, (
                   SELECT sum(CASE WHEN l.credit = 'merchant_balance' THEN l.amount WHEN l.debit = 'merchant_balance' THEN -l.amount ELSE 0 END)
                     FROM unnest(p.debits, p.credits, p.amounts) AS l (debit, credit, amount)) AS net
              FROM ledger_postings p WHERE p.book_id = of_book) n CROSS JOIN t
$$;
DROP FUNCTION ledger_balance(bigint, timestamptz);
DROP VIEW ledger_totals;
DROP VIEW ledger_movements;
DROP TABLE ledger_period_sums, ledger_periods;
DROP INDEX payouts_by_time, postings_by_time;
DROP TRIGGER a_posting_is_dated_when_it_is_made ON ledger_postings;
