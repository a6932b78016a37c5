-- 000020: what has been tried at a setup. An attempt is written when the card's
-- issuer has answered, in the transaction that changes the setup.
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
    CONSTRAINT a_confirmation_makes_one_attempt UNIQUE (request_id, account_id),
    CONSTRAINT an_attempt_has_its_setup FOREIGN KEY (account_id, setup_intent_id) REFERENCES setup_intents,
    CONSTRAINT an_attempt_status_is_known CHECK (status IN ('requires_action', 'succeeded', 'failed', 'abandoned')),
    CONSTRAINT a_failed_attempt_says_why CHECK ((status = 'failed') = (setup_error IS NOT NULL))
);
CREATE INDEX attempts_of_a_setup ON setup_attempts (setup_intent_id, account_id, id);
CREATE UNIQUE INDEX a_setup_is_done_once ON setup_attempts (setup_intent_id, account_id) WHERE status IN ('requires_action', 'succeeded');
COMMENT ON TABLE setup_attempts IS 'One row per confirmation of a setup that its issuer has answered. requires_action: the cardholder is asked; everything else is final.';
COMMENT ON COLUMN setup_attempts.payment_method_details IS 'The card as it was then, without anything that names a person.';

ALTER TABLE setup_intents ADD COLUMN latest_attempt text COLLATE "C";
ALTER TABLE setup_intents ADD CONSTRAINT the_latest_attempt_is_kept FOREIGN KEY (account_id, latest_attempt) REFERENCES setup_attempts;

CREATE TRIGGER setup_attempts_turn_one_way BEFORE UPDATE ON setup_attempts FOR EACH ROW
    WHEN (to_jsonb(NEW) - '{status,payment_method_details,setup_error}'::text[] <> to_jsonb(OLD) - '{status,payment_method_details,setup_error}'::text[]
       OR (OLD.status <> 'requires_action' AND (NEW.status <> OLD.status OR NEW.payment_method_details::text <> OLD.payment_method_details::text
           OR NEW.setup_error::text IS DISTINCT FROM impersonal(OLD.setup_error)::text)))
    EXECUTE FUNCTION refuse('an attempt that has ended is final; only what is personal can be erased');
CREATE TRIGGER setup_attempts_are_kept BEFORE DELETE ON setup_attempts FOR EACH ROW
    EXECUTE FUNCTION refuse('an attempt has happened');
CREATE TRIGGER setup_attempts_are_not_emptied BEFORE TRUNCATE ON setup_attempts FOR EACH STATEMENT
    EXECUTE FUNCTION refuse('an attempt has happened');
ALTER TABLE setup_attempts ENABLE ALWAYS TRIGGER setup_attempts_turn_one_way;
ALTER TABLE setup_attempts ENABLE ALWAYS TRIGGER setup_attempts_are_kept;
ALTER TABLE setup_attempts ENABLE ALWAYS TRIGGER setup_attempts_are_not_emptied;

GRANT SELECT ON setup_attempts TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT ON setup_attempts TO ratchet_api, ratchet_worker;
GRANT UPDATE (status, payment_method_details, setup_error) ON setup_attempts TO ratchet_api, ratchet_worker;
