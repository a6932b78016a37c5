-- 000022: closed periods. A balance is a sum over all postings of a book; what is
-- behind us is added up once, in periods of a thousand postings.

-- A posting is dated when it is made. One that comes later than this, from a
-- machine that slept in between, would fall into a period that is closed. Not in
-- replica mode, so that a dump of data can be loaded.
CREATE TRIGGER a_posting_is_dated_when_it_is_made BEFORE INSERT ON ledger_postings FOR EACH ROW
    WHEN (NEW.created_at < clock_timestamp() - interval '1 minute')
    EXECUTE FUNCTION refuse('a posting is dated when it is made');

-- Its condition is always true. It is there because a partial index cannot be
-- chosen by a foreign-key check, which would keep to it (see the index order rule
-- in 000002), as long as it is of a column that no foreign key has. A query has to
-- repeat it.
CREATE INDEX postings_by_time ON ledger_postings (book_id, created_at) WHERE source <> '';

CREATE TABLE ledger_periods (
    book_id       bigint      NOT NULL REFERENCES ledger_books,
    since         timestamptz NOT NULL,
    until         timestamptz NOT NULL,
    postings      integer     NOT NULL,
    maturing      bigint      NOT NULL,
    matures_from  timestamptz NOT NULL,
    matures_until timestamptz NOT NULL,
    follows       timestamptz GENERATED ALWAYS AS (nullif(since, '-infinity')) STORED,
    CONSTRAINT one_period_ends_at_each_time PRIMARY KEY (book_id, until),
    CONSTRAINT one_period_begins_at_each_time UNIQUE (since, book_id),
    CONSTRAINT a_period_begins_where_the_last_one_ended FOREIGN KEY (book_id, follows) REFERENCES ledger_periods (book_id, until),
    CONSTRAINT a_period_takes_time CHECK (since < until AND until < 'infinity'),
    CONSTRAINT what_matures_is_not_negative CHECK (maturing >= 0 AND matures_from <= matures_until)
);
COMMENT ON TABLE ledger_periods IS 'The postings of a book made from since to before until, added up. Periods lie end to end; what comes after the last one is not added up yet. They can be made again from the postings, and verify does.';
COMMENT ON COLUMN ledger_periods.maturing IS 'The part of the period''s net that became or becomes available later than it was posted, none of it before matures_from and all of it at matures_until.';

CREATE TABLE ledger_period_sums (
    book_id bigint         NOT NULL,
    account ledger_account NOT NULL,
    until   timestamptz    NOT NULL,
    debit   bigint NOT NULL,
    credit  bigint NOT NULL,
    debits  bigint NOT NULL,
    credits bigint NOT NULL,
    CONSTRAINT an_account_is_added_up_once PRIMARY KEY (book_id, account, until),
    CONSTRAINT a_sum_is_of_a_period FOREIGN KEY (book_id, until) REFERENCES ledger_periods ON DELETE CASCADE
);
COMMENT ON TABLE ledger_period_sums IS 'What a period moved through an account: the two sides of its T, and how many entries each has.';

-- A sum that is wrong is made again, by deleting all of its book's periods; only
-- the owner can. Nobody writes another number into one.
CREATE TRIGGER ledger_periods_are_not_altered BEFORE UPDATE ON ledger_periods FOR EACH ROW
    EXECUTE FUNCTION refuse('a period is made again, from the postings');
CREATE TRIGGER ledger_period_sums_are_not_altered BEFORE UPDATE ON ledger_period_sums FOR EACH ROW
    EXECUTE FUNCTION refuse('a period is made again, from the postings');
ALTER TABLE ledger_periods ENABLE ALWAYS TRIGGER ledger_periods_are_not_altered;
ALTER TABLE ledger_period_sums ENABLE ALWAYS TRIGGER ledger_period_sums_are_not_altered;

