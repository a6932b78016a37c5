-- 000010: who is told of events, and every attempt to tell them. The deliveries
-- of an event are written in the transaction of the change it tells of, and with
-- each a job for River, which wakes a worker. River wakes, these rows decide: a
-- job that is lost or done twice loses or doubles nothing.
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
    CONSTRAINT an_endpoint_is_enabled_or_disabled CHECK (status IN ('enabled', 'disabled')),
    CONSTRAINT an_endpoint_wants_some_events CHECK (cardinality(enabled_events) > 0),
    CONSTRAINT there_are_sixteen_slots CHECK (slot BETWEEN 1 AND 16),
    CONSTRAINT secrets_are_counted_from_one CHECK (secret_generation >= 1)
);
CREATE UNIQUE INDEX a_slot_has_one_endpoint ON webhook_endpoints (account_id, livemode, slot) WHERE deleted_at IS NULL;
COMMENT ON TABLE webhook_endpoints IS 'The signing secret is in no table: it is derived from the installation''s secret, the endpoint''s id and secret_generation.';
COMMENT ON COLUMN webhook_endpoints.slot IS 'An account has sixteen endpoints in each mode at most: each of them takes a slot.';
COMMENT ON COLUMN webhook_endpoints.previous_secret_until IS 'Until then deliveries are signed with the secret before this one, too.';
COMMENT ON COLUMN webhook_endpoints.changed_at IS 'What it wants to hear has been the same since then: every later event must have its delivery.';
COMMENT ON COLUMN webhook_endpoints.failing_since IS 'The first failure after the last success; NULL while it answers.';

CREATE TABLE webhook_deliveries (
    account_id    text COLLATE "C" NOT NULL,
    event_id      text COLLATE "C" NOT NULL,
    endpoint_id   text COLLATE "C" NOT NULL,
    state         text        NOT NULL DEFAULT 'pending',
    attempts      integer     NOT NULL DEFAULT 0,
    failures      integer     NOT NULL DEFAULT 0,
    due_at        timestamptz,
    claimed_by    text COLLATE "C",
    claimed_until timestamptz,
    created_at    timestamptz NOT NULL,
    ended_at      timestamptz,
    PRIMARY KEY (account_id, event_id, endpoint_id),
    CONSTRAINT a_delivery_has_its_event FOREIGN KEY (account_id, event_id) REFERENCES events,
    CONSTRAINT a_delivery_state_is_known CHECK (state IN ('pending', 'succeeded', 'failed', 'canceled')),
    CONSTRAINT a_delivery_is_due_until_it_ends CHECK ((state = 'pending') = (due_at IS NOT NULL) AND (state = 'pending') = (ended_at IS NULL)),
    CONSTRAINT a_claim_has_an_owner_and_a_lease CHECK ((claimed_by IS NULL) = (claimed_until IS NULL)),
    CONSTRAINT only_the_pending_is_claimed CHECK (claimed_by IS NULL OR state = 'pending'),
    CONSTRAINT failures_were_attempts CHECK (failures >= 0 AND failures <= attempts)
);
CREATE INDEX deliveries_that_wait ON webhook_deliveries (account_id, endpoint_id, due_at) WHERE state = 'pending' AND claimed_by IS NULL;
CREATE INDEX deliveries_under_way ON webhook_deliveries (account_id, endpoint_id) WHERE claimed_by IS NOT NULL;
COMMENT ON TABLE webhook_deliveries IS 'One event to one endpoint. There is no foreign key to the endpoint: payments of one merchant would all lock its row.';
COMMENT ON COLUMN webhook_deliveries.attempts IS 'Begun so far; the number of the latest is the fence of who makes it.';
COMMENT ON COLUMN webhook_deliveries.failures IS 'Since it was last sent on its way: the place in the schedule. A resend starts over.';

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
    CONSTRAINT an_attempt_has_its_delivery FOREIGN KEY (account_id, event_id, endpoint_id) REFERENCES webhook_deliveries,
    CONSTRAINT an_attempt_that_ended_says_how CHECK ((ended_at IS NULL) = (status IS NULL AND error IS NULL)),
    CONSTRAINT an_answer_is_kept_in_part CHECK (octet_length(body) <= 16384)
);
COMMENT ON TABLE webhook_attempts IS 'Written before the request is sent. One without an end was made by a worker that died over it.';

GRANT SELECT ON webhook_endpoints, webhook_deliveries, webhook_attempts TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT, UPDATE ON webhook_endpoints, webhook_deliveries TO ratchet_api, ratchet_worker;
GRANT INSERT, UPDATE ON webhook_attempts TO ratchet_worker;

-- River makes its tables in here, with its own migrations, behind this one. The
-- API adds jobs; a worker runs them and clears them away.
CREATE SCHEMA river;
GRANT USAGE ON SCHEMA river TO ratchet_api, ratchet_worker;
ALTER DEFAULT PRIVILEGES IN SCHEMA river GRANT INSERT ON TABLES TO ratchet_api;
ALTER DEFAULT PRIVILEGES IN SCHEMA river GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ratchet_worker;
ALTER DEFAULT PRIVILEGES IN SCHEMA river GRANT USAGE ON SEQUENCES TO ratchet_api, ratchet_worker;
