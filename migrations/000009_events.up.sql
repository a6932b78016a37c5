-- 000009: what happened, who receives it, and every attempt to deliver it. An event, its deliveries, and a River job
-- for each of them are written in the transaction of the change that the event describes, so there is never one without
-- the others. River wakes a worker, but these rows decide: a job that is lost or runs twice loses or repeats nothing.

-- toast_tuple_target: as in requests, a few kilobytes stay in their row.
CREATE TABLE events (
    account_id      text COLLATE "C" NOT NULL,
    id              text COLLATE "C" NOT NULL,
    livemode        boolean     NOT NULL,
    type            text        NOT NULL,
    object_id       text COLLATE "C" NOT NULL,
    data            json        NOT NULL,
    api_version     text        NOT NULL,
    request_id      text COLLATE "C" NOT NULL,
    idempotency_key text,
    created_at      timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT events_one_per_change UNIQUE (request_id, type, object_id, account_id)
) WITH (toast_tuple_target = 8160);
COMMENT ON TABLE events IS
    'data is the object as a plain GET shows it, with the previous values of what changed.';

CREATE TRIGGER events_are_final BEFORE UPDATE ON events FOR EACH ROW
    WHEN (to_jsonb(NEW) - 'data' <> to_jsonb(OLD) - 'data' OR NEW.data::text <> redact_pii(OLD.data)::text)
    EXECUTE FUNCTION reject_change('an event tells what happened; only what is personal can be erased');
CREATE TRIGGER events_are_kept BEFORE DELETE ON events FOR EACH ROW
    EXECUTE FUNCTION reject_change('an event tells what happened');
CREATE TRIGGER events_are_not_emptied BEFORE TRUNCATE ON events FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('an event tells what happened');
ALTER TABLE events
    ENABLE ALWAYS TRIGGER events_are_final,
    ENABLE ALWAYS TRIGGER events_are_kept,
    ENABLE ALWAYS TRIGGER events_are_not_emptied;

CREATE TABLE webhook_endpoints (
    account_id            text COLLATE "C" NOT NULL,
    id                    text COLLATE "C" NOT NULL,
    livemode              boolean     NOT NULL,
    request_id            text COLLATE "C" NOT NULL,
    slot                  smallint    NOT NULL,
    url                   text        NOT NULL,
    description           text,
    enabled_events        text[]      NOT NULL,
    metadata              json        NOT NULL DEFAULT '{}',
    api_version           text,
    status                text        NOT NULL DEFAULT 'enabled',
    secret_generation     integer     NOT NULL DEFAULT 1,
    previous_secret_until timestamptz,
    failing_since         timestamptz,
    created_at            timestamptz NOT NULL,
    changed_at            timestamptz NOT NULL,
    deleted_at            timestamptz,
    PRIMARY KEY (account_id, id),
    CONSTRAINT webhook_endpoints_status_is_known CHECK (status IN ('enabled', 'disabled')),
    CONSTRAINT webhook_endpoints_events_are_not_empty CHECK (cardinality(enabled_events) > 0),
    CONSTRAINT webhook_endpoints_have_16_slots CHECK (slot BETWEEN 1 AND 16),
    CONSTRAINT webhook_endpoints_secret_generation_is_positive CHECK (secret_generation >= 1)
);
CREATE UNIQUE INDEX webhook_endpoints_one_per_slot ON webhook_endpoints (account_id, livemode, slot)
    WHERE deleted_at IS NULL;
COMMENT ON TABLE webhook_endpoints IS
    'No table contains the signing secret: '
    'it is derived from the installation''s secret, the endpoint''s ID and secret_generation.';
COMMENT ON COLUMN webhook_endpoints.slot IS
    'An account has at most sixteen endpoints in each mode: each of them takes a slot.';
COMMENT ON COLUMN webhook_endpoints.previous_secret_until IS
    'Until then deliveries are signed with the previous secret, too.';
COMMENT ON COLUMN webhook_endpoints.failing_since IS
    'The first failure after the last success; null while deliveries succeed.';
