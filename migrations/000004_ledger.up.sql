-- 000004: the ledger. Money moves between accounts and is never created. The ledger knows nothing about Stripe: a
-- source is a name, and so is a kind.

-- A book belongs to one merchant, one mode and one currency. Every table of the ledger carries its book, and no posting
-- spans two. So a posting cannot mix merchants, modes or currencies, and two merchants never share a row.
CREATE TABLE ledger_books (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id text COLLATE "C" NOT NULL REFERENCES accounts,
    livemode   boolean     NOT NULL,
    currency   text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT ledger_books_one_per_account_mode_and_currency UNIQUE (account_id, livemode, currency),
    CONSTRAINT ledger_books_currency_is_three_lower_case_letters CHECK (currency ~ '^[a-z]{3}$')
);
COMMENT ON TABLE ledger_books IS 'One merchant''s accounts in one mode and currency.';

CREATE TRIGGER ledger_books_is_final BEFORE UPDATE OR DELETE ON ledger_books FOR EACH ROW
    EXECUTE FUNCTION reject_change('the ledger is append-only: post a reversal');
CREATE TRIGGER ledger_books_is_not_emptied BEFORE TRUNCATE ON ledger_books FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('the ledger is append-only');
ALTER TABLE ledger_books
    ENABLE ALWAYS TRIGGER ledger_books_is_final,
    ENABLE ALWAYS TRIGGER ledger_books_is_not_emptied;

-- The chart of accounts is a type and not a table, so there is no account row that all transactions would have to lock.
-- What the platform owns or earns is kept in each merchant's book and added up over books.
CREATE TYPE ledger_account AS ENUM (
    'merchant_balance', 'payouts_in_transit',                 -- credit-normal: owed to the merchant
    'fee_revenue', 'dispute_fee_revenue', 'rounding',         -- credit-normal: ours
    'processor_receivable', 'bank_cash', 'suspense'           -- debit-normal: owed to us, or held by us
);
CREATE TYPE ledger_purpose AS ENUM ('gross', 'stripe_fee', 'rounding');

-- A leg is one debit and one credit of the same amount, so the books balance by construction. That needs two different
-- accounts in each leg.
CREATE FUNCTION debits_differ_from_credits(debits ledger_account[], credits ledger_account[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    FOR leg IN 1..cardinality(debits) LOOP
        IF debits[leg] = credits[leg] THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END $$;

-- A posting is one row with all of its legs: leg n is element n of each array. It cannot commit without its legs, no
-- leg can be added later, and none is missing in between.
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
    -- A retry, or a second worker, cannot book the same thing again.
    CONSTRAINT ledger_postings_source_is_posted_once UNIQUE (source, kind, book_id),
    CONSTRAINT ledger_postings_reversals_name_their_original CHECK ((kind = 'reversal') = (reverses IS NOT NULL)),
    CONSTRAINT ledger_postings_kind_is_known CHECK (kind IN (
        'charge', 'refund', 'refund_failure', 'dispute', 'dispute_reversal',
        'payout', 'payout_paid', 'payout_failure', 'payout_cancel', 'settlement', 'adjustment', 'reversal')),
    CONSTRAINT ledger_postings_have_1_to_16_legs CHECK (cardinality(amounts) BETWEEN 1 AND 16),
    -- All arrays begin at 1 and have one dimension and the same length.
    CONSTRAINT ledger_postings_legs_are_complete CHECK (array_dims(amounts) = '[1:' || cardinality(amounts) || ']'
        AND array_dims(purposes) = array_dims(amounts)
        AND array_dims(debits) = array_dims(amounts) AND array_dims(credits) = array_dims(amounts)),
    CONSTRAINT ledger_postings_legs_have_no_nulls CHECK (array_position(purposes, NULL) IS NULL
        AND array_position(debits, NULL) IS NULL
        AND array_position(credits, NULL) IS NULL AND array_position(amounts, NULL) IS NULL),
    -- A negative amount would turn a leg around.
    CONSTRAINT ledger_postings_amounts_are_positive CHECK (0 < ALL (amounts)),
    CONSTRAINT ledger_postings_debit_differs_from_credit CHECK (debits_differ_from_credits(debits, credits)),
    CONSTRAINT ledger_postings_are_not_available_before_created CHECK (available_on >= created_at)
);
CREATE UNIQUE INDEX ledger_postings_one_reversal_per_posting ON ledger_postings (reverses, book_id)
    WHERE reverses IS NOT NULL;
CREATE INDEX charges_by_availability ON ledger_postings (book_id, available_on) WHERE kind = 'charge';
CREATE INDEX payouts_by_time ON ledger_postings (book_id, created_at) WHERE kind = 'payout';
-- The condition of this index is always true. Because of it, a foreign-key check cannot choose the index and keep to it
-- (see the index rule in 000003): a partial index needs a condition on a column that no foreign key has. A query has to
-- repeat the condition.
CREATE INDEX postings_by_time ON ledger_postings (book_id, created_at) WHERE source <> '';
COMMENT ON TABLE ledger_postings IS
    'A balanced set of entries: what Stripe shows as a balance transaction. '
    'Unique by (source, kind), so the same thing cannot be booked twice.';
COMMENT ON COLUMN ledger_postings.amounts IS
    'What each leg moves, in minor units and always positive: debited to one account and credited to the other.';
COMMENT ON COLUMN ledger_postings.available_on IS
    'When the net stops being pending. No job moves it: pending and available are two parts of one sum.';

-- A posting has a book, and a reversal has a posting. These are lookups and not foreign keys: a foreign key would lock
-- the merchant's one book row for every posting. A book or a posting can never be deleted or change its key (see the
-- triggers), so a row that was found stays. verify looks for orphans.
CREATE FUNCTION book_is_there() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM public.ledger_books b WHERE b.id = NEW.book_id) THEN
        RAISE EXCEPTION 'there is no book %', NEW.book_id
            USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION reversed_posting_is_there() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM public.ledger_postings p WHERE p.book_id = NEW.book_id AND p.id = NEW.reverses) THEN
        RAISE EXCEPTION 'there is no posting % in book %', NEW.reverses, NEW.book_id
            USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER ledger_postings_have_a_book BEFORE INSERT ON ledger_postings FOR EACH ROW
    EXECUTE FUNCTION book_is_there();
