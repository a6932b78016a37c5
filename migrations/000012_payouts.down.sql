DROP FUNCTION ledger_sweep(bigint, text, text, text);
DROP FUNCTION ledger_try_pay_out(bigint, text, text, bigint, text);
DROP TABLE payouts, ledger_swept, settlement_differences;
ALTER TABLE accounts DROP COLUMN payout_schedule;
CREATE OR REPLACE FUNCTION ledger_available(of_book bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce(sum(n.net) FILTER (WHERE n.net < 0 OR n.available_on <= clock_timestamp()), 0)::bigint
      FROM (SELECT p.available_on, (
                   SELECT sum(CASE WHEN l.credit = 'merchant_balance' THEN l.amount WHEN l.debit = 'merchant_balance' THEN -l.amount ELSE 0 END)
                     FROM unnest(p.debits, p.credits, p.amounts) AS l (debit, credit, amount)) AS net
              FROM ledger_postings p WHERE p.book_id = of_book) n
$$;
DROP FUNCTION money_to_tell_of(text, boolean);
DROP INDEX charges_by_availability;
ALTER TABLE customers DROP COLUMN test_clock;
DROP FUNCTION account_time(text, boolean);
DROP FUNCTION account_ahead(text, boolean);
DROP TABLE test_clocks;
