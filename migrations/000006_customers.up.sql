-- 000006: customers and their cards. Only displayable data of a card is stored: brand, last four digits, expiry,
-- country, funding and a keyed fingerprint, plus the card's name in the acquirer's vault. There is no card number and
-- no security code.
CREATE TABLE customers (
    account_id            text COLLATE "C" NOT NULL,
    id                    text COLLATE "C" NOT NULL,
    livemode              boolean     NOT NULL,
    request_id            text COLLATE "C" NOT NULL,
    name                  text,
    email                 text,
    phone                 text,
    description           text,
    address               json,
    shipping              json,
    metadata              json        NOT NULL DEFAULT '{}',
    balance               bigint      NOT NULL DEFAULT 0,
    default_source        text COLLATE "C",
    invoice_prefix        text        NOT NULL,
    next_invoice_sequence bigint      NOT NULL DEFAULT 1,
    invoice_settings      json        NOT NULL DEFAULT '{}',
    preferred_locales     text[]      NOT NULL DEFAULT '{}',
    tax_exempt            text        NOT NULL DEFAULT 'none',
    test_clock            text COLLATE "C",
    created_at            timestamptz NOT NULL,
    deleted_at            timestamptz,
    PRIMARY KEY (account_id, id),
    CONSTRAINT customers_tax_exempt_is_known CHECK (tax_exempt IN ('none', 'exempt', 'reverse')),
    CONSTRAINT customers_test_clock_exists FOREIGN KEY (account_id, test_clock) REFERENCES test_clocks
);
CREATE INDEX customers_by_email ON customers (email, account_id, id) WHERE deleted_at IS NULL;
CREATE INDEX customers_of_a_clock ON customers (test_clock, account_id, id) WHERE test_clock IS NOT NULL;
COMMENT ON TABLE customers IS
    'Deleting one keeps the row: charges refer to it and Stripe answers {"deleted": true}. '
    'Deleting a test clock deletes its customers.';

CREATE TABLE tokens (
    account_id text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    livemode   boolean     NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    card       json        NOT NULL,
    card_id    text COLLATE "C" NOT NULL,
    client_ip  text,
    used_by    text COLLATE "C",
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, id)
);
COMMENT ON TABLE tokens IS
    'A card that a client sent once. A token can be used once: used_by is the request that did.';

CREATE TABLE cards (
    account_id  text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    livemode    boolean     NOT NULL,
    request_id  text COLLATE "C" NOT NULL,
    customer_id text COLLATE "C" NOT NULL,
    card        json        NOT NULL,
    metadata    json        NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL,
    deleted_at  timestamptz,
    PRIMARY KEY (account_id, id),
    CONSTRAINT cards_customer_exists FOREIGN KEY (account_id, customer_id) REFERENCES customers
);
CREATE INDEX cards_of_a_customer ON cards (customer_id, account_id, id) WHERE deleted_at IS NULL;
COMMENT ON TABLE cards IS 'A card kept with a customer, chargeable again.';

CREATE TABLE payment_methods (
    account_id      text COLLATE "C" NOT NULL,
    id              text COLLATE "C" NOT NULL,
    livemode        boolean     NOT NULL,
    request_id      text COLLATE "C" NOT NULL,
    customer_id     text COLLATE "C",
    card            json        NOT NULL,
    billing_details json        NOT NULL,
    metadata        json        NOT NULL DEFAULT '{}',
    allow_redisplay text        NOT NULL DEFAULT 'unspecified',
    set_up          boolean     NOT NULL DEFAULT false,
    spent_by        text COLLATE "C",
    retrieved_as    text COLLATE "C",
    created_at      timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT payment_methods_customer_exists FOREIGN KEY (account_id, customer_id) REFERENCES customers,
    -- A method that is used up belongs to no customer.
    CONSTRAINT payment_methods_spent_have_no_customer CHECK (spent_by IS NULL OR customer_id IS NULL)
);
CREATE INDEX payment_methods_of_a_customer ON payment_methods (customer_id, account_id, id)
    WHERE customer_id IS NOT NULL;
-- GET /v1/payment_methods/pm_card_visa returns a method that can be attached and charged. Until it is used, the request
-- returns the same one.
CREATE UNIQUE INDEX payment_methods_one_unused_per_test_id ON payment_methods (account_id, retrieved_as)
    WHERE retrieved_as IS NOT NULL AND customer_id IS NULL AND spent_by IS NULL;
COMMENT ON TABLE payment_methods IS
    'A card that can be charged, once or, kept with a customer, any number of times.';
COMMENT ON COLUMN payment_methods.set_up IS 'The cardholder has agreed to payments in their absence.';
COMMENT ON COLUMN payment_methods.spent_by IS
    'The request that used the method up: it paid without a customer, or detached the method from one.';
COMMENT ON COLUMN payment_methods.retrieved_as IS
    'The test ID, such as pm_card_visa, that a request retrieved the method by.';
