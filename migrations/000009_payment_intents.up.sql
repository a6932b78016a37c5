-- 000009: what a payment is meant to become, and what it is paid with. An intent
-- is tried as often as it takes and paid once: the charges table refuses a second
-- success (an_intent_is_paid_once), whatever the code above believes.
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
    created_at      timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT a_method_belongs_to_a_customer FOREIGN KEY (account_id, customer_id) REFERENCES customers,
    CONSTRAINT a_spent_method_is_nobodys CHECK (spent_by IS NULL OR customer_id IS NULL)
);
CREATE INDEX payment_methods_of_a_customer ON payment_methods (customer_id, account_id, id) WHERE customer_id IS NOT NULL;
COMMENT ON TABLE payment_methods IS 'A card that can be charged, once or, kept with a customer, again and again.';
COMMENT ON COLUMN payment_methods.spent_by IS 'The request that used the method up: it paid without a customer, or was detached from one.';
COMMENT ON COLUMN payment_methods.set_up IS 'The cardholder has agreed to payments in his absence.';

CREATE TABLE payment_intents (
    account_id                  text COLLATE "C" NOT NULL,
    id                          text COLLATE "C" NOT NULL,
    livemode                    boolean     NOT NULL,
    request_id                  text COLLATE "C" NOT NULL,
    amount                      bigint      NOT NULL,
    amount_capturable           bigint      NOT NULL DEFAULT 0,
    amount_received             bigint      NOT NULL DEFAULT 0,
    currency                    text        NOT NULL,
    status                      text        NOT NULL,
    busy_with                   text COLLATE "C",
    client_secret               text COLLATE "C" NOT NULL,
    capture_method              text        NOT NULL,
    confirmation_method         text        NOT NULL,
    automatic_payment_methods   json,
    payment_method_types        text[]      NOT NULL,
    payment_method_options      json        NOT NULL,
    customer_id                 text COLLATE "C",
    payment_method_id           text COLLATE "C",
    setup_future_usage          text,
    description                 text,
    metadata                    json        NOT NULL DEFAULT '{}',
    receipt_email               text,
    shipping                    json,
    statement_descriptor        text,
    statement_descriptor_suffix text,
    latest_charge               text COLLATE "C",
    last_payment_error          json,
    challenge                   text COLLATE "C",
    next_action                 json,
    return_url                  text,
    authenticated               boolean     NOT NULL DEFAULT false,
    canceled_at                 timestamptz,
    cancellation_reason         text,
    created_at                  timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT an_intent_is_of_something CHECK (amount > 0),
    CONSTRAINT an_intent_status_is_known CHECK (status IN ('requires_payment_method', 'requires_confirmation', 'requires_action',
        'processing', 'requires_capture', 'succeeded', 'canceled')),
    CONSTRAINT only_one_request_works_on_an_intent CHECK ((status = 'processing') <= (busy_with IS NOT NULL)),
    CONSTRAINT a_paid_intent_received_something CHECK ((status = 'succeeded') = (amount_received > 0) AND amount_received BETWEEN 0 AND amount),
    CONSTRAINT only_a_held_intent_is_capturable CHECK ((status = 'requires_capture') = (amount_capturable > 0) AND amount_capturable BETWEEN 0 AND amount),
    CONSTRAINT money_on_an_intent_has_a_charge CHECK (status NOT IN ('requires_capture', 'succeeded') OR latest_charge IS NOT NULL),
    CONSTRAINT an_action_is_what_is_required CHECK ((status = 'requires_action') = (next_action IS NOT NULL) AND (next_action IS NULL OR challenge IS NOT NULL)),
    CONSTRAINT a_canceled_intent_says_when CHECK ((status = 'canceled') = (canceled_at IS NOT NULL))
);
CREATE INDEX payment_intents_of_a_customer ON payment_intents (customer_id, account_id, id) WHERE customer_id IS NOT NULL;
CREATE UNIQUE INDEX a_challenge_is_of_one_intent ON payment_intents (challenge, account_id) WHERE challenge IS NOT NULL;
COMMENT ON TABLE payment_intents IS 'Amounts are minor units. An intent is finished when it is succeeded or canceled.';
COMMENT ON COLUMN payment_intents.busy_with IS 'The request that is asking the acquirer about this intent right now. Another one is told to wait.';
COMMENT ON COLUMN payment_intents.client_secret IS 'What a browser shows, with a publishable key, to read and confirm this intent and nothing else.';
COMMENT ON COLUMN payment_intents.challenge IS 'Names the page on which the cardholder authenticates himself; kept when that is done, so that the page can be opened again.';
COMMENT ON COLUMN payment_intents.authenticated IS 'The cardholder has passed 3-D Secure for the method the intent has now.';

CREATE TABLE setup_intents (
    account_id                text COLLATE "C" NOT NULL,
    id                        text COLLATE "C" NOT NULL,
    livemode                  boolean     NOT NULL,
    request_id                text COLLATE "C" NOT NULL,
    status                    text        NOT NULL,
    busy_with                 text COLLATE "C",
    client_secret             text COLLATE "C" NOT NULL,
    usage                     text        NOT NULL,
    automatic_payment_methods json,
    payment_method_types      text[]      NOT NULL,
    payment_method_options    json        NOT NULL,
    customer_id               text COLLATE "C",
    payment_method_id         text COLLATE "C",
    description               text,
    metadata                  json        NOT NULL DEFAULT '{}',
    last_setup_error          json,
    challenge                 text COLLATE "C",
    next_action               json,
    return_url                text,
    cancellation_reason       text,
    created_at                timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT a_setup_status_is_known CHECK (status IN ('requires_payment_method', 'requires_confirmation', 'requires_action',
        'processing', 'succeeded', 'canceled')),
    CONSTRAINT only_one_request_works_on_a_setup CHECK ((status = 'processing') <= (busy_with IS NOT NULL)),
    CONSTRAINT a_finished_setup_has_a_method CHECK (status <> 'succeeded' OR payment_method_id IS NOT NULL),
    CONSTRAINT a_setup_action_is_what_is_required CHECK ((status = 'requires_action') = (next_action IS NOT NULL) AND (next_action IS NULL OR challenge IS NOT NULL))
);
CREATE INDEX setup_intents_of_a_customer ON setup_intents (customer_id, account_id, id) WHERE customer_id IS NOT NULL;
CREATE UNIQUE INDEX a_challenge_is_of_one_setup ON setup_intents (challenge, account_id) WHERE challenge IS NOT NULL;
COMMENT ON TABLE setup_intents IS 'A card being made ready for payments to come. No money moves.';

GRANT SELECT ON payment_methods, payment_intents, setup_intents TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT, UPDATE ON payment_methods, payment_intents, setup_intents TO ratchet_api, ratchet_worker;
