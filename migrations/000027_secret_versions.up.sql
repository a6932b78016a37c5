-- 000027: several root secrets, so that the secret can be rotated while the processes run. Each value that is derived
-- from a secret records its version. Requests have fingerprint_version, and sealed texts begin with the version.
ALTER TABLE root_secrets DROP CONSTRAINT root_secrets_one_per_installation;
ALTER TABLE root_secrets
    ADD COLUMN active_at  timestamptz DEFAULT clock_timestamp(),
    ADD COLUMN retired_at timestamptz,
    ADD CONSTRAINT root_secrets_version_is_positive CHECK (version >= 1),
    ADD CONSTRAINT root_secrets_one_per_digest UNIQUE (digest),
    ADD CONSTRAINT root_secrets_retired_were_active CHECK (coalesce(retired_at > active_at, retired_at IS NULL));
COMMENT ON COLUMN root_secrets.active_at IS
    'From then on the newest version that is active makes new values. Null: the processes are still learning of it.';
COMMENT ON COLUMN root_secrets.retired_at IS
    'Since then no process needs the secret itself. Its keys are in kept_keys.';

CREATE TABLE kept_keys (
    version   smallint NOT NULL,
    purpose   text     NOT NULL,
    sealed_by smallint NOT NULL,
    sealed    text     NOT NULL,
    CONSTRAINT kept_keys_one_per_purpose PRIMARY KEY (version, purpose),
    CONSTRAINT kept_keys_root_secret_exists FOREIGN KEY (version) REFERENCES root_secrets,
    CONSTRAINT kept_keys_sealed_by_newer CHECK (sealed_by > version)
);
COMMENT ON TABLE kept_keys IS
    'Keys that were derived from an older root secret, each sealed under the newest one. So values that cannot be made '
    'again stay valid without the older secret: hashes of API keys, fingerprints, keys of calls, stored answers.';

ALTER TABLE api_keys ADD COLUMN secret_version smallint NOT NULL DEFAULT 1;
COMMENT ON COLUMN api_keys.secret_version IS 'The root secret under which the key is hashed.';

ALTER TABLE webhook_endpoints
    ADD COLUMN secret_version          smallint NOT NULL DEFAULT 1,
    ADD COLUMN previous_secret_version smallint NOT NULL DEFAULT 1;
COMMENT ON COLUMN webhook_endpoints.secret_version IS
    'The root secret from which the signing secret is derived. Rolling the signing secret changes it.';
COMMENT ON COLUMN webhook_endpoints.previous_secret_version IS
    'That of the previous signing secret, which is valid until previous_secret_until.';

ALTER TABLE audit_blocks ADD COLUMN secret_version smallint NOT NULL DEFAULT 1;
COMMENT ON COLUMN audit_blocks.secret_version IS 'The root secret from which the key of the digest is derived.';

ALTER TABLE workers ADD COLUMN secrets bytea[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN workers.secrets IS 'Digests of the root secrets that the process was given.';

-- The owner of the database rotates. The roles only read.
GRANT SELECT ON kept_keys TO ratchet_api, ratchet_worker, ratchet_auditor;
