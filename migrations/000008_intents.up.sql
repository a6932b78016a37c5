-- 000008: intents to pay, and intents to set up a card. An intent can be tried any number of times and is paid once:
-- the index charges_intent_is_paid_once on charges rejects a second success, even if the code has a bug.
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
    locked_by                   text COLLATE "C",
    checkout_session            text COLLATE "C",
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
    CONSTRAINT payment_intents_amount_is_positive CHECK (amount > 0),
    CONSTRAINT payment_intents_status_is_known CHECK (status IN ('requires_payment_method', 'requires_confirmation',
        'requires_action', 'processing', 'requires_capture', 'succeeded', 'canceled')),
    CONSTRAINT payment_intents_processing_are_locked CHECK ((status = 'processing') <= (locked_by IS NOT NULL)),
    CONSTRAINT payment_intents_only_succeeded_have_received CHECK (
        (status = 'succeeded') = (amount_received > 0) AND amount_received BETWEEN 0 AND amount),
    CONSTRAINT payment_intents_only_authorized_are_capturable CHECK (
        (status = 'requires_capture') = (amount_capturable > 0) AND amount_capturable BETWEEN 0 AND amount),
    CONSTRAINT payment_intents_authorized_have_a_charge CHECK (
        status NOT IN ('requires_capture', 'succeeded') OR latest_charge IS NOT NULL),
    CONSTRAINT payment_intents_next_action_is_required CHECK (
        (status = 'requires_action') = (next_action IS NOT NULL) AND (next_action IS NULL OR challenge IS NOT NULL)),
    CONSTRAINT payment_intents_canceled_have_a_time CHECK ((status = 'canceled') = (canceled_at IS NOT NULL))
);
CREATE INDEX payment_intents_of_a_customer ON payment_intents (customer_id, account_id, id)
    WHERE customer_id IS NOT NULL;
CREATE UNIQUE INDEX payment_intents_one_per_challenge ON payment_intents (challenge, account_id)
    WHERE challenge IS NOT NULL;
CREATE UNIQUE INDEX payment_intents_one_per_checkout_session ON payment_intents (checkout_session, account_id)
    WHERE checkout_session IS NOT NULL;
COMMENT ON TABLE payment_intents IS
    'Amounts are minor units. An intent is finished when it is succeeded or canceled.';
COMMENT ON COLUMN payment_intents.locked_by IS
    'The request that is calling the acquirer about this intent right now. Another one has to wait.';
COMMENT ON COLUMN payment_intents.checkout_session IS
    'The checkout session that the intent pays. Until that is over, no other request confirms or cancels the intent.';
COMMENT ON COLUMN payment_intents.client_secret IS
    'A browser sends it, with a publishable key, to read and confirm this intent and nothing else.';
COMMENT ON COLUMN payment_intents.challenge IS
    'Names the page on which cardholders authenticate. It is kept afterward, so that the page can be opened again.';
COMMENT ON COLUMN payment_intents.authenticated IS
    'The cardholder has passed 3-D Secure for the method that the intent has now.';

CREATE TABLE setup_intents (
    account_id                text COLLATE "C" NOT NULL,
    id                        text COLLATE "C" NOT NULL,
    livemode                  boolean     NOT NULL,
    request_id                text COLLATE "C" NOT NULL,
    status                    text        NOT NULL,
    locked_by                 text COLLATE "C",
    checkout_session          text COLLATE "C",
    client_secret             text COLLATE "C" NOT NULL,
    usage                     text        NOT NULL,
    automatic_payment_methods json,
    payment_method_types      text[]      NOT NULL,
    payment_method_options    json        NOT NULL,
    customer_id               text COLLATE "C",
    payment_method_id         text COLLATE "C",
    description               text,
    metadata                  json        NOT NULL DEFAULT '{}',
    latest_attempt            text COLLATE "C",
    last_setup_error          json,
    challenge                 text COLLATE "C",
    next_action               json,
    return_url                text,
    cancellation_reason       text,
    created_at                timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT setup_intents_status_is_known CHECK (status IN ('requires_payment_method', 'requires_confirmation',
        'requires_action', 'processing', 'succeeded', 'canceled')),
    CONSTRAINT setup_intents_processing_are_locked CHECK ((status = 'processing') <= (locked_by IS NOT NULL)),
    CONSTRAINT setup_intents_succeeded_have_a_method CHECK (status <> 'succeeded' OR payment_method_id IS NOT NULL),
    CONSTRAINT setup_intents_next_action_is_required CHECK (
        (status = 'requires_action') = (next_action IS NOT NULL) AND (next_action IS NULL OR challenge IS NOT NULL))
);
CREATE INDEX setup_intents_of_a_customer ON setup_intents (customer_id, account_id, id) WHERE customer_id IS NOT NULL;
CREATE UNIQUE INDEX setup_intents_one_per_challenge ON setup_intents (challenge, account_id)
    WHERE challenge IS NOT NULL;
