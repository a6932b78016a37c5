-- 000012: money paid out to merchants, and the test clock by which that can be
-- watched without waiting for days.

-- A test clock moves an account's test mode ahead in time. It only ever moves
-- forward, and a deleted one leaves the time where it was: money that has become
-- available, and may have been paid out, never becomes pending again.
CREATE TABLE test_clocks (
    account_id   text COLLATE "C" NOT NULL,
    id           text COLLATE "C" NOT NULL,
    livemode     boolean     NOT NULL DEFAULT false,
    request_id   text COLLATE "C" NOT NULL,
    name         text,
    started_at   timestamptz NOT NULL,
    frozen_time  timestamptz NOT NULL,
    status       text        NOT NULL DEFAULT 'ready',
    advanced_at  timestamptz NOT NULL,
    created_at   timestamptz NOT NULL,
    deleted_at   timestamptz,
    PRIMARY KEY (account_id, id),
    CONSTRAINT a_request_makes_one_test_clock UNIQUE (request_id, account_id),
    CONSTRAINT a_clock_status_is_known CHECK (status IN ('ready', 'advancing')),
    CONSTRAINT only_test_mode_has_clocks CHECK (NOT livemode),
    CONSTRAINT a_clock_is_never_behind_its_start CHECK (frozen_time >= started_at)
);
CREATE INDEX advancing_clocks ON test_clocks (advanced_at) WHERE status = 'advancing';
COMMENT ON TABLE test_clocks IS 'frozen_time less started_at is how far the clock has been moved. The account''s test mode is ahead by as much as its furthest clock.';
CREATE TRIGGER test_clocks_turn_one_way BEFORE UPDATE ON test_clocks FOR EACH ROW
    WHEN (NEW.frozen_time < OLD.frozen_time OR OLD.deleted_at IS NOT NULL
       OR (NEW.account_id, NEW.id, NEW.started_at) IS DISTINCT FROM (OLD.account_id, OLD.id, OLD.started_at))
    EXECUTE FUNCTION refuse('a clock turns one way');
CREATE TRIGGER test_clocks_are_kept BEFORE DELETE ON test_clocks FOR EACH ROW
    EXECUTE FUNCTION refuse('time does not go back when a clock is deleted');
ALTER TABLE test_clocks ENABLE ALWAYS TRIGGER test_clocks_turn_one_way;
ALTER TABLE test_clocks ENABLE ALWAYS TRIGGER test_clocks_are_kept;

-- How far an account is ahead, and what time it is there. These are the only
-- places that say so: availability, the lapse of holds and the way of payouts all
-- ask here. By clock_timestamp(), because now() is the start of a transaction
-- that may since have waited for a lock.
CREATE FUNCTION account_ahead(of_account text, of_livemode boolean) RETURNS interval LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT max(c.frozen_time - c.started_at) FROM test_clocks c WHERE c.account_id = of_account AND NOT of_livemode), interval '0')
$$;
CREATE FUNCTION account_time(of_account text, of_livemode boolean) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT clock_timestamp() + account_ahead(of_account, of_livemode)
$$;

