-- 000004: who pays, and with what. Of a card only what may be shown is kept:
-- brand, last four, expiry, country, funding and a keyed fingerprint, plus the
-- name under which the acquirer's vault knows it. No number, no security code.
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
    created_at            timestamptz NOT NULL,
    deleted_at            timestamptz,
    PRIMARY KEY (account_id, id),
    CONSTRAINT a_tax_status_is_known CHECK (tax_exempt IN ('none', 'exempt', 'reverse'))
);
CREATE INDEX customers_by_email ON customers (email, account_id, id) WHERE deleted_at IS NULL;
COMMENT ON TABLE customers IS 'Deleting one keeps the row: charges refer to it and Stripe answers {"deleted": true}.';

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
COMMENT ON TABLE tokens IS 'A card that was shown to us once. used_by is the request that spent it; a token is spent once.';

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
    CONSTRAINT a_card_belongs_to_a_customer FOREIGN KEY (account_id, customer_id) REFERENCES customers
);
CREATE INDEX cards_of_a_customer ON cards (customer_id, account_id, id) WHERE deleted_at IS NULL;
COMMENT ON TABLE cards IS 'A card kept with a customer, chargeable again.';
