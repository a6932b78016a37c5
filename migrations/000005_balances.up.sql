-- 000005: balances. A balance is a sum over all postings of a book. The past is added up once, in closed periods of a
-- thousand postings, so a balance stays cheap however old the book is. The functions at the end take money out of a
-- book: as much as is available, and never a unit more.

CREATE TABLE ledger_periods (
    book_id       bigint      NOT NULL REFERENCES ledger_books,
    since         timestamptz NOT NULL,
    until         timestamptz NOT NULL,
    postings      integer     NOT NULL,
    maturing      bigint      NOT NULL,
    matures_from  timestamptz NOT NULL,
    matures_until timestamptz NOT NULL,
    follows       timestamptz GENERATED ALWAYS AS (nullif(since, '-infinity')) STORED,
    CONSTRAINT ledger_periods_one_ends_at_a_time PRIMARY KEY (book_id, until),
    CONSTRAINT ledger_periods_one_begins_at_a_time UNIQUE (since, book_id),
    -- There is no gap between periods, and none overlaps another. Only the first has no predecessor.
    CONSTRAINT ledger_periods_begin_where_the_previous_ends FOREIGN KEY (book_id, follows)
        REFERENCES ledger_periods (book_id, until),
    CONSTRAINT ledger_periods_since_is_before_until CHECK (since < until AND until < 'infinity'),
    CONSTRAINT ledger_periods_maturing_is_not_negative CHECK (maturing >= 0 AND matures_from <= matures_until)
);
COMMENT ON TABLE ledger_periods IS
    'The postings of a book made from since to before until, added up. Periods lie end to end; '
    'postings after the last one are not added up yet. '
    'Periods can be computed again from the postings, and verify does.';
COMMENT ON COLUMN ledger_periods.maturing IS
    'The part of the period''s net that became or becomes available later than it was posted, '
    'none of it before matures_from and all of it at matures_until.';

CREATE TABLE ledger_period_sums (
    book_id bigint         NOT NULL,
    account ledger_account NOT NULL,
    until   timestamptz    NOT NULL,
    debit   bigint NOT NULL,
    credit  bigint NOT NULL,
    debits  bigint NOT NULL,
    credits bigint NOT NULL,
    CONSTRAINT ledger_period_sums_one_per_account PRIMARY KEY (book_id, account, until),
    CONSTRAINT ledger_period_sums_period_exists FOREIGN KEY (book_id, until) REFERENCES ledger_periods ON DELETE CASCADE
);
COMMENT ON TABLE ledger_period_sums IS
    'What a period moved through an account: the two sides of its T, and how many entries each has.';

-- To correct a wrong sum, the owner deletes all periods of its book, and they are computed again. No role writes
-- another number into one.
CREATE TRIGGER ledger_periods_are_not_altered BEFORE UPDATE ON ledger_periods FOR EACH ROW
    EXECUTE FUNCTION reject_change('a period is made again, from the postings');
CREATE TRIGGER ledger_period_sums_are_not_altered BEFORE UPDATE ON ledger_period_sums FOR EACH ROW
    EXECUTE FUNCTION reject_change('a period is made again, from the postings');
ALTER TABLE ledger_periods ENABLE ALWAYS TRIGGER ledger_periods_are_not_altered;
ALTER TABLE ledger_period_sums ENABLE ALWAYS TRIGGER ledger_period_sums_are_not_altered;

