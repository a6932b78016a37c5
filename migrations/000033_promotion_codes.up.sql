-- 000033: promotion codes. A merchant gives customers a code for a coupon. A session that is paid with a code redeems
-- the code and its coupon: it reserves both before the acquirer is called.
CREATE TABLE promotion_codes (
    account_id              text COLLATE "C" NOT NULL,
    id                      text COLLATE "C" NOT NULL,
    livemode                boolean     NOT NULL,
    request_id              text COLLATE "C" NOT NULL,
    coupon_id               text COLLATE "C" NOT NULL,
    code                    text        NOT NULL,
    active                  boolean     NOT NULL,
    customer_id             text COLLATE "C",
    expires_at              timestamptz,
    max_redemptions         bigint,
    first_time_transaction  boolean     NOT NULL,
    minimum_amount          bigint,
    minimum_amount_currency text,
    metadata                json        NOT NULL,
    times_redeemed          bigint      NOT NULL DEFAULT 0,
    times_reserved          bigint      NOT NULL DEFAULT 0,
    created_at              timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT promotion_codes_with_their_coupon UNIQUE (account_id, id, coupon_id),
    CONSTRAINT promotion_codes_max_redemptions_is_positive CHECK (max_redemptions > 0),
    CONSTRAINT promotion_codes_redemptions_are_counted CHECK (times_redeemed >= 0 AND times_reserved >= 0),
    CONSTRAINT promotion_codes_redemptions_stay_below_the_maximum CHECK (
        times_redeemed + times_reserved <= max_redemptions),
    CONSTRAINT promotion_codes_minimum_amount_is_positive CHECK (minimum_amount > 0),
    CONSTRAINT promotion_codes_minimum_amount_has_a_currency CHECK (
        (minimum_amount IS NULL) = (minimum_amount_currency IS NULL)),
    CONSTRAINT promotion_codes_coupon_exists FOREIGN KEY (account_id, coupon_id) REFERENCES coupons,
    CONSTRAINT promotion_codes_customer_exists FOREIGN KEY (account_id, customer_id) REFERENCES customers
);
-- A customer can write a code in any case.
CREATE UNIQUE INDEX promotion_codes_active_code_is_unique ON promotion_codes (account_id, livemode, lower(code))
    WHERE active;
COMMENT ON TABLE promotion_codes IS 'A code that customers can use, and its coupon.';
COMMENT ON COLUMN promotion_codes.active IS
    'Whether the merchant wants it to be used. It can still be expired, or its coupon be deleted, expired or used up.';
COMMENT ON COLUMN promotion_codes.customer_id IS 'The only customer who can use it; null: everybody.';
COMMENT ON COLUMN promotion_codes.times_redeemed IS 'How many complete sessions were paid with it.';
COMMENT ON COLUMN promotion_codes.times_reserved IS 'How many open sessions are being paid with it.';

-- A customer can apply a code to an open session and remove it again. The items then have another discount.
ALTER TABLE checkout_sessions
    ADD COLUMN promotion_code_id text COLLATE "C",
    ADD CONSTRAINT checkout_sessions_promotion_code_has_a_coupon CHECK (
        promotion_code_id IS NULL OR coupon_id IS NOT NULL),
    ADD CONSTRAINT checkout_sessions_promotion_code_is_of_their_coupon
        FOREIGN KEY (account_id, promotion_code_id, coupon_id) REFERENCES promotion_codes (account_id, id, coupon_id);
COMMENT ON COLUMN checkout_sessions.promotion_code_id IS
    'The code that the coupon comes from. coupon_reserved says whether the session holds a redemption of it, too.';

GRANT SELECT ON promotion_codes TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT, UPDATE ON promotion_codes TO ratchet_api, ratchet_worker;
GRANT UPDATE (discount) ON checkout_items TO ratchet_api, ratchet_worker;