COMMENT ON COLUMN webhook_endpoints.changed_at IS
    'Its enabled_events have been the same since then: every later event must have its delivery.';

CREATE TABLE webhook_deliveries (
    account_id    text COLLATE "C" NOT NULL,
    event_id      text COLLATE "C" NOT NULL,
    endpoint_id   text COLLATE "C" NOT NULL,
    state         text        NOT NULL DEFAULT 'pending',
    attempts      integer     NOT NULL DEFAULT 0,
    failures      integer     NOT NULL DEFAULT 0,
    due_at        timestamptz,
    resent        boolean     NOT NULL DEFAULT false,
    claimed_by    text COLLATE "C",
    claimed_until timestamptz,
    created_at    timestamptz NOT NULL,
    ended_at      timestamptz,
    PRIMARY KEY (account_id, event_id, endpoint_id),
    CONSTRAINT webhook_deliveries_event_exists FOREIGN KEY (account_id, event_id) REFERENCES events,
    CONSTRAINT webhook_deliveries_state_is_known CHECK (state IN ('pending', 'succeeded', 'failed', 'canceled')),
    CONSTRAINT webhook_deliveries_pending_have_a_due_time CHECK (
        (state = 'pending') = (due_at IS NOT NULL) AND (state = 'pending') = (ended_at IS NULL)),
    CONSTRAINT webhook_deliveries_claim_has_a_lease CHECK ((claimed_by IS NULL) = (claimed_until IS NULL)),
    CONSTRAINT webhook_deliveries_only_pending_are_claimed CHECK (claimed_by IS NULL OR state = 'pending'),
    CONSTRAINT webhook_deliveries_only_claimed_are_resent CHECK (NOT resent OR claimed_by IS NOT NULL),
    CONSTRAINT webhook_deliveries_failures_are_at_most_attempts CHECK (failures >= 0 AND failures <= attempts)
);
CREATE INDEX deliveries_that_wait ON webhook_deliveries (account_id, endpoint_id, due_at)
    WHERE state = 'pending' AND claimed_by IS NULL;
CREATE INDEX deliveries_under_way ON webhook_deliveries (account_id, endpoint_id) WHERE claimed_by IS NOT NULL;
COMMENT ON TABLE webhook_deliveries IS
    'One event to one endpoint. There is no foreign key to the endpoint: '
    'all payments of a merchant would lock its row.';
COMMENT ON COLUMN webhook_deliveries.attempts IS
    'Attempts begun so far. The number of the latest one is the fence for its result.';
COMMENT ON COLUMN webhook_deliveries.failures IS
    'Failures since the event was last sent or resent: the position in the retry schedule. A resend starts over.';
COMMENT ON COLUMN webhook_deliveries.resent IS
    'A resend was requested while an attempt is under way. However that attempt ends, another one follows.';

CREATE TABLE webhook_attempts (
    account_id  text COLLATE "C" NOT NULL,
    event_id    text COLLATE "C" NOT NULL,
    endpoint_id text COLLATE "C" NOT NULL,
    attempt     integer     NOT NULL,
    started_at  timestamptz NOT NULL,
    ended_at    timestamptz,
    status      smallint,
    headers     json,
    body        bytea,
    error       text,
    duration_ms integer,
    PRIMARY KEY (account_id, event_id, endpoint_id, attempt),
    CONSTRAINT webhook_attempts_delivery_exists FOREIGN KEY (account_id, event_id, endpoint_id)
        REFERENCES webhook_deliveries,
    CONSTRAINT webhook_attempts_ended_have_a_result CHECK ((ended_at IS NULL) = (status IS NULL AND error IS NULL)),
    CONSTRAINT webhook_attempts_body_is_at_most_16_kib CHECK (octet_length(body) <= 16384)
);
COMMENT ON TABLE webhook_attempts IS
    'Written before the request is sent. If a row has no end, the worker died during the attempt.';

-- River's own migrations create its tables in this schema, after these chapters.
CREATE SCHEMA river;
