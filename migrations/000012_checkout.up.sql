-- 000012: products, prices, coupons, and the sessions in which they are paid for. A session has one payment intent at
-- most, and an intent is paid once (charges_intent_is_paid_once). So customers pay once, no matter how often they press
-- Pay, or in how many tabs.
--
-- A paid session redeems its coupon. The session reserves the redemption before the acquirer is called, in the
-- transaction that reserves the session's payment intent. It redeems the reservation in the transaction that completes
-- the session. So two sessions can race for the last redemption, and the loser is refused before its card is charged.
CREATE TABLE products (
    account_id           text COLLATE "C" NOT NULL,
    id                   text COLLATE "C" NOT NULL,
    livemode             boolean     NOT NULL,
    request_id           text COLLATE "C" NOT NULL,
    name                 text        NOT NULL,
    active               boolean     NOT NULL,
    description          text,
    default_price_id     text COLLATE "C",
    images               text[]      NOT NULL,
    marketing_features   json        NOT NULL,
    metadata             json        NOT NULL,
    package_dimensions   json,
    shippable            boolean,
    statement_descriptor text,
    tax_code             text,
    unit_label           text,
    url                  text,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    deleted_at           timestamptz,
    PRIMARY KEY (account_id, id)
);
COMMENT ON TABLE products IS 'What is sold. The merchant may choose the ID.';

CREATE TABLE prices (
    account_id   text COLLATE "C" NOT NULL,
    id           text COLLATE "C" NOT NULL,
    livemode     boolean     NOT NULL,
    request_id   text COLLATE "C" NOT NULL,
    product_id   text COLLATE "C" NOT NULL,
    active       boolean     NOT NULL,
    currency     text        NOT NULL,
    unit_amount  bigint      NOT NULL,
    recurring    json,
    lookup_key   text COLLATE "C",
    metadata     json        NOT NULL,
    nickname     text,
    tax_behavior text        NOT NULL,
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT prices_product_exists FOREIGN KEY (account_id, product_id) REFERENCES products,
    CONSTRAINT prices_unit_amount_is_not_negative CHECK (unit_amount >= 0)
);
CREATE INDEX prices_of_a_product ON prices (product_id, account_id, id);
CREATE UNIQUE INDEX prices_one_per_lookup_key ON prices (lookup_key, account_id, livemode)
    WHERE lookup_key IS NOT NULL;
COMMENT ON TABLE prices IS
    'What one unit of a product costs, in minor units. The amount never changes: '
    'the merchant creates a new price instead.';
COMMENT ON COLUMN prices.recurring IS
    'How often the price is paid, as the merchant specified it; null: once. '
    'It is stored and shown only: there are no subscriptions.';

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
    CONSTRAINT coupons_repeat_for_months CHECK (
        (duration = 'repeating') = (duration_in_months IS NOT NULL) AND duration_in_months > 0),
    CONSTRAINT coupons_redemptions_are_counted CHECK (times_redeemed >= 0 AND times_reserved >= 0),
    -- The last line of defense in the race for the last redemption.
    CONSTRAINT coupons_redemptions_stay_below_the_maximum CHECK (times_redeemed + times_reserved <= max_redemptions)
);
COMMENT ON TABLE coupons IS
    'What is taken off the price of a checkout session. The merchant may choose the ID.';
COMMENT ON COLUMN coupons.percent_off IS 'In hundredths of a percent: 3333 is 33.33%.';
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
COMMENT ON TABLE shipping_rates IS
    'What it costs to ship an order, in minor units. The amount never changes: '
    'the merchant creates a new rate instead.';

