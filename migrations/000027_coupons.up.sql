-- 000027: coupons and shipping rates, and what they do to the total of a checkout session.
--
-- A coupon is redeemed by a paid session. A session reserves its redemption before the acquirer
-- is asked for the money, in the transaction that reserves the session's payment intent. It
-- redeems what it reserved in the transaction that completes the session. So two sessions can
-- race for the last redemption, and the loser is refused before its card is charged.
CREATE TABLE coupons (
    account_id         text COLLATE "C" NOT NULL,
    id                 text COLLATE "C" NOT NULL,
    livemode           boolean     NOT NULL,
    request_id         text COLLATE "C" NOT NULL,
    name               text,
    percent_off        bigint,
    amount_off         bigint,
    currency           text,
    duration           text        NOT NULL,
    duration_in_months bigint,
    max_redemptions    bigint,
    redeem_by          timestamptz,
    metadata           json        NOT NULL,
    times_redeemed     bigint      NOT NULL,
    times_reserved     bigint      NOT NULL,
    created_at         timestamptz NOT NULL,
    deleted_at         timestamptz,
    PRIMARY KEY (account_id, id),
    CONSTRAINT coupons_take_off_a_percentage_or_an_amount CHECK (num_nonnulls(percent_off, amount_off) = 1),
    CONSTRAINT coupons_percent_off_is_at_most_all CHECK (percent_off BETWEEN 1 AND 10000),
    CONSTRAINT coupons_amount_off_is_positive CHECK (amount_off > 0),
    CONSTRAINT coupons_amount_off_has_a_currency CHECK ((amount_off IS NULL) = (currency IS NULL)),
    CONSTRAINT coupons_duration_is_known CHECK (duration IN ('once', 'repeating', 'forever')),
    CONSTRAINT coupons_repeat_for_months CHECK ((duration = 'repeating') = (duration_in_months IS NOT NULL) AND duration_in_months > 0),
    CONSTRAINT coupons_redemptions_are_counted CHECK (times_redeemed >= 0 AND times_reserved >= 0),
    CONSTRAINT coupons_redemptions_stay_below_the_maximum CHECK (times_redeemed + times_reserved <= max_redemptions)
);
COMMENT ON TABLE coupons IS 'What is taken off the price of a checkout session. The id may be the merchant''s own.';
COMMENT ON COLUMN coupons.percent_off IS 'In hundredths of a percent: 3333 is 33.33 %.';
COMMENT ON COLUMN coupons.times_redeemed IS 'How many complete sessions were paid with it.';
COMMENT ON COLUMN coupons.times_reserved IS 'How many open sessions are being paid with it.';

CREATE TABLE shipping_rates (
    account_id        text COLLATE "C" NOT NULL,
    id                text COLLATE "C" NOT NULL,
    livemode          boolean     NOT NULL,
    request_id        text COLLATE "C" NOT NULL,
    active            boolean     NOT NULL,
    display_name      text        NOT NULL,
    amount            bigint      NOT NULL,
    currency          text        NOT NULL,
    delivery_estimate json,
    metadata          json        NOT NULL,
    tax_behavior      text        NOT NULL,
    tax_code          text,
    created_at        timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT shipping_rates_amount_is_not_negative CHECK (amount >= 0),
    CONSTRAINT shipping_rates_tax_behavior_is_known CHECK (tax_behavior IN ('exclusive', 'inclusive', 'unspecified'))
);
COMMENT ON TABLE shipping_rates IS 'What it costs to ship an order, in minor units. The amount never changes: there is a new rate instead.';

ALTER TABLE checkout_sessions
    ADD COLUMN amount_discount  bigint  NOT NULL DEFAULT 0,
    ADD COLUMN amount_shipping  bigint  NOT NULL DEFAULT 0,
    ADD COLUMN coupon_id        text COLLATE "C",
    ADD COLUMN coupon_reserved  boolean NOT NULL DEFAULT false,
    ADD COLUMN shipping_rate_id text COLLATE "C",
    ADD COLUMN shipping_options json    NOT NULL DEFAULT '[]',
    DROP CONSTRAINT a_session_is_of_something,
    ADD CONSTRAINT a_session_is_of_something CHECK (amount_total > 0 AND amount_total = amount_subtotal - amount_discount + amount_shipping),
    ADD CONSTRAINT checkout_sessions_discount_is_a_part CHECK (amount_discount >= 0 AND amount_discount <= coalesce(amount_subtotal, 0)),
    ADD CONSTRAINT checkout_sessions_discount_has_a_coupon CHECK (amount_discount = 0 OR coupon_id IS NOT NULL),
    ADD CONSTRAINT checkout_sessions_shipping_is_not_negative CHECK (amount_shipping >= 0),
    ADD CONSTRAINT checkout_sessions_shipping_has_a_rate CHECK (amount_shipping = 0 OR shipping_rate_id IS NOT NULL),
    ADD CONSTRAINT checkout_sessions_reserve_their_own_coupon CHECK (NOT coupon_reserved OR coupon_id IS NOT NULL AND status <> 'expired'),
    ADD CONSTRAINT checkout_sessions_redeem_what_they_reserved CHECK (status <> 'complete' OR coupon_reserved = (coupon_id IS NOT NULL)),
    ADD CONSTRAINT checkout_sessions_coupon_exists FOREIGN KEY (account_id, coupon_id) REFERENCES coupons,
    ADD CONSTRAINT checkout_sessions_shipping_rate_exists FOREIGN KEY (account_id, shipping_rate_id) REFERENCES shipping_rates;
COMMENT ON COLUMN checkout_sessions.coupon_reserved IS 'Whether a redemption of the coupon is the session''s: reserved while it is open, redeemed when it is complete.';
COMMENT ON COLUMN checkout_sessions.shipping_rate_id IS 'What the customer has chosen: at first, the first of the options.';

ALTER TABLE checkout_items
    ADD COLUMN discount bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT checkout_items_discount_is_a_part CHECK (discount BETWEEN 0 AND amount);
COMMENT ON COLUMN checkout_items.discount IS 'Its part of the session''s discount.';

GRANT SELECT ON coupons, shipping_rates TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT, UPDATE ON coupons, shipping_rates TO ratchet_api, ratchet_worker;
