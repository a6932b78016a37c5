-- 000003: the ledger. Money moves between accounts and is never made. It knows
-- nothing of Stripe: a source is a name, a kind is a name.

-- A book is one merchant, one mode, one currency. Everything below carries its
-- book and nothing crosses it, so a posting cannot mix merchants, modes or
-- currencies, and no row is shared between two merchants.
CREATE TABLE ledger_books (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id text COLLATE "C" NOT NULL REFERENCES accounts,
    livemode   boolean     NOT NULL,
    currency   text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT a_merchant_has_one_book_per_mode_and_currency UNIQUE (account_id, livemode, currency),
    CONSTRAINT a_currency_is_three_small_letters CHECK (currency ~ '^[a-z]{3}$')
);
COMMENT ON TABLE ledger_books IS 'One merchant''s accounts in one mode and currency.';

-- The chart of accounts is a type, not a table: there is no account row to
-- lock, so there is no hot account. What the platform owns or earns is kept in
-- each merchant's book and summed over books.
CREATE TYPE ledger_account AS ENUM (
    'merchant_balance', 'payouts_in_transit',                 -- credit-normal: owed to the merchant
    'fee_revenue', 'dispute_fee_revenue', 'rounding',         -- credit-normal: ours
    'processor_receivable', 'bank_cash', 'suspense'           -- debit-normal: owed to us, or held by us
);
CREATE TYPE ledger_purpose AS ENUM ('gross', 'stripe_fee', 'rounding');

-- A leg is one debit and one credit of the same amount, so the books balance by
-- construction instead of by checking. It needs two accounts.
CREATE FUNCTION each_leg_has_two_sides(debits ledger_account[], credits ledger_account[]) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    FOR leg IN 1..cardinality(debits) LOOP
        IF debits[leg] = credits[leg] THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END $$;

-- A posting is one row with all of its legs: leg n is element n of each array. It
-- cannot commit without them, none can be added, and there is no gap.
CREATE TABLE ledger_postings (
    book_id      bigint           NOT NULL,
    id           text COLLATE "C" NOT NULL,
    source       text COLLATE "C" NOT NULL,
    kind         text COLLATE "C" NOT NULL,
    purposes     ledger_purpose[] NOT NULL,
    debits       ledger_account[] NOT NULL,
    credits      ledger_account[] NOT NULL,
    amounts      bigint[]         NOT NULL,
    available_on timestamptz      NOT NULL,
    created_at   timestamptz      NOT NULL,
    reverses     text COLLATE "C",
    request_id   text COLLATE "C" NOT NULL,
    description  text,
    PRIMARY KEY (book_id, id),
    CONSTRAINT a_source_is_posted_once UNIQUE (source, kind, book_id),
    CONSTRAINT a_reversal_names_what_it_reverses CHECK ((kind = 'reversal') = (reverses IS NOT NULL)),
    CONSTRAINT a_kind_is_known CHECK (kind IN ('charge', 'refund', 'refund_failure', 'dispute', 'dispute_reversal',
        'payout', 'payout_paid', 'payout_failure', 'payout_cancel', 'settlement', 'adjustment', 'reversal')),
    CONSTRAINT a_posting_has_legs CHECK (cardinality(amounts) BETWEEN 1 AND 16),
    CONSTRAINT legs_are_whole CHECK (array_dims(amounts) = '[1:' || cardinality(amounts) || ']' AND array_dims(purposes) = array_dims(amounts)
        AND array_dims(debits) = array_dims(amounts) AND array_dims(credits) = array_dims(amounts)),
    CONSTRAINT no_part_of_a_leg_is_missing CHECK (array_position(purposes, NULL) IS NULL AND array_position(debits, NULL) IS NULL
        AND array_position(credits, NULL) IS NULL AND array_position(amounts, NULL) IS NULL),
    CONSTRAINT a_leg_moves_something CHECK (0 < ALL (amounts)),
    CONSTRAINT nobody_pays_himself CHECK (each_leg_has_two_sides(debits, credits)),
    CONSTRAINT money_is_not_available_before_it_is_posted CHECK (available_on >= created_at)
);
CREATE UNIQUE INDEX a_posting_is_reversed_once ON ledger_postings (reverses, book_id) WHERE reverses IS NOT NULL;
COMMENT ON TABLE ledger_postings IS 'A balanced set of entries: what Stripe shows as a balance transaction. Unique by (source, kind): the same thing cannot be booked twice.';
COMMENT ON COLUMN ledger_postings.amounts IS 'What each leg moves, in minor units and always positive: debited to one account and credited to the other.';
COMMENT ON COLUMN ledger_postings.available_on IS 'When the net stops being pending. No job moves it: pending and available are two halves of one sum.';

