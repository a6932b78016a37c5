DROP FUNCTION ledger_sweep(bigint, text, text, text);
DROP FUNCTION ledger_try_pay_out(bigint, text, text, bigint, text);
DROP TABLE payouts, ledger_swept, settlement_differences;
ALTER TABLE accounts DROP COLUMN payout_schedule;
CREATE OR REPLACE FUNCTION ledger_available(of_book bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce(sum(n.net) FILTER (WHERE n.net < 0 OR n.available_on <= clock_timestamp()), 0)::bigint
      FROM (SELECT p.available_on,
                   sum(CASE WHEN l.credit = 'merchant_balance' THEN l.amount WHEN l.debit = 'merchant_balance' THEN -l.amount ELSE 0 END) AS net
              FROM ledger_legs l JOIN ledger_postings p ON p.book_id = l.book_id AND p.id = l.posting_id
             WHERE l.book_id = of_book GROUP BY p.id, p.available_on) n
$$;
DROP FUNCTION money_to_tell_of(text, boolean);
DROP INDEX charges_by_availability;
ALTER TABLE customers DROP COLUMN test_clock;
DROP FUNCTION account_time(text, boolean);
DROP FUNCTION account_ahead(text, boolean);
DROP TABLE test_clocks;