CREATE UNIQUE INDEX setup_intents_one_per_checkout_session ON setup_intents (checkout_session, account_id)
    WHERE checkout_session IS NOT NULL;
COMMENT ON TABLE setup_intents IS 'A card being made ready for later payments. No money moves.';

-- An attempt is written when the card's issuer has answered, in the transaction that changes the setup.
CREATE TABLE setup_attempts (
    account_id             text COLLATE "C" NOT NULL,
    id                     text COLLATE "C" NOT NULL,
    livemode               boolean     NOT NULL,
    request_id             text COLLATE "C" NOT NULL,
    setup_intent_id        text COLLATE "C" NOT NULL,
    status                 text        NOT NULL,
    customer_id            text COLLATE "C",
    payment_method_id      text COLLATE "C" NOT NULL,
    payment_method_details json        NOT NULL,
    setup_error            json,
    usage                  text        NOT NULL,
    created_at             timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT setup_attempts_one_per_request UNIQUE (request_id, account_id),
    CONSTRAINT setup_attempts_setup_intent_exists FOREIGN KEY (account_id, setup_intent_id) REFERENCES setup_intents,
    CONSTRAINT setup_attempts_status_is_known CHECK (status IN ('requires_action', 'succeeded', 'failed', 'abandoned')),
    CONSTRAINT setup_attempts_failed_have_an_error CHECK ((status = 'failed') = (setup_error IS NOT NULL))
);
CREATE INDEX attempts_of_a_setup ON setup_attempts (setup_intent_id, account_id, id);
CREATE UNIQUE INDEX setup_attempts_one_open_or_succeeded_per_setup ON setup_attempts (setup_intent_id, account_id)
    WHERE status IN ('requires_action', 'succeeded');
COMMENT ON TABLE setup_attempts IS
    'One row per confirmation of a setup that its issuer has answered. '
    'requires_action: the cardholder has to act. Every other status is final.';
COMMENT ON COLUMN setup_attempts.payment_method_details IS 'The card as it was then, without personal data.';

CREATE TRIGGER setup_attempts_turn_one_way BEFORE UPDATE ON setup_attempts FOR EACH ROW
    WHEN (to_jsonb(NEW) - '{status,payment_method_details,setup_error}'::text[]
             <> to_jsonb(OLD) - '{status,payment_method_details,setup_error}'::text[]
       OR (OLD.status <> 'requires_action' AND (NEW.status <> OLD.status
           OR NEW.payment_method_details::text <> OLD.payment_method_details::text
           OR NEW.setup_error::text IS DISTINCT FROM redact_pii(OLD.setup_error)::text)))
    EXECUTE FUNCTION reject_change('an attempt that has ended is final; only what is personal can be erased');
CREATE TRIGGER setup_attempts_are_kept BEFORE DELETE ON setup_attempts FOR EACH ROW
    EXECUTE FUNCTION reject_change('an attempt has happened');
CREATE TRIGGER setup_attempts_are_not_emptied BEFORE TRUNCATE ON setup_attempts FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('an attempt has happened');
ALTER TABLE setup_attempts
    ENABLE ALWAYS TRIGGER setup_attempts_turn_one_way,
    ENABLE ALWAYS TRIGGER setup_attempts_are_kept,
    ENABLE ALWAYS TRIGGER setup_attempts_are_not_emptied;

-- A setup and its attempts refer to each other, so one of the two references has to be added when both tables exist.
ALTER TABLE setup_intents ADD CONSTRAINT setup_intents_latest_attempt_exists
    FOREIGN KEY (account_id, latest_attempt) REFERENCES setup_attempts;
