-- 000030: sums by day, so that charts need not add up a quarter each time. The worker adds charges and webhook attempts
-- to the sums of their days when they are an hour old, so a chart reads a row for each day and the rows of the last
-- hour. Also, the first automatic payout of an old book takes past movements as one amount.

-- The dashboard lists the customers of test clocks among the others. With customers_in_lists this index contains all
-- that are not deleted.
CREATE INDEX clocked_customers_in_lists ON customers (account_id, id)
    WHERE deleted_at IS NULL AND test_clock IS NOT NULL;

-- The attempts of a time, of events of any age. The condition is always true, and only statements that repeat it use
-- the index: see postings_by_time.
CREATE INDEX attempts_by_time ON webhook_attempts (account_id, started_at) WHERE attempt > 0;

CREATE TABLE counted (
    account_id      text COLLATE "C" PRIMARY KEY REFERENCES accounts,
    charges_before  text COLLATE "C" NOT NULL DEFAULT '',
    attempts_before timestamptz NOT NULL DEFAULT '-infinity'
);
COMMENT ON TABLE counted IS
    'How far the sums of days reach: each charge with a lower ID and each webhook attempt that began earlier is in a '
    'sum, or waits to be counted.';

CREATE TABLE charge_days (
    account_id text COLLATE "C" NOT NULL REFERENCES counted,
    livemode   boolean NOT NULL,
    currency   text    NOT NULL,
    day        date    NOT NULL,
    tried      bigint  NOT NULL,
    approved   bigint  NOT NULL,
    captured   bigint  NOT NULL,
    amount     bigint  NOT NULL,
    PRIMARY KEY (account_id, livemode, day, currency),
    CONSTRAINT charge_days_count_parts_of_each_other CHECK (
        captured BETWEEN 0 AND approved AND approved <= tried AND amount >= captured)
);
CREATE INDEX charge_days_of_a_day ON charge_days (day);
COMMENT ON TABLE charge_days IS
    'The charges that were made on a day, in UTC: how many, how many of them were approved and captured, '
    'and the amount that was captured.';

CREATE TABLE charges_to_count (
    account_id text COLLATE "C" NOT NULL REFERENCES counted,
    id         text COLLATE "C" NOT NULL,
    PRIMARY KEY (account_id, id)
);
COMMENT ON TABLE charges_to_count IS
    'Charges that may still be approved or captured. They are added to their day then.';

CREATE TABLE attempt_days (
    account_id   text COLLATE "C" NOT NULL REFERENCES counted,
    livemode     boolean NOT NULL,
    day          date    NOT NULL,
    tried        bigint  NOT NULL,
    acknowledged bigint  NOT NULL,
    PRIMARY KEY (account_id, livemode, day),
    CONSTRAINT attempt_days_count_parts_of_each_other CHECK (acknowledged BETWEEN 0 AND tried)
);
COMMENT ON TABLE attempt_days IS
    'The webhook attempts that began on a day, in UTC, and have ended. Those of the Stripe CLI are not counted.';

CREATE TABLE attempts_to_count (
    account_id  text COLLATE "C" NOT NULL REFERENCES counted,
    event_id    text COLLATE "C" NOT NULL,
    endpoint_id text COLLATE "C" NOT NULL,
    attempt     integer NOT NULL,
    PRIMARY KEY (account_id, event_id, endpoint_id, attempt)
);
COMMENT ON TABLE attempts_to_count IS 'Webhook attempts that have not ended. They are added to their day then.';

-- The sums in which a charge counts. They are final once it has failed, was captured, or can no longer be captured.
CREATE VIEW charge_counts AS
    SELECT c.account_id, c.id, c.livemode, c.currency, (c.created_at AT TIME ZONE 'UTC')::date AS day,
           (c.status <> 'pending')::integer AS tried, (c.status = 'succeeded')::integer AS approved,
           c.captured::integer AS captured, c.amount_captured AS amount,
           c.status = 'failed' OR c.captured OR coalesce(c.status = 'succeeded' AND c.locked_by IS NULL
               AND c.capture_before < statement_timestamp() - interval '1 day', false) AS final
      FROM charges c;

CREATE VIEW attempt_counts AS
    SELECT t.account_id, t.event_id, t.endpoint_id, t.attempt, t.started_at, e.livemode,
           (t.started_at AT TIME ZONE 'UTC')::date AS day, coalesce(t.status BETWEEN 200 AND 299, false)::integer
           AS acknowledged, t.ended_at IS NOT NULL AS final
      FROM webhook_attempts t
      JOIN webhook_endpoints e ON e.account_id = t.account_id AND e.id = t.endpoint_id AND NOT e.listener;

