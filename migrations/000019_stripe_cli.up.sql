-- 000019: sessions of Stripe's command line. `stripe listen` receives an account's events and `stripe logs tail` its
-- requests, both over a WebSocket. A listener is a webhook endpoint whose events wait for the socket instead of a
-- worker, so an event is queued in the transaction of its change, even while the listener reconnects.

ALTER TABLE webhook_endpoints ADD COLUMN listener boolean NOT NULL DEFAULT false;
ALTER TABLE webhook_endpoints DROP CONSTRAINT webhook_endpoints_have_16_slots;
ALTER TABLE webhook_endpoints ADD CONSTRAINT webhook_endpoints_have_16_slots CHECK (
    slot - 16 * listener::integer BETWEEN 1 AND 16);
COMMENT ON COLUMN webhook_endpoints.slot IS
    'An account has at most sixteen endpoints in each mode, and sixteen listeners: each of them takes a slot.';
COMMENT ON COLUMN webhook_endpoints.listener IS
    'A session of "stripe listen": the API server that has its socket delivers, and workers leave it alone.';

CREATE TABLE cli_sessions (
    account_id      text COLLATE "C" NOT NULL,
    id              text COLLATE "C" NOT NULL,
    livemode        boolean     NOT NULL,
    request_id      text COLLATE "C" NOT NULL,
    feature         text        NOT NULL,
    key_id          text COLLATE "C" NOT NULL,
    device_name     text        NOT NULL,
    filters         json        NOT NULL DEFAULT '{}',
    default_version text        NOT NULL,
    connection      integer     NOT NULL DEFAULT 0,
    created_at      timestamptz NOT NULL,
    seen_at         timestamptz NOT NULL,
    ended_at        timestamptz,
    PRIMARY KEY (account_id, id),
    CONSTRAINT cli_sessions_feature_is_known CHECK (feature IN ('webhooks', 'request_logs')),
    CONSTRAINT cli_sessions_connection_is_not_negative CHECK (connection >= 0)
);
CREATE INDEX open_cli_sessions ON cli_sessions (account_id, id) WHERE ended_at IS NULL;
COMMENT ON TABLE cli_sessions IS
    'A session of feature "webhooks" has a listener of the same ID in webhook_endpoints. No table contains the '
    'WebSocket ID, which opens the session: it is derived from the installation''s secret and the session''s ID.';
COMMENT ON COLUMN cli_sessions.key_id IS 'The session ends when this API key is revoked or expires.';
COMMENT ON COLUMN cli_sessions.connection IS
    'How often its WebSocket was opened. Only the latest connection is served.';
COMMENT ON COLUMN cli_sessions.seen_at IS
    'When its WebSocket was last open. A session without a connection ends.';

CREATE TABLE cli_log_lines (
    account_id text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    number     bigint      GENERATED ALWAYS AS IDENTITY,
    line       text        NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, session_id, number)
);
COMMENT ON TABLE cli_log_lines IS
    'Requests that a session of feature "request_logs" has yet to acknowledge. Written only while such a session is '
    'open, and deleted when the client acknowledges them or the session ends.';

GRANT SELECT ON cli_sessions, cli_log_lines TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT, UPDATE ON cli_sessions TO ratchet_api, ratchet_worker;
GRANT INSERT, DELETE ON cli_log_lines TO ratchet_api, ratchet_worker;
-- The API server delivers to listeners, and records these attempts as a worker records its own. The IDs of other
-- endpoints begin with we_, and to those only a worker delivers.
GRANT INSERT, UPDATE ON webhook_attempts TO ratchet_api;
CREATE TRIGGER webhook_attempts_to_endpoints_are_the_workers BEFORE INSERT OR UPDATE ON webhook_attempts FOR EACH ROW
    WHEN (NEW.endpoint_id NOT LIKE 'wh\_%' AND current_user = 'ratchet_api')
    EXECUTE FUNCTION reject_change('the API delivers to listeners of the Stripe CLI, and a worker to endpoints');
ALTER TABLE webhook_attempts ENABLE ALWAYS TRIGGER webhook_attempts_to_endpoints_are_the_workers;
