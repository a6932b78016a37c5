-- 000024: confirmation tokens. A page collects what a payment needs, and a server confirms the intent with it.
CREATE TABLE confirmation_tokens (
    account_id         text COLLATE "C" NOT NULL,
    id                 text COLLATE "C" NOT NULL,
    livemode           boolean     NOT NULL,
    request_id         text COLLATE "C" NOT NULL,
    payment_method_id  text COLLATE "C" NOT NULL,
    return_url         text,
    setup_future_usage text,
    shipping           json,
    used_by            text COLLATE "C",
    intent_id          text COLLATE "C",
    created_at         timestamptz NOT NULL,
    expires_at         timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT confirmation_tokens_payment_method_exists FOREIGN KEY (account_id, payment_method_id)
        REFERENCES payment_methods,
    CONSTRAINT confirmation_tokens_used_have_an_intent CHECK ((used_by IS NULL) = (intent_id IS NULL))
);
COMMENT ON TABLE confirmation_tokens IS
    'What a customer has entered on a page: a method, and how an intent is to be confirmed with it. A token can be '
    'used once: used_by is the request that did, and intent_id the intent that it confirmed.';

GRANT SELECT ON confirmation_tokens TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT, UPDATE ON confirmation_tokens TO ratchet_api, ratchet_worker;