CREATE TRIGGER ledger_postings_reversal_is_in_the_same_book BEFORE INSERT ON ledger_postings FOR EACH ROW
    WHEN (NEW.reverses IS NOT NULL) EXECUTE FUNCTION reversed_posting_is_there();
-- A posting is dated when it is made. A posting that arrives later, from a machine that slept in between, would fall
-- into a period that is closed. This trigger does not fire in replica mode, so that a dump of data can be loaded.
CREATE TRIGGER ledger_postings_are_dated_when_made BEFORE INSERT ON ledger_postings FOR EACH ROW
    WHEN (NEW.created_at < clock_timestamp() - interval '1 minute')
    EXECUTE FUNCTION reject_change('a posting is dated when it is made');
-- The merchant writes the description, and it may contain personal data. It can be erased. Nothing else of a posting
-- ever changes.
CREATE TRIGGER ledger_postings_is_final BEFORE UPDATE ON ledger_postings FOR EACH ROW
    WHEN (NEW.description IS DISTINCT FROM '[erased]'
       OR (NEW.book_id, NEW.id, NEW.source, NEW.kind, NEW.purposes, NEW.debits, NEW.credits, NEW.amounts,
           NEW.available_on, NEW.created_at, NEW.reverses, NEW.request_id)
          IS DISTINCT FROM
          (OLD.book_id, OLD.id, OLD.source, OLD.kind, OLD.purposes, OLD.debits, OLD.credits, OLD.amounts,
           OLD.available_on, OLD.created_at, OLD.reverses, OLD.request_id))
    EXECUTE FUNCTION reject_change('the ledger is append-only: post a reversal');
CREATE TRIGGER ledger_postings_is_kept BEFORE DELETE ON ledger_postings FOR EACH ROW
    EXECUTE FUNCTION reject_change('the ledger is append-only: post a reversal');
CREATE TRIGGER ledger_postings_is_not_emptied BEFORE TRUNCATE ON ledger_postings FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('the ledger is append-only');
ALTER TABLE ledger_postings
    ENABLE ALWAYS TRIGGER ledger_postings_have_a_book,
    ENABLE ALWAYS TRIGGER ledger_postings_reversal_is_in_the_same_book,
    ENABLE ALWAYS TRIGGER ledger_postings_is_final,
    ENABLE ALWAYS TRIGGER ledger_postings_is_kept,
    ENABLE ALWAYS TRIGGER ledger_postings_is_not_emptied;