CREATE TABLE checkout_sessions (
    account_id                 text COLLATE "C" NOT NULL,
    id                         text COLLATE "C" NOT NULL,
    livemode                   boolean     NOT NULL,
    request_id                 text COLLATE "C" NOT NULL,
    mode                       text        NOT NULL,
    status                     text        NOT NULL,
    payment_status             text        NOT NULL,
    amount_subtotal            bigint,
    amount_discount            bigint      NOT NULL DEFAULT 0,
    amount_shipping            bigint      NOT NULL DEFAULT 0,
    amount_total               bigint,
    currency                   text,
    coupon_id                  text COLLATE "C",
    coupon_reserved            boolean     NOT NULL DEFAULT false,
    shipping_rate_id           text COLLATE "C",
    shipping_options           json        NOT NULL DEFAULT '[]',
    customer_id                text COLLATE "C",
    customer_creation          text,
    customer_email             text,
    customer_details           json,
    client_reference_id        text,
    metadata                   json        NOT NULL,
    options                    json        NOT NULL,
    success_url                text        NOT NULL,
    cancel_url                 text,
    url                        text        NOT NULL,
    attempts                   integer     NOT NULL,
    payment_intent_id          text COLLATE "C",
    setup_intent_id            text COLLATE "C",
    expires_at                 timestamptz NOT NULL,
    created_at                 timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT checkout_sessions_mode_is_known CHECK (mode IN ('payment', 'setup')),
    CONSTRAINT checkout_sessions_status_is_known CHECK (status IN ('open', 'complete', 'expired')),
    CONSTRAINT checkout_sessions_payment_status_is_known CHECK (
        payment_status IN ('paid', 'unpaid', 'no_payment_required')),
    CONSTRAINT checkout_sessions_payments_have_an_amount CHECK (
        (mode = 'payment') = (amount_total IS NOT NULL) AND (mode = 'payment') = (currency IS NOT NULL)),
    CONSTRAINT checkout_sessions_total_adds_up CHECK (
        amount_total > 0 AND amount_total = amount_subtotal - amount_discount + amount_shipping),
    CONSTRAINT checkout_sessions_only_complete_are_paid CHECK (
        payment_status <> 'paid' OR status = 'complete' AND mode = 'payment'),
    CONSTRAINT checkout_sessions_complete_have_an_intent CHECK (status <> 'complete'
        OR (mode = 'payment') = (payment_intent_id IS NOT NULL) AND (mode = 'setup') = (setup_intent_id IS NOT NULL)),
    CONSTRAINT checkout_sessions_discount_is_a_part CHECK (
        amount_discount >= 0 AND amount_discount <= coalesce(amount_subtotal, 0)),
    CONSTRAINT checkout_sessions_discount_has_a_coupon CHECK (amount_discount = 0 OR coupon_id IS NOT NULL),
    CONSTRAINT checkout_sessions_shipping_is_not_negative CHECK (amount_shipping >= 0),
    CONSTRAINT checkout_sessions_shipping_has_a_rate CHECK (amount_shipping = 0 OR shipping_rate_id IS NOT NULL),
    CONSTRAINT checkout_sessions_reserve_their_own_coupon CHECK (
        NOT coupon_reserved OR coupon_id IS NOT NULL AND status <> 'expired'),
    CONSTRAINT checkout_sessions_redeem_what_they_reserved CHECK (
        status <> 'complete' OR coupon_reserved = (coupon_id IS NOT NULL)),
    CONSTRAINT checkout_sessions_coupon_exists FOREIGN KEY (account_id, coupon_id) REFERENCES coupons,
    CONSTRAINT checkout_sessions_shipping_rate_exists FOREIGN KEY (account_id, shipping_rate_id)
        REFERENCES shipping_rates,
    CONSTRAINT checkout_sessions_customer_exists FOREIGN KEY (account_id, customer_id) REFERENCES customers
);
CREATE INDEX checkout_sessions_by_id ON checkout_sessions (id, account_id);
CREATE INDEX checkout_sessions_of_a_customer ON checkout_sessions (customer_id, account_id, id)
    WHERE customer_id IS NOT NULL;
CREATE INDEX checkout_sessions_to_expire ON checkout_sessions (expires_at) WHERE status = 'open';
CREATE INDEX checkout_sessions_of_an_intent ON checkout_sessions (payment_intent_id, account_id)
    WHERE payment_intent_id IS NOT NULL;
COMMENT ON TABLE checkout_sessions IS 'A customer''s visit to the checkout page. Amounts are minor units.';
COMMENT ON INDEX checkout_sessions_by_id IS
    'The page finds a session by its ID alone, without knowing the account.';
COMMENT ON COLUMN checkout_sessions.attempts IS
    'How often the customer pressed Pay and an attempt began. The page derives its next idempotency key from it.';
COMMENT ON COLUMN checkout_sessions.options IS
    'What the merchant asked of the page and of the intent that the session will create.';
COMMENT ON COLUMN checkout_sessions.coupon_reserved IS
    'Whether the session holds a redemption of the coupon: reserved while it is open, redeemed when it is complete.';
COMMENT ON COLUMN checkout_sessions.shipping_rate_id IS
    'What the customer has chosen: at first, the first of the options.';

CREATE TABLE checkout_items (
    account_id          text COLLATE "C" NOT NULL,
    id                  text COLLATE "C" NOT NULL,
    session_id          text COLLATE "C" NOT NULL,
    livemode            boolean     NOT NULL,
    price_id            text COLLATE "C" NOT NULL,
    description         text        NOT NULL,
    quantity            bigint      NOT NULL,
    amount              bigint      NOT NULL,
    discount            bigint      NOT NULL DEFAULT 0,
    metadata            json        NOT NULL,
    created_at          timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT checkout_items_session_exists FOREIGN KEY (account_id, session_id) REFERENCES checkout_sessions,
    CONSTRAINT checkout_items_price_exists FOREIGN KEY (account_id, price_id) REFERENCES prices,
    CONSTRAINT checkout_items_quantity_is_positive CHECK (quantity > 0 AND amount >= 0),
    CONSTRAINT checkout_items_discount_is_a_part CHECK (discount BETWEEN 0 AND amount)
);
CREATE INDEX checkout_items_of_a_session ON checkout_items (session_id, account_id, id);
COMMENT ON COLUMN checkout_items.amount IS 'For the whole quantity.';
COMMENT ON COLUMN checkout_items.discount IS 'The item''s part of the session''s discount.';