-- The next two functions run as their owner: no role can write a wrong sum. The caller knows that no charge with a
-- lower ID, and no attempt that began earlier, can still commit. A call adds a limited number of rows and returns
-- whether there may be more. Two calls for an account wait for each other.
CREATE FUNCTION count_charges(of_account text, before text, at_most integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    begins text;
    ends   text;
BEGIN
    INSERT INTO counted (account_id) VALUES (of_account) ON CONFLICT DO NOTHING;
    SELECT charges_before INTO begins FROM counted WHERE account_id = of_account FOR NO KEY UPDATE;
    SELECT id INTO ends FROM charges WHERE account_id = of_account AND id >= begins AND id < before
     ORDER BY id OFFSET at_most LIMIT 1;
    ends := coalesce(ends, before);
    WITH waited AS (
        DELETE FROM charges_to_count w
         WHERE w.account_id = of_account
           AND coalesce((SELECT c.final FROM charge_counts c WHERE c.account_id = w.account_id AND c.id = w.id), true)
        RETURNING w.id
    ), step AS MATERIALIZED (
        SELECT c.* FROM charge_counts c
         WHERE c.account_id = of_account AND c.id >= begins AND c.id < ends
    ), left_for_later AS (
        INSERT INTO charges_to_count (account_id, id) SELECT of_account, id FROM step WHERE NOT final
    )
    INSERT INTO charge_days AS d (account_id, livemode, currency, day, tried, approved, captured, amount)
    SELECT of_account, c.livemode, c.currency, c.day, sum(c.tried), sum(c.approved), sum(c.captured), sum(c.amount)
      FROM (SELECT * FROM step WHERE final
            UNION ALL
            SELECT c.* FROM waited w JOIN charge_counts c ON c.account_id = of_account AND c.id = w.id) c
     GROUP BY c.livemode, c.currency, c.day
        ON CONFLICT (account_id, livemode, day, currency) DO UPDATE
       SET tried = d.tried + excluded.tried, approved = d.approved + excluded.approved,
           captured = d.captured + excluded.captured, amount = d.amount + excluded.amount;
    UPDATE counted SET charges_before = greatest(begins, ends) WHERE account_id = of_account;
    RETURN ends < before;
END $$;

CREATE FUNCTION count_attempts(of_account text, before timestamptz, at_most integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    begins timestamptz;
    ends   timestamptz;
BEGIN
    INSERT INTO counted (account_id) VALUES (of_account) ON CONFLICT DO NOTHING;
    SELECT attempts_before INTO begins FROM counted WHERE account_id = of_account FOR NO KEY UPDATE;
    SELECT started_at INTO ends FROM webhook_attempts
     WHERE account_id = of_account AND attempt > 0 AND started_at >= begins AND started_at < before
     ORDER BY started_at OFFSET at_most LIMIT 1;
    -- More than that may have begun at one time.
    ends := CASE WHEN ends IS NULL THEN before ELSE greatest(ends, begins + interval '1 microsecond') END;
    WITH waited AS (
        DELETE FROM attempts_to_count w
         WHERE w.account_id = of_account
           AND coalesce((SELECT t.final FROM attempt_counts t WHERE t.account_id = w.account_id
                            AND t.event_id = w.event_id AND t.endpoint_id = w.endpoint_id AND t.attempt = w.attempt),
                        true)
        RETURNING w.event_id, w.endpoint_id, w.attempt
    ), step AS MATERIALIZED (
        SELECT t.* FROM attempt_counts t
         WHERE t.account_id = of_account AND t.attempt > 0 AND t.started_at >= begins AND t.started_at < ends
    ), left_for_later AS (
        INSERT INTO attempts_to_count (account_id, event_id, endpoint_id, attempt)
        SELECT of_account, event_id, endpoint_id, attempt FROM step WHERE NOT final
    )
    INSERT INTO attempt_days AS d (account_id, livemode, day, tried, acknowledged)
    SELECT of_account, t.livemode, t.day, count(*), sum(t.acknowledged)
      FROM (SELECT * FROM step WHERE final
            UNION ALL
            SELECT t.* FROM waited w JOIN attempt_counts t ON t.account_id = of_account AND t.event_id = w.event_id
               AND t.endpoint_id = w.endpoint_id AND t.attempt = w.attempt) t
     GROUP BY t.livemode, t.day
        ON CONFLICT (account_id, livemode, day) DO UPDATE
       SET tried = d.tried + excluded.tried, acknowledged = d.acknowledged + excluded.acknowledged;
    UPDATE counted SET attempts_before = greatest(begins, ends) WHERE account_id = of_account;
    RETURN ends < before;
END $$;

-- An account whose money was paid out on request begins to be paid out automatically. Its first automatic payout would
-- have to name every earlier movement. If these are many, the payout takes the balance at the end of a closed period as
-- one amount, and names the movements since then.
CREATE TABLE swept_before (
    book_id bigint      PRIMARY KEY REFERENCES ledger_books,
    payout  text COLLATE "C" NOT NULL,
    until   timestamptz NOT NULL,
    amount  bigint      NOT NULL
);
COMMENT ON TABLE swept_before IS
    'What the first automatic payout of an old book has taken as one amount: what the movements before until had left. '
    'All of it was available. Later movements are in ledger_swept.';
CREATE TRIGGER swept_before_is_final BEFORE UPDATE OR DELETE ON swept_before FOR EACH ROW
    EXECUTE FUNCTION reject_change('the ledger is append-only: post a reversal');
CREATE TRIGGER swept_before_is_not_emptied BEFORE TRUNCATE ON swept_before FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('the ledger is append-only');
ALTER TABLE swept_before
    ENABLE ALWAYS TRIGGER swept_before_is_final,
    ENABLE ALWAYS TRIGGER swept_before_is_not_emptied;

-- See migration 000005. This version adds the opening amount, and searches for the last sweep from the newest payout.
CREATE OR REPLACE FUNCTION ledger_sweep(of_book bigint, posting text, into_payout text, request text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    many   CONSTANT integer := 50000; -- movements that are named one by one within a second or so
    time   timestamptz;
    swept  timestamptz;
    begins timestamptz;
    opened bigint := 0;
    total  bigint;
    taken  text[];
BEGIN
    PERFORM FROM ledger_books WHERE id = of_book FOR NO KEY UPDATE;
    SELECT account_time(b.account_id, b.livemode) INTO time FROM ledger_books b WHERE b.id = of_book;
    SELECT p.created_at INTO swept FROM ledger_postings p
     WHERE p.book_id = of_book AND p.kind = 'payout'
       AND (SELECT s.payout FROM ledger_swept s WHERE s.book_id = p.book_id AND s.posting_id = p.id) = p.source
     ORDER BY p.created_at DESC LIMIT 1;
    SELECT greatest(
               coalesce(min(p.since) FILTER (WHERE greatest(p.until, p.matures_until) > swept - interval '1 hour'),
                        max(p.until) FILTER (WHERE swept IS NOT NULL), '-infinity'),
               (SELECT o.until FROM swept_before o WHERE o.book_id = of_book))
      INTO begins FROM ledger_periods p WHERE p.book_id = of_book;
    IF swept IS NULL THEN
        SELECT coalesce(min(p.since) FILTER (WHERE p.matures_until > time), max(p.until), '-infinity')
          INTO begins FROM ledger_periods p WHERE p.book_id = of_book;
        IF (SELECT sum(p.postings) FROM ledger_periods p WHERE p.book_id = of_book AND p.until <= begins) > many THEN
            SELECT coalesce(sum(s.credit - s.debit), 0) INTO opened FROM ledger_period_sums s
             WHERE s.book_id = of_book AND s.account = 'merchant_balance' AND s.until <= begins;
        ELSE
            begins := '-infinity';
        END IF;
    END IF;
    SELECT coalesce(sum(m.net), 0), coalesce(array_agg(m.id), '{}') INTO total, taken
      FROM ledger_movements m
     WHERE m.book_id = of_book AND m.created_at >= begins
       -- A charge takes nothing out, so its net is not needed to know that it has to be available.
       AND (m.available_on <= time OR m.kind <> 'charge')
       AND (m.available_on <= time OR m.net < 0)
       AND (SELECT s.payout FROM ledger_swept s WHERE s.book_id = m.book_id AND s.posting_id = m.id) IS NULL;
    total := total + opened;
    IF total <= 0 THEN
        RETURN NULL;
    END IF;
    PERFORM ledger_pay_out(of_book, posting, into_payout, total, request);
    INSERT INTO ledger_swept (book_id, posting_id, payout) SELECT of_book, unnest(taken || posting), into_payout;
    IF swept IS NULL AND begins > '-infinity' THEN
        INSERT INTO swept_before (book_id, payout, until, amount) VALUES (of_book, into_payout, begins, opened);
    END IF;
    RETURN total;
END $$;

GRANT SELECT ON counted, charge_days, charges_to_count, attempt_days, attempts_to_count, charge_counts, attempt_counts,
    swept_before TO ratchet_api, ratchet_worker, ratchet_auditor;
REVOKE EXECUTE ON FUNCTION count_charges(text, text, integer), count_attempts(text, timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION count_charges(text, text, integer), count_attempts(text, timestamptz, integer)
    TO ratchet_worker;
