-- 000021: an event that is asked for again while it is on its way is sent again
-- behind that, and not only if that fails.
ALTER TABLE webhook_deliveries ADD COLUMN resent boolean NOT NULL DEFAULT false;
ALTER TABLE webhook_deliveries ADD CONSTRAINT only_what_is_under_way_is_resent CHECK (NOT resent OR claimed_by IS NOT NULL);
COMMENT ON COLUMN webhook_deliveries.resent IS 'Asked for again while an attempt is under way: however that ends, it is followed by another.';
