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

CREATE TABLE ledger_postings (
    book_id      bigint      NOT NULL REFERENCES ledger_books,
    id           text COLLATE "C" NOT NULL,
    source       text COLLATE "C" NOT NULL,
    kind         text COLLATE "C" NOT NULL,
    legs         smallint    NOT NULL,
    last_leg     smallint    NOT NULL GENERATED ALWAYS AS (legs) STORED,
    available_on timestamptz NOT NULL,
    created_at   timestamptz NOT NULL,
    reverses     text COLLATE "C",
    request_id   text COLLATE "C" NOT NULL,
    description  text,
    PRIMARY KEY (book_id, id),
    CONSTRAINT a_posting_knows_its_legs UNIQUE (book_id, id, legs),
    CONSTRAINT a_source_is_posted_once UNIQUE (source, kind, book_id),
    CONSTRAINT a_reversal_is_of_the_same_book FOREIGN KEY (book_id, reverses) REFERENCES ledger_postings (book_id, id),
    CONSTRAINT a_reversal_names_what_it_reverses CHECK ((kind = 'reversal') = (reverses IS NOT NULL)),
    CONSTRAINT a_kind_is_known CHECK (kind IN ('charge', 'refund', 'refund_failure', 'dispute', 'dispute_reversal',
        'payout', 'payout_paid', 'payout_failure', 'payout_cancel', 'settlement', 'adjustment', 'reversal')),
    CONSTRAINT a_posting_has_legs CHECK (legs BETWEEN 1 AND 16),
    CONSTRAINT money_is_not_available_before_it_is_posted CHECK (available_on >= created_at)
);
CREATE UNIQUE INDEX a_posting_is_reversed_once ON ledger_postings (reverses, book_id) WHERE reverses IS NOT NULL;
COMMENT ON TABLE ledger_postings IS 'A balanced set of entries: what Stripe shows as a balance transaction. Unique by (source, kind): the same thing cannot be booked twice.';
COMMENT ON COLUMN ledger_postings.available_on IS 'When the net stops being pending. No job moves it: pending and available are two halves of one sum.';

-- One row is one debit and one credit of the same amount, so the books balance
-- by construction instead of by checking.
CREATE TABLE ledger_legs (
    book_id    bigint   NOT NULL,
    posting_id text COLLATE "C" NOT NULL,
    leg        smallint NOT NULL,
    legs       smallint NOT NULL,
    prev_leg   smallint GENERATED ALWAYS AS (nullif(leg - 1, 0)) STORED,
    purpose    ledger_purpose NOT NULL,
    debit      ledger_account NOT NULL,
    credit     ledger_account NOT NULL,
    amount     bigint   NOT NULL,
    PRIMARY KEY (book_id, posting_id, leg),
    CONSTRAINT a_leg_moves_something CHECK (amount > 0),
    CONSTRAINT nobody_pays_himself CHECK (debit <> credit),
    CONSTRAINT a_posting_has_no_free_leg CHECK (leg BETWEEN 1 AND legs),
    CONSTRAINT a_leg_agrees_with_its_posting FOREIGN KEY (book_id, posting_id, legs) REFERENCES ledger_postings (book_id, id, legs),
    CONSTRAINT legs_have_no_gap FOREIGN KEY (book_id, posting_id, prev_leg) REFERENCES ledger_legs (book_id, posting_id, leg)
);
COMMENT ON TABLE ledger_legs IS 'The movements of a posting: amount, in minor units and always positive, is debited to one account and credited to the other.';

-- A posting cannot commit without all of its legs.
ALTER TABLE ledger_postings ADD CONSTRAINT all_legs_are_present
    FOREIGN KEY (book_id, id, last_leg) REFERENCES ledger_legs (book_id, posting_id, leg) DEFERRABLE INITIALLY DEFERRED;

CREATE VIEW ledger_entries AS
    SELECT l.book_id, l.posting_id, l.leg, side.name AS side, side.account, side.amount, l.purpose
      FROM ledger_legs l
     CROSS JOIN LATERAL (VALUES ('debit', l.debit, l.amount), ('credit', l.credit, -l.amount)) side (name, account, amount);
COMMENT ON VIEW ledger_entries IS 'What an accountant calls the journal. Debits are positive, credits negative; a posting sums to zero.';

-- Refunds cannot exceed their charge, by chain: each starts where the last one ended,
-- and all of a charge's refunds agree on what was charged. A refund that comes
-- back from the card's bank is a link of its own, which makes room again.
CREATE TABLE ledger_refund_chain (
    book_id       bigint  NOT NULL REFERENCES ledger_books,
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
COMMENT ON TABLE ledger_refund_chain IS 'The refunds of a charge laid end to end. More than was captured cannot be refunded, whoever asks and however many at once.';

-- What a merchant may take out now. Money out (net < 0) counts at once, money
-- in when its time has come: by clock_timestamp(), because now() is the start
-- of a transaction that may since have waited for a lock.
CREATE FUNCTION ledger_available(of_book bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce(sum(n.net) FILTER (WHERE n.net < 0 OR n.available_on <= clock_timestamp()), 0)::bigint
      FROM (SELECT p.available_on,
                   sum(CASE WHEN l.credit = 'merchant_balance' THEN l.amount WHEN l.debit = 'merchant_balance' THEN -l.amount ELSE 0 END) AS net
              FROM ledger_legs l JOIN ledger_postings p ON p.book_id = l.book_id AND p.id = l.posting_id
             WHERE l.book_id = of_book GROUP BY p.id, p.available_on) n
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
    INSERT INTO ledger_postings (book_id, id, source, kind, legs, available_on, created_at, request_id)
    VALUES (of_book, posting, payout, 'payout', 1, at, at, request);
    INSERT INTO ledger_legs (book_id, posting_id, leg, legs, purpose, debit, credit, amount)
    VALUES (of_book, posting, 1, 1, 'gross', 'merchant_balance', 'payouts_in_transit', amount);
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
                  FROM ledger_legs l
                 WHERE l.book_id = p.book_id AND l.posting_id = p.id
                   AND 'merchant_balance' IN (l.debit, l.credit)) signed) s
     WHERE s.movements > 0;

DO $$
DECLARE frozen text;
BEGIN
    FOREACH frozen IN ARRAY ARRAY['ledger_books', 'ledger_legs', 'ledger_refund_chain'] LOOP
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
       OR (NEW.book_id, NEW.id, NEW.source, NEW.kind, NEW.legs, NEW.available_on, NEW.created_at, NEW.reverses, NEW.request_id)
          IS DISTINCT FROM (OLD.book_id, OLD.id, OLD.source, OLD.kind, OLD.legs, OLD.available_on, OLD.created_at, OLD.reverses, OLD.request_id))
    EXECUTE FUNCTION refuse('the ledger is append-only: post a reversal');
CREATE TRIGGER ledger_postings_is_kept BEFORE DELETE ON ledger_postings FOR EACH ROW
    EXECUTE FUNCTION refuse('the ledger is append-only: post a reversal');
CREATE TRIGGER ledger_postings_is_not_emptied BEFORE TRUNCATE ON ledger_postings FOR EACH STATEMENT
    EXECUTE FUNCTION refuse('the ledger is append-only');
ALTER TABLE ledger_postings ENABLE ALWAYS TRIGGER ledger_postings_is_final;
ALTER TABLE ledger_postings ENABLE ALWAYS TRIGGER ledger_postings_is_kept;
ALTER TABLE ledger_postings ENABLE ALWAYS TRIGGER ledger_postings_is_not_emptied;
