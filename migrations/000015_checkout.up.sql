-- 000015: what is sold, and the visits in which it is paid for. A session has one
-- payment intent at most, and an intent is paid once (an_intent_is_paid_once): so
-- however often a customer presses Pay, in however many tabs, he pays once.
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
COMMENT ON TABLE products IS 'What is sold. The id may be the merchant''s own.';

CREATE TABLE prices (
    account_id   text COLLATE "C" NOT NULL,
    id           text COLLATE "C" NOT NULL,
    livemode     boolean     NOT NULL,
    request_id   text COLLATE "C" NOT NULL,
    product_id   text COLLATE "C" NOT NULL,
    active       boolean     NOT NULL,
    currency     text        NOT NULL,
    unit_amount  bigint      NOT NULL,
    lookup_key   text COLLATE "C",
    metadata     json        NOT NULL,
    nickname     text,
    tax_behavior text        NOT NULL,
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT a_price_is_of_a_product FOREIGN KEY (account_id, product_id) REFERENCES products,
    CONSTRAINT a_price_is_not_negative CHECK (unit_amount >= 0)
);
CREATE INDEX prices_of_a_product ON prices (product_id, account_id, id);
CREATE UNIQUE INDEX a_lookup_key_finds_one_price ON prices (lookup_key, account_id, livemode) WHERE lookup_key IS NOT NULL;
COMMENT ON TABLE prices IS 'What one of a product costs, in minor units. What it costs never changes: there is a new price instead.';

CREATE TABLE checkout_sessions (
    account_id                 text COLLATE "C" NOT NULL,
    id                         text COLLATE "C" NOT NULL,
    livemode                   boolean     NOT NULL,
    request_id                 text COLLATE "C" NOT NULL,
    mode                       text        NOT NULL,
    status                     text        NOT NULL,
    payment_status             text        NOT NULL,
    amount_subtotal            bigint,
    amount_total               bigint,
    currency                   text,
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
    CONSTRAINT a_session_is_of_a_known_mode CHECK (mode IN ('payment', 'setup')),
    CONSTRAINT a_session_status_is_known CHECK (status IN ('open', 'complete', 'expired')),
    CONSTRAINT a_payment_status_is_known CHECK (payment_status IN ('paid', 'unpaid', 'no_payment_required')),
    CONSTRAINT a_session_to_pay_has_an_amount CHECK ((mode = 'payment') = (amount_total IS NOT NULL) AND (mode = 'payment') = (currency IS NOT NULL)),
    CONSTRAINT a_session_is_of_something CHECK (amount_total > 0 AND amount_total = amount_subtotal),
    CONSTRAINT only_a_complete_session_is_paid CHECK (payment_status <> 'paid' OR status = 'complete' AND mode = 'payment'),
    CONSTRAINT a_complete_session_has_its_intent CHECK (status <> 'complete'
        OR (mode = 'payment') = (payment_intent_id IS NOT NULL) AND (mode = 'setup') = (setup_intent_id IS NOT NULL)),
    CONSTRAINT a_session_belongs_to_a_customer FOREIGN KEY (account_id, customer_id) REFERENCES customers
);
CREATE INDEX checkout_sessions_by_id ON checkout_sessions (id, account_id);
CREATE INDEX checkout_sessions_of_a_customer ON checkout_sessions (customer_id, account_id, id) WHERE customer_id IS NOT NULL;
CREATE INDEX checkout_sessions_to_expire ON checkout_sessions (expires_at) WHERE status = 'open';
CREATE INDEX checkout_sessions_of_an_intent ON checkout_sessions (payment_intent_id, account_id) WHERE payment_intent_id IS NOT NULL;
COMMENT ON TABLE checkout_sessions IS 'A customer''s visit to the checkout page. Amounts are minor units.';
COMMENT ON INDEX checkout_sessions_by_id IS 'A page is found by the session''s id alone, without knowing whose it is.';
COMMENT ON COLUMN checkout_sessions.attempts IS 'How often Pay was pressed and an attempt began. The page makes its next idempotency key of it.';
COMMENT ON COLUMN checkout_sessions.options IS 'What the merchant wants of the page and of the intent it will make.';

CREATE TABLE checkout_items (
    account_id          text COLLATE "C" NOT NULL,
    id                  text COLLATE "C" NOT NULL,
    session_id          text COLLATE "C" NOT NULL,
    livemode            boolean     NOT NULL,
    price_id            text COLLATE "C" NOT NULL,
    description         text        NOT NULL,
    quantity            bigint      NOT NULL,
    amount              bigint      NOT NULL,
    metadata            json        NOT NULL,
    created_at          timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT an_item_is_of_a_session FOREIGN KEY (account_id, session_id) REFERENCES checkout_sessions,
    CONSTRAINT an_item_has_a_price FOREIGN KEY (account_id, price_id) REFERENCES prices,
    CONSTRAINT an_item_is_some CHECK (quantity > 0 AND amount >= 0)
);
CREATE INDEX checkout_items_of_a_session ON checkout_items (session_id, account_id, id);
COMMENT ON COLUMN checkout_items.amount IS 'Of all of them together.';

ALTER TABLE payment_intents ADD COLUMN checkout_session text COLLATE "C";
CREATE UNIQUE INDEX a_session_has_one_intent ON payment_intents (checkout_session, account_id) WHERE checkout_session IS NOT NULL;
COMMENT ON COLUMN payment_intents.checkout_session IS 'The checkout session it pays. Until that is over, nobody else confirms or cancels it.';
ALTER TABLE setup_intents ADD COLUMN checkout_session text COLLATE "C";
CREATE UNIQUE INDEX a_session_has_one_setup ON setup_intents (checkout_session, account_id) WHERE checkout_session IS NOT NULL;

GRANT SELECT ON products, prices, checkout_sessions, checkout_items TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT, UPDATE ON products, prices, checkout_sessions TO ratchet_api, ratchet_worker;
GRANT INSERT ON checkout_items TO ratchet_api, ratchet_worker;
