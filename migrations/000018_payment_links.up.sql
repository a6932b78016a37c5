-- 000018: payment links. A link stays the same and can be opened any number of times: each visit opens a new checkout
-- session, which is paid once.
CREATE TABLE payment_links (
    account_id text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    livemode   boolean     NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    active     boolean     NOT NULL,
    currency   text        NOT NULL,
    url        text        NOT NULL,
    metadata   json        NOT NULL,
    options    json        NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX payment_links_by_id ON payment_links (id, account_id);
COMMENT ON TABLE payment_links IS 'An address that sells the same items to every customer who opens it.';
COMMENT ON INDEX payment_links_by_id IS 'The page finds a link by its ID alone, without knowing the account.';
COMMENT ON COLUMN payment_links.options IS 'What the merchant asked of the sessions that the link opens.';

CREATE TABLE payment_link_items (
    account_id text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    link_id    text COLLATE "C" NOT NULL,
    livemode   boolean     NOT NULL,
    price_id   text COLLATE "C" NOT NULL,
    quantity   bigint      NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT payment_link_items_link_exists FOREIGN KEY (account_id, link_id) REFERENCES payment_links,
    CONSTRAINT payment_link_items_price_exists FOREIGN KEY (account_id, price_id) REFERENCES prices,
    CONSTRAINT payment_link_items_quantity_is_positive CHECK (quantity > 0)
);
CREATE INDEX payment_link_items_of_a_link ON payment_link_items (link_id, account_id, id);
COMMENT ON TABLE payment_link_items IS 'A line of what a payment link sells, at the price that it names.';

GRANT SELECT ON payment_links, payment_link_items TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT, UPDATE ON payment_links TO ratchet_api, ratchet_worker;
GRANT INSERT ON payment_link_items TO ratchet_api, ratchet_worker;