-- Legs and entries as rows, for people. A query that adds up many postings unnests their arrays instead of joining one
-- of these views.
CREATE VIEW ledger_legs AS
    SELECT p.book_id, p.id AS posting_id, l.leg::smallint AS leg, cardinality(p.amounts)::smallint AS legs,
           l.purpose, l.debit, l.credit, l.amount
      FROM ledger_postings p
     CROSS JOIN LATERAL unnest(p.purposes, p.debits, p.credits, p.amounts) WITH ORDINALITY
        AS l (purpose, debit, credit, amount, leg);
COMMENT ON VIEW ledger_legs IS
    'The movements of a posting: amount is debited to one account and credited to the other.';

CREATE VIEW ledger_entries AS
    SELECT p.book_id, p.id AS posting_id, l.leg::smallint AS leg, side.name AS side, side.account, side.amount,
           l.purpose
      FROM ledger_postings p
     CROSS JOIN LATERAL unnest(p.purposes, p.debits, p.credits, p.amounts) WITH ORDINALITY
        AS l (purpose, debit, credit, amount, leg)
     CROSS JOIN LATERAL (VALUES ('debit', l.debit, l.amount), ('credit', l.credit, -l.amount))
           side (name, account, amount);
COMMENT ON VIEW ledger_entries IS
    'What an accountant calls the journal. Debits are positive, credits negative; a posting sums to zero.';

-- The Stripe object: amount is the gross movement of the merchant's balance, fee is what we kept, and net is the
-- difference.
CREATE VIEW balance_transactions AS
    SELECT b.account_id, b.livemode, b.currency, p.book_id, p.id, p.source, p.kind, p.description, p.available_on,
           p.created_at, s.amount, s.fee, s.amount - s.fee AS net
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

-- A chain keeps refunds from exceeding their charge: each refund starts where the last one ended, and all refunds of a
-- charge agree on the charged amount. A refund that the card's bank returns is a link of the chain, too. Its amount is
-- negative, so it makes room again.
CREATE TABLE ledger_refund_chain (
    book_id       bigint  NOT NULL,
    charge        text COLLATE "C" NOT NULL,
    charge_amount bigint  NOT NULL,
    place         integer NOT NULL,
    refund        text COLLATE "C" NOT NULL,
    prior         bigint  NOT NULL,
    amount        bigint  NOT NULL,
    total         bigint  NOT NULL GENERATED ALWAYS AS (prior + amount) STORED,
    returned      boolean NOT NULL GENERATED ALWAYS AS (amount < 0) STORED,
    prior_place   integer GENERATED ALWAYS AS (nullif(place - 1, 0)) STORED,
    CONSTRAINT ledger_refund_chain_one_refund_per_place PRIMARY KEY (book_id, charge, place),
    -- It repeats the primary key for the foreign key below, which also compares the amounts.
    CONSTRAINT ledger_refund_chain_one_total_per_place UNIQUE (book_id, charge, charge_amount, place, total),
    CONSTRAINT ledger_refund_chain_one_link_per_refund UNIQUE (book_id, refund, returned),
    CONSTRAINT ledger_refund_chain_starts_at_the_previous_total
        FOREIGN KEY (book_id, charge, charge_amount, prior_place, prior)
        REFERENCES ledger_refund_chain (book_id, charge, charge_amount, place, total),
    CONSTRAINT ledger_refund_chain_first_starts_at_zero CHECK (place > 1 OR place = 1 AND prior = 0),
    CONSTRAINT ledger_refund_chain_total_is_at_most_the_charge CHECK (
        prior >= 0 AND amount <> 0 AND prior + amount BETWEEN 0 AND charge_amount)
);
COMMENT ON TABLE ledger_refund_chain IS
    'The refunds of a charge laid end to end. No program can refund more than was captured, '
    'no matter how many try at once.';

CREATE TRIGGER ledger_refund_chain_book_exists BEFORE INSERT ON ledger_refund_chain FOR EACH ROW
    EXECUTE FUNCTION book_is_there();
CREATE TRIGGER ledger_refund_chain_is_final BEFORE UPDATE OR DELETE ON ledger_refund_chain FOR EACH ROW
    EXECUTE FUNCTION reject_change('the ledger is append-only: post a reversal');
CREATE TRIGGER ledger_refund_chain_is_not_emptied BEFORE TRUNCATE ON ledger_refund_chain FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('the ledger is append-only');
ALTER TABLE ledger_refund_chain
    ENABLE ALWAYS TRIGGER ledger_refund_chain_book_exists,
    ENABLE ALWAYS TRIGGER ledger_refund_chain_is_final,
    ENABLE ALWAYS TRIGGER ledger_refund_chain_is_not_emptied;
