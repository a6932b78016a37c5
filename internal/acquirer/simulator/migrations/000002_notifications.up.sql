-- 000002: what the acquirer reports: disputes, and the outcome of settlement.

CREATE TABLE acquirer.disputes (
    id               text        NOT NULL PRIMARY KEY,
    authorization_id text        NOT NULL REFERENCES acquirer.authorizations,
    card             text        NOT NULL,
    currency         text        NOT NULL,
    amount           bigint      NOT NULL CONSTRAINT disputes_amount_is_positive CHECK (amount > 0),
    state            text        NOT NULL CONSTRAINT disputes_state_is_known CHECK (state IN ('inquiry',
        'chargeback', 'closed')),
    at               timestamptz NOT NULL
);
COMMENT ON TABLE acquirer.disputes IS
    'Complaints of cardholders. A chargeback has taken the money back already, an inquiry only asks.';

CREATE TABLE acquirer.outbox (
    number           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id               text        NOT NULL CONSTRAINT outbox_id_is_unique UNIQUE,
    kind             text        NOT NULL,
    authorization_id text,
    body             bytea       NOT NULL,
    at               timestamptz NOT NULL,
    due_at           timestamptz NOT NULL,
    attempts         integer     NOT NULL DEFAULT 0,
    repeats          integer     NOT NULL,
    acknowledged_at  timestamptz
);
CREATE INDEX outbox_unacknowledged ON acquirer.outbox (due_at) WHERE acknowledged_at IS NULL;
COMMENT ON TABLE acquirer.outbox IS
    'Notifications, written in the transaction of what they report and sent until they are acknowledged; some, on '
    'purpose, once more after that.';

COMMENT ON COLUMN acquirer.outbox.authorization_id IS
    'The payment it is about; null of a settlement batch, which is about many.';

CREATE TABLE acquirer.settled (
    movement bigint      NOT NULL CONSTRAINT settled_one_per_movement PRIMARY KEY,
    batch    text        NOT NULL,
    part     integer     NOT NULL,
    at       timestamptz NOT NULL
);
COMMENT ON TABLE acquirer.settled IS 'Movements that have been paid to the merchant''s side, or taken from it.';

ALTER TABLE acquirer.movements DROP CONSTRAINT movements_kind_is_known;
ALTER TABLE acquirer.movements ADD CONSTRAINT movements_kind_is_known
    CHECK (kind IN ('hold', 'release', 'sale', 'capture', 'refund', 'refund_failed', 'chargeback',
        'chargeback_reversal',
                    'payout', 'recall', 'none'));
