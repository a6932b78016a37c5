-- 000023: the installation's root secret. Under another secret, no derived value matches: API keys, signing secrets,
-- the keys of calls to the acquirer, the audit chain. A process with another secret does not start, so it cannot call
-- the acquirer a second time under another key.
CREATE TABLE root_secrets (
    version    smallint    PRIMARY KEY DEFAULT 1,
    digest     bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT root_secrets_one_per_installation CHECK (version = 1),
    CONSTRAINT root_secrets_digest_is_sha256 CHECK (octet_length(digest) = 32)
);
COMMENT ON TABLE root_secrets IS
    'The first process that starts adds the row. The secret is in no table, and its digest reveals nothing of it.';
COMMENT ON COLUMN root_secrets.digest IS
    'HMAC-SHA-256 under a key that is derived from the secret for this purpose alone.';

-- No role can replace it. The owner of the database removes the row to start over with another secret.
GRANT SELECT ON root_secrets TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT (digest) ON root_secrets TO ratchet_api, ratchet_worker;
