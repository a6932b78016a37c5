-- The yardstick: the least SQL that charges a card exactly once and keeps books
-- whose rules the database enforces. It has a key for each request, a charge, a
-- posting of two transfers, an event and a job; no HTTP, no JSON of an API, no
-- acquirer, no customers, no audit trail. Two commits: the key, then everything else.
CREATE TABLE books (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    merchant bigint NOT NULL,
    live     boolean NOT NULL,
    currency text COLLATE "C" NOT NULL CHECK (currency ~ '^[a-z]{3}$'),
    digits   smallint NOT NULL CHECK (digits BETWEEN 0 AND 4),
    opened   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (merchant, live, currency)
);

CREATE TABLE keys (
    merchant bigint NOT NULL,
    key      text COLLATE "C" NOT NULL,
    hash     bytea NOT NULL,
    point    text COLLATE "C" NOT NULL DEFAULT 'begun',
    status   int,
    answer   jsonb,
    since    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (merchant, key)
) WITH (fillfactor = 70); -- a finished key is updated in its page

CREATE TABLE charges (
    book     bigint NOT NULL,
    id       text COLLATE "C" NOT NULL,
    customer text,
    amount   bigint NOT NULL CHECK (amount > 0),
    status   text NOT NULL,
    metadata jsonb NOT NULL DEFAULT '{}',
    since    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (book, id)
);

CREATE TYPE account AS ENUM ('merchant', 'reserve', 'in_transit', 'on_hold', 'fees', 'dispute_fees', 'receivable',
    'cash', 'costs', 'suspense');
CREATE TYPE purpose AS ENUM ('gross', 'fee', 'tax', 'hold', 'cost', 'rounding');

-- A posting is not committed without its transfers, and gets no more of them later.
CREATE TABLE postings (
    book         bigint NOT NULL REFERENCES books,
    id           text COLLATE "C" NOT NULL CHECK (id LIKE 'txn\_%'),
    source       text COLLATE "C" NOT NULL,
    kind         text COLLATE "C" NOT NULL CHECK (kind IN ('charge', 'refund', 'refund_failure', 'dispute',
                     'dispute_won', 'payout', 'payout_paid', 'payout_failure', 'payout_cancel', 'fee', 'fee_refund',
                     'transfer', 'transfer_back', 'adjustment', 'settlement', 'exchange', 'reversal')),
    transfers    smallint NOT NULL CHECK (transfers BETWEEN 1 AND 16),
    last         smallint NOT NULL GENERATED ALWAYS AS (transfers) STORED,
    valued_at    timestamptz NOT NULL,
    available_at timestamptz NOT NULL,
    posted_at    timestamptz NOT NULL DEFAULT now(),
    reverses     text COLLATE "C",
    pair         text COLLATE "C",
    rate         numeric CHECK (rate > 0),
    request      text,
    description  text,
    xid          bigint NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
    PRIMARY KEY (book, id),
    UNIQUE (book, id, transfers),
    UNIQUE (source, kind, book), -- a source is posted once
    FOREIGN KEY (book, reverses) REFERENCES postings (book, id),
    CHECK ((kind = 'reversal') = (reverses IS NOT NULL)),
    CHECK (kind NOT IN ('exchange', 'transfer', 'transfer_back', 'fee', 'fee_refund') OR pair IS NOT NULL),
    CHECK (available_at >= valued_at)
);
CREATE UNIQUE INDEX reversed_once ON postings (reverses, book) WHERE reverses IS NOT NULL;
CREATE UNIQUE INDEX one_of_a_pair_in_a_book ON postings (pair, book) WHERE pair IS NOT NULL;
CREATE INDEX postings_by_xid ON postings USING brin (xid) WITH (pages_per_range = 16);

CREATE TABLE transfers (
    book      bigint NOT NULL,
    posting   text COLLATE "C" NOT NULL,
    n         smallint NOT NULL,
    transfers smallint NOT NULL,
    previous  smallint GENERATED ALWAYS AS (nullif(n - 1, 0)) STORED,
    purpose   purpose NOT NULL,
    debit     account NOT NULL,
    credit    account NOT NULL,
    amount    bigint NOT NULL CHECK (amount > 0),
    PRIMARY KEY (book, posting, n),
    CHECK (n BETWEEN 1 AND transfers),
    CHECK (debit <> credit),
    FOREIGN KEY (book, posting, transfers) REFERENCES postings (book, id, transfers),
    FOREIGN KEY (book, posting, previous) REFERENCES transfers (book, posting, n)
);
ALTER TABLE postings ADD CONSTRAINT complete FOREIGN KEY (book, id, last)
    REFERENCES transfers (book, posting, n) DEFERRABLE INITIALLY DEFERRED;

CREATE TABLE events (
    book  bigint NOT NULL,
    id    text COLLATE "C" NOT NULL,
    type  text NOT NULL,
    data  jsonb NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (book, id)
);

CREATE TABLE jobs (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind   text NOT NULL,
    args   jsonb NOT NULL,
    state  text NOT NULL DEFAULT 'available',
    due_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX due_jobs ON jobs (due_at) WHERE state = 'available';

CREATE FUNCTION reject_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% on % is refused: post a reversal', tg_op, tg_table_name USING ERRCODE = 'insufficient_privilege';
END $$;
DO $$
DECLARE kept text;
BEGIN
    FOREACH kept IN ARRAY ARRAY['books', 'postings', 'transfers'] LOOP
        EXECUTE format('CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON %I FOR EACH ROW '
            'EXECUTE FUNCTION reject_change()',
            kept);
        EXECUTE format('CREATE TRIGGER not_emptied BEFORE TRUNCATE ON %I FOR EACH STATEMENT '
            'EXECUTE FUNCTION reject_change()',
            kept);
        EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER kept', kept);
        EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER not_emptied', kept);
    END LOOP;
END $$;

-- An id in the order of time.
CREATE FUNCTION make_id(prefix text, random bigint) RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT prefix || lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000000)::bigint), 14, '0')
        || lpad(to_hex(random & 4294967295), 8, '0')
$$;

-- The second commit.
CREATE FUNCTION finish_charge(of_book bigint, n bigint, amount bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    charge  text := make_id('ch_', n);
    posting text := make_id('txn_', n);
    event   text := make_id('evt_', n);
BEGIN
    INSERT INTO charges (book, id, amount, status) VALUES (of_book, charge, amount, 'succeeded');
    INSERT INTO postings (book, id, source, kind, transfers, valued_at, available_at)
    VALUES (of_book, posting, charge, 'charge', 2, now(), now() + interval '2 days');
    INSERT INTO transfers (book, posting, n, transfers, purpose, debit, credit, amount)
    VALUES (of_book, posting, 1, 2, 'gross', 'receivable', 'merchant', amount),
           (of_book, posting, 2, 2, 'fee', 'merchant', 'fees', amount * 29 / 1000 + 30);
    INSERT INTO events (book, id, type, data)
    VALUES (of_book, event, 'charge.succeeded', jsonb_build_object('id', charge, 'amount', amount));
    INSERT INTO jobs (kind, args) VALUES ('deliver', jsonb_build_object('event', event));
    UPDATE keys SET point = 'finished', status = 200, answer = jsonb_build_object('id', charge, 'amount', amount)
     WHERE merchant = of_book AND key = 'k-' || n;
    RETURN charge;
END $$;

INSERT INTO books (merchant, live, currency, digits) 
SELECT merchant, true, 'usd', 2 FROM generate_series(1, 1000) merchant;
ANALYZE;