-- A posting has its book, and a reversal its posting. These are look-ups and not
-- foreign keys: a foreign key would lock the merchant's one book row for every
-- posting. Neither a book nor a posting can ever be deleted or change its key (see
-- the triggers below), so what was found stays. Verify looks for orphans.
CREATE FUNCTION book_is_there() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM public.ledger_books b WHERE b.id = NEW.book_id) THEN
        RAISE EXCEPTION 'there is no book %', NEW.book_id USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION reversed_posting_is_there() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM public.ledger_postings p WHERE p.book_id = NEW.book_id AND p.id = NEW.reverses) THEN
        RAISE EXCEPTION 'there is no posting % in book %', NEW.reverses, NEW.book_id USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER a_posting_has_its_book BEFORE INSERT ON ledger_postings FOR EACH ROW EXECUTE FUNCTION book_is_there();
CREATE TRIGGER a_reversal_is_of_the_same_book BEFORE INSERT ON ledger_postings FOR EACH ROW
    WHEN (NEW.reverses IS NOT NULL) EXECUTE FUNCTION reversed_posting_is_there();
ALTER TABLE ledger_postings ENABLE ALWAYS TRIGGER a_posting_has_its_book;
ALTER TABLE ledger_postings ENABLE ALWAYS TRIGGER a_reversal_is_of_the_same_book;

-- Legs and entries as rows, for people. What adds up many postings unnests their own
-- arrays instead of joining a view to them.
CREATE VIEW ledger_legs AS
    SELECT p.book_id, p.id AS posting_id, l.leg::smallint AS leg, cardinality(p.amounts)::smallint AS legs, l.purpose, l.debit, l.credit, l.amount
      FROM ledger_postings p
     CROSS JOIN LATERAL unnest(p.purposes, p.debits, p.credits, p.amounts) WITH ORDINALITY AS l (purpose, debit, credit, amount, leg);
COMMENT ON VIEW ledger_legs IS 'The movements of a posting: amount is debited to one account and credited to the other.';

CREATE VIEW ledger_entries AS
    SELECT p.book_id, p.id AS posting_id, l.leg::smallint AS leg, side.name AS side, side.account, side.amount, l.purpose
      FROM ledger_postings p
     CROSS JOIN LATERAL unnest(p.purposes, p.debits, p.credits, p.amounts) WITH ORDINALITY AS l (purpose, debit, credit, amount, leg)
     CROSS JOIN LATERAL (VALUES ('debit', l.debit, l.amount), ('credit', l.credit, -l.amount)) side (name, account, amount);
COMMENT ON VIEW ledger_entries IS 'What an accountant calls the journal. Debits are positive, credits negative; a posting sums to zero.';

-- Refunds cannot exceed their charge, by chain: each starts where the last one ended,
-- and all of a charge's refunds agree on what was charged. A refund that comes
-- back from the card's bank is a link of its own, which makes room again.
CREATE TABLE ledger_refund_chain (
    book_id       bigint  NOT NULL,
    charge        text COLLATE "C" NOT NULL,
    charge_amount bigint  NOT NULL,
    place         integer NOT NULL,
    refund        text COLLATE "C" NOT NULL,
    prior         bigint  NOT NULL,
    amount        bigint  NOT NULL,
    total         bigint  NOT NULL GENERATED ALWAYS AS (prior + amount) STORED,
    comes_back    boolean NOT NULL GENERATED ALWAYS AS (amount < 0) STORED,
    prior_place   integer GENERATED ALWAYS AS (nullif(place - 1, 0)) STORED,
    CONSTRAINT one_refund_stands_at_each_place PRIMARY KEY (book_id, charge, place),
    CONSTRAINT a_place_has_one_total UNIQUE (book_id, charge, charge_amount, place, total),
    CONSTRAINT a_refund_is_chained_once UNIQUE (book_id, refund, comes_back),
    CONSTRAINT a_refund_starts_where_the_last_one_ended FOREIGN KEY (book_id, charge, charge_amount, prior_place, prior)
        REFERENCES ledger_refund_chain (book_id, charge, charge_amount, place, total),
    CONSTRAINT the_first_refund_starts_at_nothing CHECK (place > 1 OR place = 1 AND prior = 0),
    CONSTRAINT refunds_do_not_exceed_the_charge CHECK (prior >= 0 AND amount <> 0 AND prior + amount BETWEEN 0 AND charge_amount)
);
CREATE TRIGGER a_refund_is_chained_in_its_book BEFORE INSERT ON ledger_refund_chain FOR EACH ROW EXECUTE FUNCTION book_is_there();
ALTER TABLE ledger_refund_chain ENABLE ALWAYS TRIGGER a_refund_is_chained_in_its_book;
COMMENT ON TABLE ledger_refund_chain IS 'The refunds of a charge laid end to end. More than was captured cannot be refunded, whoever asks and however many at once.';

