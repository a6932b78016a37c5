-- 000002: who may use the API, and what time it is for them. An account owns everything. An API key opens it in one
-- mode. A test clock moves the time of its test mode.
CREATE TABLE accounts (
    id                   text COLLATE "C" PRIMARY KEY,
    name                 text        NOT NULL,
    country              text        NOT NULL DEFAULT 'US',
    default_currency     text        NOT NULL DEFAULT 'usd',
    api_version          text        NOT NULL DEFAULT '2026-08-26.dahlia',
    statement_descriptor text        NOT NULL DEFAULT 'RATCHET',
    payout_schedule      text        NOT NULL DEFAULT 'manual',
    payout_delay_days    smallint    NOT NULL DEFAULT 2,
    created_at           timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT accounts_name_is_not_empty CHECK (name <> ''),
    -- Stripe names a version after its day, and since 2024 also after a plant.
    CONSTRAINT accounts_api_version_begins_with_a_date CHECK (api_version ~ '^\d{4}-\d{2}-\d{2}(\.[a-z]+)?$'),
    CONSTRAINT accounts_payout_schedule_is_known CHECK (payout_schedule IN ('manual', 'daily')),
    -- A longer delay is a mistake, such as hours instead of days.
    CONSTRAINT accounts_payout_delay_is_at_most_90_days CHECK (payout_delay_days BETWEEN 0 AND 90)
);
COMMENT ON TABLE accounts IS
    'A merchant. Every row of every other table belongs to one, and every key that guards money contains it.';
COMMENT ON COLUMN accounts.api_version IS
    'The version of events, and of requests without Stripe-Version: one that Stripe has published.';
COMMENT ON COLUMN accounts.payout_schedule IS
    'daily: everything available is paid out once a day. manual: when the merchant asks.';
COMMENT ON COLUMN accounts.payout_delay_days IS 'Days until the money of a charge stops being pending.';

CREATE TABLE api_keys (
    id           text COLLATE "C" PRIMARY KEY,
    account_id   text COLLATE "C" NOT NULL REFERENCES accounts,
    livemode     boolean     NOT NULL,
    kind         text        NOT NULL,
    permissions  jsonb,
    hash         bytea       NOT NULL,
    display      text        NOT NULL,
    demo         boolean     NOT NULL DEFAULT false,
    created_at   timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz,
    expires_at   timestamptz,
    CONSTRAINT api_keys_kind_is_known CHECK (kind IN ('secret', 'publishable', 'restricted')),
    -- A restricted key opens only the resources that it names. Any other kind names none.
    CONSTRAINT api_keys_only_restricted_have_permissions CHECK ((kind = 'restricted') = (permissions IS NOT NULL)),
    CONSTRAINT api_keys_permissions_are_read_or_write CHECK (permissions IS NULL OR jsonb_typeof(permissions) = 'object'
        AND NOT jsonb_path_exists(permissions, 'strict $.* ? (@.type() != "string" || @ != "read" && @ != "write")')),
    -- The API looks a key up by its hash.
    CONSTRAINT api_keys_hash_is_unique UNIQUE (hash),
    CONSTRAINT api_keys_hash_is_sha256 CHECK (octet_length(hash) = 32)
);
COMMENT ON TABLE api_keys IS
    'The key itself is shown once and never stored. Only its keyed hash is, so a copy of this table opens nothing.';
COMMENT ON COLUMN api_keys.permissions IS 'By resource, "read" or "write". Other resources are not allowed.';
COMMENT ON COLUMN api_keys.demo IS
    'The key is the same on every machine, so only a server started by "ratchet demo" accepts it.';
COMMENT ON COLUMN api_keys.last_used_at IS
    'Written about once a minute and without waiting for the disk: a crash loses the last minute.';

-- A test clock moves an account's test mode ahead in time. It only moves forward, and deleting it leaves the time
-- unchanged: money that has become available, and may have been paid out, never becomes pending again.
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
    CONSTRAINT test_clocks_one_per_request UNIQUE (request_id, account_id),
    CONSTRAINT test_clocks_status_is_known CHECK (status IN ('ready', 'advancing')),
    CONSTRAINT test_clocks_are_in_test_mode CHECK (NOT livemode),
    CONSTRAINT test_clocks_time_is_not_before_the_start CHECK (frozen_time >= started_at)
);
CREATE INDEX advancing_clocks ON test_clocks (advanced_at) WHERE status = 'advancing';
COMMENT ON TABLE test_clocks IS
    'frozen_time less started_at is how far the clock has been moved. '
    'The account''s test mode is ahead by as much as its furthest clock.';

CREATE TRIGGER test_clocks_turn_one_way BEFORE UPDATE ON test_clocks FOR EACH ROW
    WHEN (NEW.frozen_time < OLD.frozen_time OR OLD.deleted_at IS NOT NULL
       OR (NEW.account_id, NEW.id, NEW.started_at) IS DISTINCT FROM (OLD.account_id, OLD.id, OLD.started_at))
    EXECUTE FUNCTION reject_change('a clock turns one way');
CREATE TRIGGER test_clocks_are_kept BEFORE DELETE ON test_clocks FOR EACH ROW
    EXECUTE FUNCTION reject_change('time does not go back when a clock is deleted');
ALTER TABLE test_clocks
    ENABLE ALWAYS TRIGGER test_clocks_turn_one_way,
    ENABLE ALWAYS TRIGGER test_clocks_are_kept;

-- How far an account is ahead, and what time it is there. Availability, the expiry of authorizations and the progress
-- of payouts all use these two functions. They use clock_timestamp(), because now() is the start of a transaction that
-- may since have waited for a lock.
CREATE FUNCTION account_ahead(of_account text, of_livemode boolean) RETURNS interval LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT max(c.frozen_time - c.started_at) FROM test_clocks c
                      WHERE c.account_id = of_account AND NOT of_livemode), interval '0')
$$;
CREATE FUNCTION account_time(of_account text, of_livemode boolean) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT clock_timestamp() + account_ahead(of_account, of_livemode)
$$;
