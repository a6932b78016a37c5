-- 000001: the acquirer. Another company's database: nothing here refers to
-- ours, and normally it is not even on the same server. It has a schema of its
-- own so that tests and demonstrations can share one database all the same.

CREATE TABLE acquirer.operations (
    key              text        NOT NULL CONSTRAINT operations_key_is_used_once PRIMARY KEY,
    state            text        NOT NULL CONSTRAINT operations_state_is_known
                                 CHECK (state IN ('done', 'reversed', 'spent')),
    reference        text,
    authorization_id text,
    verb             text,
    asked            json,
    answer           json,
    at               timestamptz NOT NULL,
    CONSTRAINT operations_done_have_an_answer CHECK (state <> 'done' OR num_nulls(reference, verb, asked, answer) = 0)
);
COMMENT ON TABLE acquirer.operations IS
    'The memory for keys: what was asked and answered under each. A reversed or spent row without an answer is a '
    'tombstone. This memory can be made to forget; the journal can not.';

CREATE TABLE acquirer.authorizations (
    id       text        NOT NULL PRIMARY KEY,
    merchant text        NOT NULL,
    livemode boolean     NOT NULL,
    card     text        NOT NULL,
    currency text        NOT NULL,
    held     bigint      NOT NULL CONSTRAINT authorizations_held_is_positive CHECK (held > 0),
    captured bigint      NOT NULL CONSTRAINT authorizations_captured_is_at_most_held
                         CHECK (captured BETWEEN 0 AND held),
    refunded bigint      NOT NULL CONSTRAINT authorizations_refunded_is_at_most_captured
                         CHECK (refunded BETWEEN 0 AND captured),
    released boolean     NOT NULL,
    at       timestamptz NOT NULL,
    CONSTRAINT authorizations_released_are_not_captured CHECK (NOT released OR captured = 0)
);
COMMENT ON TABLE acquirer.authorizations IS
    'A hold on a card and what became of it, in minor units. Captured once, in full or in part, or released.';

CREATE TABLE acquirer.movements (
    number           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key              text        NOT NULL,
    reference        text        NOT NULL,
    authorization_id text,
    verb             text        NOT NULL,
    card             text        NOT NULL,
    kind             text        NOT NULL CONSTRAINT movements_kind_is_known
                                 CHECK (kind IN ('hold', 'release', 'sale', 'capture', 'refund', 'payout', 'recall',
                                     'none')),
    amount           bigint      NOT NULL,
    currency         text        NOT NULL,
    result           text        NOT NULL,
    at               timestamptz NOT NULL,
    CONSTRAINT movements_one_per_reference_and_verb UNIQUE (reference, verb)
);
COMMENT ON TABLE acquirer.movements IS
    'The journal: what happened to which card. Deliberately not unique by key, because it is the evidence that no '
    'key ever moved a card twice and could not be that if it refused to say so.';

CREATE INDEX movements_of_a_key ON acquirer.movements (key);
CREATE INDEX movements_of_a_card ON acquirer.movements (card);

CREATE FUNCTION acquirer.reject_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the journal of movements is append-only' USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER movements_are_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON acquirer.movements
    FOR EACH STATEMENT EXECUTE FUNCTION acquirer.reject_change();