-- What a merchant may take out now. Money out (net < 0) counts at once, money
-- in when its time has come: by clock_timestamp(), because now() is the start
-- of a transaction that may since have waited for a lock.
CREATE FUNCTION ledger_available(of_book bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce(sum(n.net) FILTER (WHERE n.net < 0 OR n.available_on <= clock_timestamp()), 0)::bigint
      FROM (SELECT p.available_on, (
                   SELECT sum(CASE WHEN l.credit = 'merchant_balance' THEN l.amount WHEN l.debit = 'merchant_balance' THEN -l.amount ELSE 0 END)
                     FROM unnest(p.debits, p.credits, p.amounts) AS l (debit, credit, amount)) AS net
              FROM ledger_postings p WHERE p.book_id = of_book) n
$$;

-- Takes available money out of a book, under the book's lock, and never a unit
-- more. The lock is compatible with inserts, so charges keep flowing meanwhile.
CREATE FUNCTION ledger_pay_out(of_book bigint, posting text, payout text, amount bigint, request text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$ -- the callers' roles may insert into a book, not lock it
DECLARE
    at timestamptz;
BEGIN
    PERFORM FROM ledger_books WHERE id = of_book FOR NO KEY UPDATE;
    IF ledger_available(of_book) < amount THEN
        RAISE EXCEPTION 'only % is available', ledger_available(of_book) USING ERRCODE = 'RT003';
    END IF;
    at := clock_timestamp(); -- once: a second look at the clock would be later than the first
    INSERT INTO ledger_postings (book_id, id, source, kind, purposes, debits, credits, amounts, available_on, created_at, request_id)
    VALUES (of_book, posting, payout, 'payout', '{gross}', '{merchant_balance}', '{payouts_in_transit}', ARRAY[amount], at, at, request);
END $$;

-- The Stripe object: amount is the gross movement of the merchant's balance,
-- fee what we kept, net both.
CREATE VIEW balance_transactions AS
    SELECT b.account_id, b.livemode, b.currency, p.book_id, p.id, p.source, p.kind, p.description, p.available_on, p.created_at, s.amount, s.fee, s.amount - s.fee AS net
      FROM ledger_postings p
      JOIN ledger_books b ON b.id = p.book_id
     CROSS JOIN LATERAL (
        SELECT coalesce(sum(signed.amount) FILTER (WHERE signed.purpose = 'gross'), 0)::bigint AS amount,
               coalesce(-sum(signed.amount) FILTER (WHERE signed.purpose = 'stripe_fee'), 0)::bigint AS fee,
               count(*) AS movements
          FROM (SELECT l.purpose, CASE WHEN l.credit = 'merchant_balance' THEN l.amount ELSE -l.amount END AS amount
                  FROM unnest(p.purposes, p.debits, p.credits, p.amounts) AS l (purpose, debit, credit, amount)
                 WHERE 'merchant_balance' IN (l.debit, l.credit)) signed) s
     WHERE s.movements > 0;

DO $$
DECLARE frozen text;
BEGIN
    FOREACH frozen IN ARRAY ARRAY['ledger_books', 'ledger_refund_chain'] LOOP
        EXECUTE format('CREATE TRIGGER %I BEFORE UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION refuse(''the ledger is append-only: post a reversal'')', frozen || '_is_final', frozen);
        EXECUTE format('CREATE TRIGGER %I BEFORE TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse(''the ledger is append-only'')', frozen || '_is_not_emptied', frozen);
        EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER %I', frozen, frozen || '_is_final');
        EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER %I', frozen, frozen || '_is_not_emptied');
    END LOOP;
END $$;

-- A description is the caller's text, and may name somebody. It can be erased,
-- and nothing else of a posting ever changes.
CREATE TRIGGER ledger_postings_is_final BEFORE UPDATE ON ledger_postings FOR EACH ROW
    WHEN (NEW.description IS DISTINCT FROM '[erased]'
       OR (NEW.book_id, NEW.id, NEW.source, NEW.kind, NEW.purposes, NEW.debits, NEW.credits, NEW.amounts, NEW.available_on, NEW.created_at, NEW.reverses, NEW.request_id)
          IS DISTINCT FROM (OLD.book_id, OLD.id, OLD.source, OLD.kind, OLD.purposes, OLD.debits, OLD.credits, OLD.amounts, OLD.available_on, OLD.created_at, OLD.reverses, OLD.request_id))
    EXECUTE FUNCTION refuse('the ledger is append-only: post a reversal');
CREATE TRIGGER ledger_postings_is_kept BEFORE DELETE ON ledger_postings FOR EACH ROW
    EXECUTE FUNCTION refuse('the ledger is append-only: post a reversal');
CREATE TRIGGER ledger_postings_is_not_emptied BEFORE TRUNCATE ON ledger_postings FOR EACH STATEMENT
    EXECUTE FUNCTION refuse('the ledger is append-only');
ALTER TABLE ledger_postings ENABLE ALWAYS TRIGGER ledger_postings_is_final;
ALTER TABLE ledger_postings ENABLE ALWAYS TRIGGER ledger_postings_is_kept;
ALTER TABLE ledger_postings ENABLE ALWAYS TRIGGER ledger_postings_is_not_emptied;
