REVOKE UPDATE (last_used_at) ON api_keys FROM ratchet_api;
DELETE FROM api_keys WHERE kind = 'restricted';
ALTER TABLE api_keys DROP CONSTRAINT a_key_is_secret_publishable_or_restricted;
ALTER TABLE api_keys ADD CONSTRAINT a_key_is_secret_or_publishable CHECK (kind IN ('secret', 'publishable'));
ALTER TABLE api_keys DROP COLUMN last_used_at;
ALTER TABLE api_keys DROP COLUMN permissions;