-- One look at the clock for the whole sum: without MATERIALIZED every leg has its own.
CREATE OR REPLACE FUNCTION ledger_available(of_book bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
    WITH t AS MATERIALIZED (SELECT account_time(b.account_id, b.livemode) AS now FROM ledger_books b WHERE b.id = of_book)
    SELECT coalesce(sum(n.net) FILTER (WHERE n.net < 0 OR n.available_on <= t.now), 0)::bigint
      FROM (SELECT p.available_on, (
                   SELECT sum(CASE WHEN l.credit = 'merchant_balance' THEN l.amount WHEN l.debit = 'merchant_balance' THEN -l.amount ELSE 0 END)
                     FROM unnest(p.debits, p.credits, p.amounts) AS l (debit, credit, amount)) AS net
              FROM ledger_postings p WHERE p.book_id = of_book) n CROSS JOIN t
$$;

-- The key of the request that tells of what has become available, null where that
-- has been told. Keys are never free again, so it is told once.
CREATE INDEX charges_by_availability ON ledger_postings (book_id, available_on) WHERE kind = 'charge';
CREATE FUNCTION money_to_tell_of(of_account text, of_livemode boolean) RETURNS text LANGUAGE sql STABLE AS $$
    WITH t AS MATERIALIZED (SELECT account_time(of_account, of_livemode) AS now),
         m AS (SELECT 'available on ' || to_char(max(l.at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS key
                 FROM t CROSS JOIN ledger_books b
                CROSS JOIN LATERAL (SELECT max(p.available_on) AS at FROM ledger_postings p
                                     WHERE p.book_id = b.id AND p.kind = 'charge' AND p.available_on <= t.now) l
                WHERE b.account_id = of_account AND b.livemode = of_livemode)
    SELECT m.key FROM m
     WHERE m.key IS NOT NULL AND NOT EXISTS (SELECT FROM requests r WHERE r.account_id = of_account AND r.livemode = of_livemode AND r.key = m.key)
$$;

-- A customer may be made for a clock, and goes when it goes.
ALTER TABLE customers ADD COLUMN test_clock text COLLATE "C",
    ADD CONSTRAINT a_customer_has_its_clock FOREIGN KEY (account_id, test_clock) REFERENCES test_clocks;
CREATE INDEX customers_of_a_clock ON customers (test_clock, account_id, id) WHERE test_clock IS NOT NULL;

-- What an automatic payout consists of: every movement of the balance is swept
-- into at most one, and the payout's own into itself, so that each sums to zero.
CREATE TABLE ledger_swept (
    book_id    bigint NOT NULL,
    posting_id text COLLATE "C" NOT NULL,
    payout     text COLLATE "C" NOT NULL,
    CONSTRAINT a_posting_is_swept_once PRIMARY KEY (book_id, posting_id),
    CONSTRAINT what_is_swept_is_posted FOREIGN KEY (book_id, posting_id) REFERENCES ledger_postings (book_id, id)
);
CREATE INDEX swept_into_a_payout ON ledger_swept (payout, book_id);
COMMENT ON TABLE ledger_swept IS 'The postings that an automatic payout has paid out.';
CREATE TRIGGER ledger_swept_is_final BEFORE UPDATE OR DELETE ON ledger_swept FOR EACH ROW
    EXECUTE FUNCTION refuse('the ledger is append-only: post a reversal');
CREATE TRIGGER ledger_swept_is_not_emptied BEFORE TRUNCATE ON ledger_swept FOR EACH STATEMENT
    EXECUTE FUNCTION refuse('the ledger is append-only');
ALTER TABLE ledger_swept ENABLE ALWAYS TRIGGER ledger_swept_is_final;
ALTER TABLE ledger_swept ENABLE ALWAYS TRIGGER ledger_swept_is_not_emptied;

-- As ledger_pay_out, for a caller that wants to go on when there is too little:
-- the lock is held either way, so its "no" is as true as its "yes".
CREATE FUNCTION ledger_try_pay_out(of_book bigint, posting text, payout text, amount bigint, request text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$
BEGIN
    PERFORM FROM ledger_books WHERE id = of_book FOR NO KEY UPDATE;
    IF ledger_available(of_book) < amount THEN
        RETURN false;
    END IF;
    PERFORM ledger_pay_out(of_book, posting, payout, amount, request);
    RETURN true;
END $$;

-- Takes out all that is available and has not been swept yet, and returns how
-- much that is. Nothing is taken, and null returned, where it is not positive.
CREATE FUNCTION ledger_sweep(of_book bigint, posting text, into_payout text, request text) RETURNS bigint
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

ALTER TABLE accounts ADD COLUMN payout_schedule text NOT NULL DEFAULT 'manual',
    ADD CONSTRAINT a_payout_schedule_is_known CHECK (payout_schedule IN ('manual', 'daily'));
COMMENT ON COLUMN accounts.payout_schedule IS 'daily: all that is available is paid out once a day. manual: when the merchant asks.';

CREATE TABLE payouts (
    account_id                  text COLLATE "C" NOT NULL,
    id                          text COLLATE "C" NOT NULL,
    livemode                    boolean     NOT NULL,
    request_id                  text COLLATE "C" NOT NULL,
    amount                      bigint      NOT NULL,
    currency                    text        NOT NULL,
    status                      text        NOT NULL,
    automatic_on                date,
    method                      text        NOT NULL,
    destination                 text COLLATE "C" NOT NULL,
    description                 text,
    statement_descriptor        text,
    metadata                    json        NOT NULL DEFAULT '{}',
    bank_reference              text COLLATE "C",
    balance_transaction         text COLLATE "C" NOT NULL,
    failure_balance_transaction text COLLATE "C",
    failure_code                text,
    failure_message             text,
    original_payout             text COLLATE "C",
    reversed_by                 text COLLATE "C",
    busy_with                   text COLLATE "C",
    departs_at                  timestamptz NOT NULL,
    arrives_at                  timestamptz NOT NULL,
    created_at                  timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT a_request_makes_one_payout UNIQUE (request_id, account_id),
    CONSTRAINT a_day_has_one_automatic_payout UNIQUE (automatic_on, account_id, livemode, currency),
    CONSTRAINT a_bank_order_belongs_to_one_payout UNIQUE (bank_reference, account_id),
    CONSTRAINT a_reversal_has_its_payout FOREIGN KEY (account_id, original_payout) REFERENCES payouts,
    CONSTRAINT a_payout_pays_and_a_reversal_fetches CHECK (amount <> 0 AND (original_payout IS NULL) = (amount > 0)),
    CONSTRAINT a_payout_status_is_known CHECK (status IN ('new', 'pending', 'in_transit', 'paid', 'failed', 'canceled')),
    CONSTRAINT a_payout_method_is_known CHECK (method IN ('standard', 'instant')),
    CONSTRAINT a_failed_payout_says_why CHECK ((status = 'failed') = (failure_code IS NOT NULL)),
    CONSTRAINT what_is_not_paid_comes_back CHECK ((status IN ('failed', 'canceled')) = (failure_balance_transaction IS NOT NULL)),
    CONSTRAINT what_is_under_way_is_known_to_the_bank CHECK (status IN ('new', 'failed') OR bank_reference IS NOT NULL),
    CONSTRAINT only_a_paid_payout_is_reversed CHECK (reversed_by IS NULL OR status = 'paid'),
    CONSTRAINT a_payout_departs_before_it_arrives CHECK (departs_at <= arrives_at)
);
CREATE UNIQUE INDEX a_payout_is_reversed_once ON payouts (original_payout, account_id) WHERE status <> 'failed';
CREATE INDEX payouts_under_way ON payouts (status, account_id, id) WHERE status IN ('pending', 'in_transit');
COMMENT ON TABLE payouts IS 'Money on its way to a merchant''s bank account, or, with a negative amount, fetched back from there.';
COMMENT ON COLUMN payouts.status IS 'new: the bank has not answered yet. Stripe''s other states go by the clock: pending until departs_at, in_transit until arrives_at.';
COMMENT ON COLUMN payouts.automatic_on IS 'The day of an automatic payout, by the account''s clock; null of one that was asked for.';
COMMENT ON COLUMN payouts.busy_with IS 'The request that is canceling or reversing this payout right now.';

CREATE TABLE settlement_differences (
    account_id text COLLATE "C" NOT NULL,
    day        date NOT NULL,
    reference  text COLLATE "C" NOT NULL,
    wrong      text NOT NULL,
    found_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT a_difference_is_listed_once PRIMARY KEY (account_id, day, reference, wrong)
);
COMMENT ON TABLE settlement_differences IS 'Where the acquirer''s settlement file of a day and our books did not agree. The account is empty where nobody here knows the reference.';

GRANT SELECT ON settlement_differences TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT ON settlement_differences TO ratchet_worker;
GRANT SELECT ON test_clocks, payouts, ledger_swept TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT, UPDATE ON test_clocks, payouts TO ratchet_api, ratchet_worker;
REVOKE EXECUTE ON FUNCTION ledger_try_pay_out(bigint, text, text, bigint, text), ledger_sweep(bigint, text, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger_try_pay_out(bigint, text, text, bigint, text) TO ratchet_api, ratchet_worker;
GRANT EXECUTE ON FUNCTION ledger_sweep(bigint, text, text, text) TO ratchet_worker;