-- What has been posted in every account of a book.
CREATE VIEW ledger_totals AS
    SELECT b.id AS book_id, b.account_id, b.livemode, b.currency, s.account,
           sum(s.debit)::bigint AS debit, sum(s.credit)::bigint AS credit,
           sum(s.debits)::bigint AS debits, sum(s.credits)::bigint AS credits
      FROM ledger_books b
     CROSS JOIN LATERAL (
        SELECT p.account, p.debit, p.credit, p.debits, p.credits FROM ledger_period_sums p WHERE p.book_id = b.id
        UNION ALL
        SELECT e.account, e.debit, e.credit, e.debits, e.credits
          FROM (SELECT coalesce(max(c.until), '-infinity') AS until FROM ledger_periods c WHERE c.book_id = b.id) closed
         CROSS JOIN LATERAL (
            SELECT side.account, sum(side.debit) AS debit, sum(side.credit) AS credit, sum(side.debits) AS debits,
                   sum(side.credits) AS credits
              FROM ledger_postings p
             CROSS JOIN LATERAL unnest(p.debits, p.credits, p.amounts) AS l (debit, credit, amount)
             CROSS JOIN LATERAL (VALUES (l.debit, l.amount, 0, 1, 0), (l.credit, 0, l.amount, 0, 1))
                   side (account, debit, credit, debits, credits)
             WHERE p.book_id = b.id AND p.source <> '' AND p.created_at >= closed.until
             GROUP BY side.account) e) s
     GROUP BY b.id, b.account_id, b.livemode, b.currency, s.account;
COMMENT ON VIEW ledger_totals IS 'The trial balance: closed periods, and what was posted after them.';

-- What each posting moved into or out of the merchant's balance, including the fee.
CREATE VIEW ledger_movements AS
    SELECT p.book_id, p.id, p.kind, p.source, p.created_at, p.available_on, n.net
      FROM ledger_postings p
     CROSS JOIN LATERAL (
        SELECT sum(CASE l.credit WHEN 'merchant_balance' THEN l.amount ELSE -l.amount END)::bigint AS net
          FROM unnest(p.debits, p.credits, p.amounts) AS l (debit, credit, amount)
         WHERE 'merchant_balance' IN (l.debit, l.credit)) n
     WHERE p.source <> '' AND n.net IS NOT NULL;

-- A merchant's money in a book at a time of their account, which is not before any of it was posted. Money out
-- (net < 0) counts immediately, money in when its time has come. The function reads single postings only after the
-- last period, and in periods whose money is becoming available just then.
CREATE FUNCTION ledger_balance(of_book bigint, at timestamptz, OUT available bigint, OUT pending bigint)
LANGUAGE sql STABLE AS $$
    WITH closed AS MATERIALIZED (
        SELECT coalesce(max(p.until), '-infinity') AS until,
               coalesce(sum(p.maturing) FILTER (WHERE p.matures_from > at), 0) AS pending
          FROM ledger_periods p WHERE p.book_id = of_book
    ), counted AS MATERIALIZED (
        SELECT coalesce(sum(s.credit - s.debit), 0) AS net
          FROM ledger_period_sums s WHERE s.book_id = of_book AND s.account = 'merchant_balance'
    ), span AS (
        SELECT p.since, p.until, false AS is_open
          FROM ledger_periods p WHERE p.book_id = of_book AND p.matures_from <= at AND p.matures_until > at
        UNION ALL
        SELECT closed.until, 'infinity', true FROM closed
    ), single AS ( -- LATERAL, because a span is short even if the planner expects a long one
        SELECT sum(m.net) FILTER (WHERE span.is_open) AS net, sum(m.pending) AS pending
          FROM span
         CROSS JOIN LATERAL (
            SELECT coalesce(sum(m.net), 0) AS net,
                   coalesce(sum(m.net) FILTER (WHERE m.net > 0 AND m.available_on > at), 0) AS pending
              FROM ledger_movements m
             WHERE m.book_id = of_book AND m.created_at >= span.since AND m.created_at < span.until) m
    )
    SELECT (counted.net + single.net - closed.pending - single.pending)::bigint,
           (closed.pending + single.pending)::bigint
      FROM closed, counted, single
$$;

-- What a merchant may take out now.
CREATE FUNCTION ledger_available(of_book bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT m.available FROM ledger_books b
                      CROSS JOIN LATERAL ledger_balance(b.id, account_time(b.account_id, b.livemode)) m
                      WHERE b.id = of_book), 0)
$$;

