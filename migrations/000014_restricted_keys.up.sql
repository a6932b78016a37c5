-- 000014: what a key may do, and when it last did. A restricted key opens only
-- the resources it names; any other kind names none.
ALTER TABLE api_keys ADD COLUMN permissions jsonb;
ALTER TABLE api_keys ADD COLUMN last_used_at timestamptz;
ALTER TABLE api_keys DROP CONSTRAINT a_key_is_secret_or_publishable;
ALTER TABLE api_keys ADD CONSTRAINT a_key_is_secret_publishable_or_restricted CHECK (kind IN ('secret', 'publishable', 'restricted'));
ALTER TABLE api_keys ADD CONSTRAINT only_a_restricted_key_has_permissions CHECK ((kind = 'restricted') = (permissions IS NOT NULL));
ALTER TABLE api_keys ADD CONSTRAINT a_permission_is_to_read_or_to_write CHECK (
    permissions IS NULL OR jsonb_typeof(permissions) = 'object' AND NOT jsonb_path_exists(permissions, 'strict $.* ? (@.type() != "string" || @ != "read" && @ != "write")'));
COMMENT ON COLUMN api_keys.permissions IS 'By resource, "read" or "write". What is not named is not allowed.';
COMMENT ON COLUMN api_keys.last_used_at IS 'Written about once a minute and without waiting for the disk: a crash loses the last minute.';

-- Of a key the API may note its use, and nothing else.
GRANT UPDATE (last_used_at) ON api_keys TO ratchet_api;
