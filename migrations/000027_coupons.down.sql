ALTER TABLE checkout_items DROP COLUMN discount;
ALTER TABLE checkout_sessions
    DROP COLUMN amount_discount, DROP COLUMN amount_shipping, DROP COLUMN coupon_id, DROP COLUMN coupon_reserved,
    DROP COLUMN shipping_rate_id, DROP COLUMN shipping_options,
    ADD CONSTRAINT a_session_is_of_something CHECK (amount_total > 0 AND amount_total = amount_subtotal);
DROP TABLE shipping_rates, coupons;
