-- 000015: the demo's shop. The shop is another company: a merchant like any other, who happens to keep a few tables in
-- the same database. They are in a separate schema, under a role that sees nothing of ours, and none of our roles sees
-- anything of the shop's. Outside a demo the tables stay empty. The shop's role and its privileges are in this file,
-- too, so that a fork can leave the shop out by deleting one file.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'ratchet_shop') THEN
        CREATE ROLE ratchet_shop NOLOGIN;
    END IF;
END $$;

CREATE SCHEMA shop;

CREATE TABLE shop.orders (
    id          text COLLATE "C" PRIMARY KEY,
    number      bigint      NOT NULL GENERATED ALWAYS AS IDENTITY (START WITH 1001),
    state       text        NOT NULL DEFAULT 'waiting',
    origin      text        NOT NULL,
    amount      bigint      NOT NULL,
    currency    text        NOT NULL,
    session_id  text COLLATE "C" UNIQUE,
    session_url text,
    placed_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    paid_by     text COLLATE "C",
    CONSTRAINT orders_state_is_known CHECK (state IN ('waiting', 'paid', 'expired')),
    CONSTRAINT orders_amount_is_positive CHECK (amount > 0),
    CONSTRAINT orders_session_has_a_url CHECK ((session_id IS NULL) = (session_url IS NULL)),
    CONSTRAINT orders_paid_have_an_event CHECK ((state = 'paid') = (paid_by IS NOT NULL)),
    CONSTRAINT orders_without_a_session_are_waiting CHECK (state = 'waiting' OR session_id IS NOT NULL)
);
COMMENT ON TABLE shop.orders IS
    'The ID is derived from the cart: the same cart is the same order, '
    'and the order''s ID is the idempotency key of its session.';
COMMENT ON COLUMN shop.orders.origin IS 'The address at which the customer sees the shop.';
COMMENT ON COLUMN shop.orders.amount IS 'Of all lines together, in minor units.';

CREATE TABLE shop.lines (
    order_id    text COLLATE "C" NOT NULL,
    product     text COLLATE "C" NOT NULL,
    name        text        NOT NULL,
    quantity    integer     NOT NULL,
    unit_amount bigint      NOT NULL,
    PRIMARY KEY (order_id, product),
    CONSTRAINT lines_order_exists FOREIGN KEY (order_id) REFERENCES shop.orders,
    CONSTRAINT lines_quantity_and_price_are_positive CHECK (quantity > 0 AND unit_amount > 0)
);

CREATE TABLE shop.events (
    id             text COLLATE "C" PRIMARY KEY,
    type           text        NOT NULL,
    order_id       text COLLATE "C" NOT NULL,
    did            text        NOT NULL,
    reason         text,
    request_id     text COLLATE "C",
    payment_intent text COLLATE "C",
    processed_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT events_order_exists FOREIGN KEY (order_id) REFERENCES shop.orders,
    CONSTRAINT events_effect_is_known CHECK (did IN ('paid', 'expired', 'nothing')),
    CONSTRAINT events_without_effect_have_a_reason CHECK ((did = 'nothing') = (reason IS NOT NULL)),
    CONSTRAINT events_one_order_per_event UNIQUE (id, order_id)
);
CREATE UNIQUE INDEX events_order_is_paid_once ON shop.events (order_id) WHERE did = 'paid';
COMMENT ON TABLE shop.events IS
    'What was processed, each in the transaction of what it did. An event with a row here is not processed again.';

-- An order and its events refer to each other, so one of the two references has to be added when both tables exist.
ALTER TABLE shop.orders ADD CONSTRAINT orders_paid_by_their_own_event
    FOREIGN KEY (paid_by, id) REFERENCES shop.events (id, order_id);

CREATE TABLE shop.deliveries (
    id        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id  text COLLATE "C" NOT NULL,
    processed boolean     NOT NULL,
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT deliveries_event_exists FOREIGN KEY (event_id) REFERENCES shop.events
);
CREATE INDEX deliveries_of_an_event ON shop.deliveries (event_id, id);
CREATE UNIQUE INDEX deliveries_event_is_processed_once ON shop.deliveries (event_id) WHERE processed;
COMMENT ON TABLE shop.deliveries IS 'One row per arrival of an event with a valid signature.';

CREATE TABLE shop.endpoint (
    one    boolean PRIMARY KEY DEFAULT true,
    key    text COLLATE "C" NOT NULL,
    url    text NOT NULL,
    id     text COLLATE "C",
    secret text,
    CONSTRAINT endpoint_has_one_row CHECK (one),
    CONSTRAINT endpoint_has_a_secret CHECK ((id IS NULL) = (secret IS NULL))
);
COMMENT ON TABLE shop.endpoint IS
    'The webhook endpoint of the shop. The row is written before the shop creates the endpoint, '
    'with the idempotency key that it creates it under.';
COMMENT ON COLUMN shop.endpoint.secret IS
    'The signing secret of its webhooks, encrypted under the shop''s own key.';

GRANT USAGE ON SCHEMA shop TO ratchet_shop;
GRANT SELECT, INSERT ON shop.orders, shop.lines, shop.events, shop.deliveries TO ratchet_shop;
GRANT UPDATE (state, session_id, session_url, paid_by) ON shop.orders TO ratchet_shop;
GRANT SELECT, INSERT, UPDATE, DELETE ON shop.endpoint TO ratchet_shop;
