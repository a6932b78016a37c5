-- 000026: the API version of an account. A request that names no version is answered
-- in it, and events that happen are told in it.
ALTER TABLE accounts ADD COLUMN api_version text NOT NULL DEFAULT '2026-08-26.dahlia',
    ADD CONSTRAINT an_api_version_begins_with_a_day CHECK (api_version ~ '^\d{4}-\d{2}-\d{2}(\.[a-z]+)?$');
COMMENT ON COLUMN accounts.api_version IS 'The version of requests without Stripe-Version, and of events: one of those that Stripe has had.';
