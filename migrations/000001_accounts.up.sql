-- 000001: who may ask. An account owns everything; an API key opens it in one mode.
CREATE TABLE accounts (
    id                   text COLLATE "C" PRIMARY KEY,
    name                 text        NOT NULL,
    country              text        NOT NULL DEFAULT 'US',
    default_currency     text        NOT NULL DEFAULT 'usd',
    statement_descriptor text        NOT NULL DEFAULT 'RATCHET',
    payout_delay_days    smallint    NOT NULL DEFAULT 2,
    created_at           timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT an_account_is_named CHECK (name <> ''),
    CONSTRAINT a_delay_is_days_not_years CHECK (payout_delay_days BETWEEN 0 AND 90)
);
COMMENT ON TABLE accounts IS 'A merchant. Every row of every other table belongs to one, and every key that guards money contains it.';
COMMENT ON COLUMN accounts.payout_delay_days IS 'Days until the money of a charge stops being pending.';

CREATE TABLE api_keys (
    id           text COLLATE "C" PRIMARY KEY,
    account_id   text COLLATE "C" NOT NULL REFERENCES accounts,
    livemode     boolean     NOT NULL,
    kind         text        NOT NULL,
    hash         bytea       NOT NULL,
    display      text        NOT NULL,
    demo         boolean     NOT NULL DEFAULT false,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz,
    CONSTRAINT a_key_is_secret_or_publishable CHECK (kind IN ('secret', 'publishable')),
    CONSTRAINT a_key_is_known_by_its_hash UNIQUE (hash),
    CONSTRAINT a_hash_is_sha256 CHECK (octet_length(hash) = 32)
);
COMMENT ON TABLE api_keys IS 'The key itself is shown once and never stored: only its keyed hash, so a copy of this table opens nothing.';
COMMENT ON COLUMN api_keys.demo IS 'The same on every machine, so only a server started by "ratchet demo" accepts it.';