-- The idempotency key of the request that reports what has become available, or null if that has been reported. A key
-- is never free again, so it is reported once.
CREATE FUNCTION balance_available_key(of_account text, of_livemode boolean) RETURNS text LANGUAGE sql STABLE AS $$
    WITH t AS MATERIALIZED (SELECT account_time(of_account, of_livemode) AS now),
         m AS (SELECT 'available on ' || to_char(max(l.at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS key
                 FROM t CROSS JOIN ledger_books b
                CROSS JOIN LATERAL (SELECT max(p.available_on) AS at FROM ledger_postings p
                                     WHERE p.book_id = b.id AND p.kind = 'charge' AND p.available_on <= t.now) l
                WHERE b.account_id = of_account AND b.livemode = of_livemode)
    SELECT m.key FROM m
     WHERE m.key IS NOT NULL
       AND NOT EXISTS (SELECT FROM requests r
                        WHERE r.account_id = of_account AND r.livemode = of_livemode AND r.key = m.key)
$$;

-- The next four functions lock the book. The lock is compatible with inserts, so charges continue meanwhile. The
-- callers' roles may insert into a book but not lock it, so the functions run as their owner. pg_temp comes last in
-- their search_path. If it were not named, PostgreSQL would look there first, and a caller could put a temporary table
-- with a trigger in the place of one of these: the trigger would run as the owner.

-- Closes the next period of a book, if enough postings made before a time exist to fill it. The caller knows that no
-- posting made before that time can still commit. Two closings of a book wait for each other. The function runs as its
-- owner for one more reason: no role can write a wrong sum.
CREATE FUNCTION ledger_close_period(of_book bigint, before timestamptz, size integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    begins timestamptz;
    ends   timestamptz;
BEGIN
    PERFORM FROM ledger_books WHERE id = of_book FOR NO KEY UPDATE;
    SELECT coalesce(max(until), '-infinity') INTO begins FROM ledger_periods WHERE book_id = of_book;
    SELECT p.created_at + interval '1 microsecond' INTO ends FROM ledger_postings p
     WHERE p.book_id = of_book AND p.source <> '' AND p.created_at >= begins AND p.created_at < before
     ORDER BY p.created_at OFFSET size - 1 LIMIT 1;
    IF ends IS NULL OR ends > before THEN
        RETURN false;
    END IF;
    INSERT INTO ledger_periods (book_id, since, until, postings, maturing, matures_from, matures_until)
    SELECT of_book, begins, ends, count(*), coalesce(sum(m.net), 0),
           coalesce(min(m.available_on), '-infinity'), coalesce(max(m.available_on), '-infinity')
      FROM ledger_postings p
      LEFT JOIN ledger_movements m ON m.book_id = p.book_id AND m.id = p.id
                                  AND m.net > 0 AND m.available_on > m.created_at
     WHERE p.book_id = of_book AND p.source <> '' AND p.created_at >= begins AND p.created_at < ends;
    INSERT INTO ledger_period_sums (book_id, account, until, debit, credit, debits, credits)
    SELECT of_book, e.account, ends, sum(e.debit), sum(e.credit), sum(e.debits), sum(e.credits)
      FROM ledger_postings p
     CROSS JOIN LATERAL unnest(p.debits, p.credits, p.amounts) AS l (debit, credit, amount)
     CROSS JOIN LATERAL (VALUES (l.debit, l.amount, 0, 1, 0), (l.credit, 0, l.amount, 0, 1))
           e (account, debit, credit, debits, credits)
     WHERE p.book_id = of_book AND p.source <> '' AND p.created_at >= begins AND p.created_at < ends
     GROUP BY e.account;
    RETURN true;
END $$;

-- Takes available money out of a book, or fails if there is too little.
CREATE FUNCTION ledger_pay_out(of_book bigint, posting text, payout text, amount bigint, request text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    at timestamptz;
BEGIN
    PERFORM FROM ledger_books WHERE id = of_book FOR NO KEY UPDATE;
    IF ledger_available(of_book) < amount THEN
        RAISE EXCEPTION 'only % is available', ledger_available(of_book) USING ERRCODE = 'RT003';
    END IF;
    at := clock_timestamp(); -- read once: available_on must not be before created_at
    INSERT INTO ledger_postings (book_id, id, source, kind, purposes, debits, credits, amounts, available_on,
                                 created_at, request_id)
    VALUES (of_book, posting, payout, 'payout', '{gross}', '{merchant_balance}', '{payouts_in_transit}', ARRAY[amount],
            at, at, request);
END $$;

-- The same for a caller that wants to continue when there is too little. The lock is held in either case, so the
-- answer false is as final as true.
CREATE FUNCTION ledger_try_pay_out(of_book bigint, posting text, payout text, amount bigint, request text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM FROM ledger_books WHERE id = of_book FOR NO KEY UPDATE;
    IF ledger_available(of_book) < amount THEN
        RETURN false;
    END IF;
    PERFORM ledger_pay_out(of_book, posting, payout, amount, request);
    RETURN true;
END $$;

-- What an automatic payout consists of: every movement of the balance is swept into at most one payout, and the
-- payout's posting into the payout itself, so each sums to zero.
CREATE TABLE ledger_swept (
    book_id    bigint NOT NULL,
    posting_id text COLLATE "C" NOT NULL,
    payout     text COLLATE "C" NOT NULL,
    CONSTRAINT ledger_swept_one_per_posting PRIMARY KEY (book_id, posting_id),
    CONSTRAINT ledger_swept_posting_exists FOREIGN KEY (book_id, posting_id) REFERENCES ledger_postings (book_id, id)
);
CREATE INDEX swept_into_a_payout ON ledger_swept (payout, book_id);
COMMENT ON TABLE ledger_swept IS 'The postings that an automatic payout has paid out.';

CREATE TRIGGER ledger_swept_is_final BEFORE UPDATE OR DELETE ON ledger_swept FOR EACH ROW
    EXECUTE FUNCTION reject_change('the ledger is append-only: post a reversal');
CREATE TRIGGER ledger_swept_is_not_emptied BEFORE TRUNCATE ON ledger_swept FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('the ledger is append-only');
ALTER TABLE ledger_swept
    ENABLE ALWAYS TRIGGER ledger_swept_is_final,
    ENABLE ALWAYS TRIGGER ledger_swept_is_not_emptied;

-- Takes out everything that is available and has not been swept yet, and returns how much that is. If it is not
-- positive, the function takes nothing and returns null.
--
-- It begins where the last sweep may have left something: money that became available after it, or was posted while it
-- ran, which an hour covers. A subquery in brackets looks up one row. A join might instead read all sweeps of the book,
-- and their number grows without limit, unlike that of the postings of a day.
CREATE FUNCTION ledger_sweep(of_book bigint, posting text, into_payout text, request text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    time   timestamptz;
    swept  timestamptz;
    begins timestamptz;
    total  bigint;
    taken  text[];
BEGIN
    PERFORM FROM ledger_books WHERE id = of_book FOR NO KEY UPDATE;
    SELECT account_time(b.account_id, b.livemode) INTO time FROM ledger_books b WHERE b.id = of_book;
    SELECT coalesce(max(p.created_at), '-infinity') INTO swept FROM ledger_postings p
     WHERE p.book_id = of_book AND p.kind = 'payout'
       AND (SELECT s.payout FROM ledger_swept s WHERE s.book_id = p.book_id AND s.posting_id = p.id) = p.source;
    SELECT coalesce(min(p.since) FILTER (WHERE greatest(p.until, p.matures_until) > swept - interval '1 hour'),
                    max(p.until), '-infinity')
      INTO begins FROM ledger_periods p WHERE p.book_id = of_book;
    SELECT sum(m.net), array_agg(m.id) INTO total, taken
      FROM ledger_movements m
     WHERE m.book_id = of_book AND m.created_at >= begins
       -- A charge takes nothing out, so its net is not needed to know that it has to be available.
       AND (m.available_on <= time OR m.kind <> 'charge')
       AND (m.available_on <= time OR m.net < 0)
       AND (SELECT s.payout FROM ledger_swept s WHERE s.book_id = m.book_id AND s.posting_id = m.id) IS NULL;
    IF total IS NULL OR total <= 0 THEN
        RETURN NULL;
    END IF;
    PERFORM ledger_pay_out(of_book, posting, into_payout, total, request);
    INSERT INTO ledger_swept (book_id, posting_id, payout) SELECT of_book, unnest(taken || posting), into_payout;
    RETURN total;
END $$;