-- What has been posted in every account of a book.
CREATE VIEW ledger_totals AS
    SELECT b.id AS book_id, b.account_id, b.livemode, b.currency, s.account, sum(s.debit)::bigint AS debit, sum(s.credit)::bigint AS credit,
           sum(s.debits)::bigint AS debits, sum(s.credits)::bigint AS credits
      FROM ledger_books b
     CROSS JOIN LATERAL (
        SELECT p.account, p.debit, p.credit, p.debits, p.credits FROM ledger_period_sums p WHERE p.book_id = b.id
        UNION ALL
        SELECT e.account, e.debit, e.credit, e.debits, e.credits
          FROM (SELECT coalesce(max(c.until), '-infinity') AS until FROM ledger_periods c WHERE c.book_id = b.id) closed
         CROSS JOIN LATERAL (
            SELECT side.account, sum(side.debit) AS debit, sum(side.credit) AS credit, sum(side.debits) AS debits, sum(side.credits) AS credits
              FROM ledger_postings p
             CROSS JOIN LATERAL unnest(p.debits, p.credits, p.amounts) AS l (debit, credit, amount)
             CROSS JOIN LATERAL (VALUES (l.debit, l.amount, 0, 1, 0), (l.credit, 0, l.amount, 0, 1)) side (account, debit, credit, debits, credits)
             WHERE p.book_id = b.id AND p.source <> '' AND p.created_at >= closed.until
             GROUP BY side.account) e) s
     GROUP BY b.id, b.account_id, b.livemode, b.currency, s.account;
COMMENT ON VIEW ledger_totals IS 'The trial balance: closed periods, and what was posted after them.';

-- What each posting moved in or out of the merchant's balance, fee and all.
CREATE VIEW ledger_movements AS
    SELECT p.book_id, p.id, p.kind, p.source, p.created_at, p.available_on, n.net
      FROM ledger_postings p
     CROSS JOIN LATERAL (
        SELECT sum(CASE l.credit WHEN 'merchant_balance' THEN l.amount ELSE -l.amount END)::bigint AS net
          FROM unnest(p.debits, p.credits, p.amounts) AS l (debit, credit, amount)
         WHERE 'merchant_balance' IN (l.debit, l.credit)) n
     WHERE p.source <> '' AND n.net IS NOT NULL;

-- A merchant's money in a book at a time of his clock, which is not before any of it
-- was posted. Money out (net < 0) counts at once, money in when its time has come. Looked at one by one are only the
-- postings after the last period, and those of periods whose money is becoming
-- available just then.
CREATE FUNCTION ledger_balance(of_book bigint, at timestamptz, OUT available bigint, OUT pending bigint) LANGUAGE sql STABLE AS $$
    WITH closed AS MATERIALIZED (
        SELECT coalesce(max(p.until), '-infinity') AS until, coalesce(sum(p.maturing) FILTER (WHERE p.matures_from > at), 0) AS pending
          FROM ledger_periods p WHERE p.book_id = of_book
    ), counted AS MATERIALIZED (
        SELECT coalesce(sum(s.credit - s.debit), 0) AS net FROM ledger_period_sums s WHERE s.book_id = of_book AND s.account = 'merchant_balance'
    ), span AS (
        SELECT p.since, p.until, false AS is_open FROM ledger_periods p WHERE p.book_id = of_book AND p.matures_from <= at AND p.matures_until > at
        UNION ALL
        SELECT closed.until, 'infinity', true FROM closed
    ), single AS ( -- LATERAL, because a span is short whatever the planner believes
        SELECT sum(m.net) FILTER (WHERE span.is_open) AS net, sum(m.pending) AS pending
          FROM span
         CROSS JOIN LATERAL (
            SELECT coalesce(sum(m.net), 0) AS net, coalesce(sum(m.net) FILTER (WHERE m.net > 0 AND m.available_on > at), 0) AS pending
              FROM ledger_movements m
             WHERE m.book_id = of_book AND m.created_at >= span.since AND m.created_at < span.until) m
    )
    SELECT (counted.net + single.net - closed.pending - single.pending)::bigint, (closed.pending + single.pending)::bigint FROM closed, counted, single
