-- 000020: who may use the dashboard. A user has a role and logs in with a password and, optionally, a code from an
-- authenticator app. A session is what a browser's cookie opens. Neither table contains a secret in the clear.
CREATE TABLE users (
    id               text COLLATE "C" PRIMARY KEY,
    email            text        NOT NULL,
    role             text        NOT NULL,
    password_hash    text        NOT NULL,
    password_initial boolean     NOT NULL DEFAULT true,
    totp_secret      text,
    totp_step        bigint      NOT NULL DEFAULT 0,
    recovery_codes   text[]      NOT NULL DEFAULT '{}',
    created_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    disabled_at      timestamptz,
    CONSTRAINT users_email_is_unique UNIQUE (email),
    -- So that Ann@example.com and ann@example.com are one person.
    CONSTRAINT users_email_is_lower_case CHECK (email = lower(email) AND email ~ '^[^[:space:]@]+@[^[:space:]@]+$'),
    CONSTRAINT users_role_is_known CHECK (role IN ('view', 'operate', 'administer')),
    CONSTRAINT users_password_hash_is_argon2id CHECK (password_hash LIKE '$argon2id$%'),
    CONSTRAINT users_recovery_codes_need_totp CHECK (totp_secret IS NOT NULL OR recovery_codes = '{}')
);
COMMENT ON TABLE users IS
    'A person who uses the dashboard. A user is disabled, never deleted: the audit trail names them.';
COMMENT ON COLUMN users.password_initial IS
    'Another person chose the password, so the user must change it before anything else.';
COMMENT ON COLUMN users.totp_secret IS 'Sealed under the root secret. Null: the user has no second factor.';
COMMENT ON COLUMN users.totp_step IS 'The 30 seconds of the last code that was accepted. No code works twice.';
COMMENT ON COLUMN users.recovery_codes IS 'SHA-256 of each code that is left. A code is removed when it is used.';

CREATE TABLE user_sessions (
    id         text COLLATE "C" PRIMARY KEY,
    user_id    text COLLATE "C" REFERENCES users,
    hash       bytea       NOT NULL,
    complete   boolean     NOT NULL,
    address    text        NOT NULL,
    browser    text        NOT NULL,
    began_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    ended_at   timestamptz,
    CONSTRAINT user_sessions_hash_is_unique UNIQUE (hash),
    CONSTRAINT user_sessions_hash_is_sha256 CHECK (octet_length(hash) = 32),
    CONSTRAINT user_sessions_last_at_most_12_hours CHECK (expires_at <= began_at + interval '12 hours')
);
CREATE INDEX user_sessions_by_user ON user_sessions (user_id) WHERE ended_at IS NULL;
COMMENT ON TABLE user_sessions IS
    'The cookie has a random value. Only its keyed hash is stored, so a copy of this table opens nothing.';
COMMENT ON COLUMN user_sessions.user_id IS
    'Null: the password of the installation was given. Such a session ends when the first user is created.';
COMMENT ON COLUMN user_sessions.complete IS 'False: the password was right, and the second factor is missing.';

-- What people did, newest first. Requests of merchants have other actors, so they do not pay for this index.
CREATE INDEX audit_events_of_people ON audit_events (at, id) WHERE actor LIKE 'operator:%' OR actor LIKE 'dashboard%';

-- An administrator manages users in the dashboard, which runs as the API. No role can delete a user or change an email.
-- Only the worker removes sessions.
GRANT SELECT ON users, user_sessions TO ratchet_api, ratchet_auditor;
GRANT INSERT ON users, user_sessions TO ratchet_api;
GRANT UPDATE (role, password_hash, password_initial, totp_secret, totp_step, recovery_codes, disabled_at)
    ON users TO ratchet_api;
GRANT UPDATE (seen_at, ended_at) ON user_sessions TO ratchet_api;
GRANT SELECT, DELETE ON user_sessions TO ratchet_worker;