$$;

CREATE OR REPLACE FUNCTION ledger_available(of_book bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT m.available FROM ledger_books b CROSS JOIN LATERAL ledger_balance(b.id, account_time(b.account_id, b.livemode)) m WHERE b.id = of_book), 0)
$$;

-- Closes the next period of a book, if as many postings as asked for, made before a
-- time, are there to fill it. The caller knows that none made before it can still come.
-- The lock is the one payouts take: no two close at once, and charges keep flowing.
CREATE FUNCTION ledger_close_period(of_book bigint, before timestamptz, size integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$ -- so that nobody can write a sum that is none
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
    SELECT of_book, begins, ends, count(*), coalesce(sum(m.net), 0), coalesce(min(m.available_on), '-infinity'), coalesce(max(m.available_on), '-infinity')
      FROM ledger_postings p
      LEFT JOIN ledger_movements m ON m.book_id = p.book_id AND m.id = p.id AND m.net > 0 AND m.available_on > m.created_at
     WHERE p.book_id = of_book AND p.source <> '' AND p.created_at >= begins AND p.created_at < ends;
    INSERT INTO ledger_period_sums (book_id, account, until, debit, credit, debits, credits)
    SELECT of_book, e.account, ends, sum(e.debit), sum(e.credit), sum(e.debits), sum(e.credits)
      FROM ledger_postings p
     CROSS JOIN LATERAL unnest(p.debits, p.credits, p.amounts) AS l (debit, credit, amount)
     CROSS JOIN LATERAL (VALUES (l.debit, l.amount, 0, 1, 0), (l.credit, 0, l.amount, 0, 1)) e (account, debit, credit, debits, credits)
     WHERE p.book_id = of_book AND p.source <> '' AND p.created_at >= begins AND p.created_at < ends
     GROUP BY e.account;
    RETURN true;
END $$;

CREATE INDEX payouts_by_time ON ledger_postings (book_id, created_at) WHERE kind = 'payout';

-- As before, but that it begins where the sweep before may have left something:
-- money that became available after it, or was posted while it ran, which an hour
-- covers. The selects in brackets are asked row by row, which no join here has to be:
-- a book's sweeps grow for ever, a day's postings do not.
CREATE OR REPLACE FUNCTION ledger_sweep(of_book bigint, posting text, into_payout text, request text) RETURNS bigint
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
    SELECT coalesce(min(p.since) FILTER (WHERE greatest(p.until, p.matures_until) > swept - interval '1 hour'), max(p.until), '-infinity')
      INTO begins FROM ledger_periods p WHERE p.book_id = of_book;
    SELECT sum(m.net), array_agg(m.id) INTO total, taken
      FROM ledger_movements m
     WHERE m.book_id = of_book AND m.created_at >= begins
       AND (m.available_on <= time OR m.kind <> 'charge') -- a charge takes nothing out, so it need not be added up to know
       AND (m.available_on <= time OR m.net < 0)
       AND (SELECT s.payout FROM ledger_swept s WHERE s.book_id = m.book_id AND s.posting_id = m.id) IS NULL;
    IF total IS NULL OR total <= 0 THEN
        RETURN NULL;
    END IF;
    PERFORM ledger_pay_out(of_book, posting, into_payout, total, request);
    INSERT INTO ledger_swept (book_id, posting_id, payout) SELECT of_book, unnest(taken || posting), into_payout;
    RETURN total;
END $$;

GRANT SELECT ON ledger_periods, ledger_period_sums, ledger_totals, ledger_movements TO ratchet_api, ratchet_worker, ratchet_auditor;
REVOKE EXECUTE ON FUNCTION ledger_close_period(bigint, timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger_close_period(bigint, timestamptz, integer) TO ratchet_worker;
