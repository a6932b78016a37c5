-- 000011: what the acquirer tells by itself: the inbox, disputes, refunds that
-- end otherwise than they began, settlements.

-- A message and the request that did what it says commit together, and this row
-- is that request's guard: whoever finds it applied does nothing. Without the
-- account in its key, because a message arrives before it is known whose it is;
-- what it does to money is guarded again by keys that have it.
CREATE TABLE inbox (
    source      text COLLATE "C" NOT NULL,
    event_id    text COLLATE "C" NOT NULL,
    kind        text        NOT NULL,
    digest      bytea       NOT NULL,
    body        bytea       NOT NULL,
    state       text        NOT NULL,
    reason      text,
    attempts    integer     NOT NULL DEFAULT 1,
    due_at      timestamptz,
    account_id  text COLLATE "C",
    request_id  text COLLATE "C",
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    applied_at  timestamptz,
    CONSTRAINT a_message_is_taken_once PRIMARY KEY (source, event_id),
    CONSTRAINT a_message_state_is_known CHECK (state IN ('applied', 'waiting', 'set_aside')),
    CONSTRAINT applied_names_its_request CHECK ((state = 'applied') = (request_id IS NOT NULL)
        AND (request_id IS NULL) = (account_id IS NULL) AND (request_id IS NULL) = (applied_at IS NULL)),
    CONSTRAINT waiting_has_a_due_time_too CHECK ((state = 'waiting') = (due_at IS NOT NULL)),
    CONSTRAINT what_is_not_applied_says_why CHECK ((state = 'applied') = (reason IS NULL)),
    CONSTRAINT a_message_digest_is_sha256 CHECK (octet_length(digest) = 32)
);
CREATE INDEX unapplied_messages ON inbox (due_at) WHERE state <> 'applied';
COMMENT ON TABLE inbox IS 'Messages from outside. applied: done, once. waiting: what it speaks of is not here yet. set_aside: a person has to look.';

CREATE TABLE inbox_contradictions (
    source   text COLLATE "C" NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    digest   bytea       NOT NULL,
    body     bytea       NOT NULL,
    seen_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT a_contradiction_is_kept_once PRIMARY KEY (source, event_id, digest),
    CONSTRAINT a_contradiction_has_its_message FOREIGN KEY (source, event_id) REFERENCES inbox
);
COMMENT ON TABLE inbox_contradictions IS 'Messages that came under a known id and say something else. Nothing was done about them.';

CREATE TRIGGER inbox_turns_one_way BEFORE UPDATE ON inbox FOR EACH ROW
    WHEN (OLD.state = 'applied' OR (NEW.source, NEW.event_id, NEW.kind, NEW.digest, NEW.body, NEW.received_at)
          IS DISTINCT FROM (OLD.source, OLD.event_id, OLD.kind, OLD.digest, OLD.body, OLD.received_at))
    EXECUTE FUNCTION refuse('a message that was applied is final, and what it said never changes');
CREATE TRIGGER inbox_is_kept BEFORE DELETE ON inbox FOR EACH ROW EXECUTE FUNCTION refuse('a message is kept, or its repetition would be new');
CREATE TRIGGER inbox_is_not_emptied BEFORE TRUNCATE ON inbox FOR EACH STATEMENT EXECUTE FUNCTION refuse('a message is kept, or its repetition would be new');
CREATE TRIGGER inbox_contradictions_are_final BEFORE UPDATE OR DELETE ON inbox_contradictions FOR EACH ROW EXECUTE FUNCTION refuse('a contradiction is evidence');
CREATE TRIGGER inbox_contradictions_are_not_emptied BEFORE TRUNCATE ON inbox_contradictions FOR EACH STATEMENT EXECUTE FUNCTION refuse('a contradiction is evidence');
ALTER TABLE inbox ENABLE ALWAYS TRIGGER inbox_turns_one_way;
ALTER TABLE inbox ENABLE ALWAYS TRIGGER inbox_is_kept;
ALTER TABLE inbox ENABLE ALWAYS TRIGGER inbox_is_not_emptied;
ALTER TABLE inbox_contradictions ENABLE ALWAYS TRIGGER inbox_contradictions_are_final;
ALTER TABLE inbox_contradictions ENABLE ALWAYS TRIGGER inbox_contradictions_are_not_emptied;

CREATE TABLE disputes (
    account_id         text COLLATE "C" NOT NULL,
    id                 text COLLATE "C" NOT NULL,
    livemode           boolean     NOT NULL,
    request_id         text COLLATE "C" NOT NULL,
    charge_id          text COLLATE "C" NOT NULL,
    acquirer_reference text COLLATE "C" NOT NULL,
    amount             bigint      NOT NULL,
    currency           text        NOT NULL,
    case_type          text        NOT NULL,
    reason             text        NOT NULL,
    network_code       text        NOT NULL,
    eligibility        text[]      NOT NULL,
    status             text        NOT NULL,
    evidence           json        NOT NULL DEFAULT '{}',
    submissions        integer     NOT NULL DEFAULT 0,
    respond_by         timestamptz NOT NULL,
    metadata           json        NOT NULL DEFAULT '{}',
    withdrawal         text COLLATE "C",
    reinstatement      text COLLATE "C",
    busy_with          text COLLATE "C",
    created_at         timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT a_message_opens_one_dispute UNIQUE (request_id, account_id),
    CONSTRAINT a_dispute_is_opened_once UNIQUE (acquirer_reference, account_id),
    CONSTRAINT a_dispute_has_its_charge FOREIGN KEY (account_id, charge_id) REFERENCES charges,
    CONSTRAINT a_dispute_is_of_something CHECK (amount > 0),
    CONSTRAINT a_dispute_status_is_known CHECK (status IN ('warning_needs_response', 'warning_under_review', 'warning_closed',
        'needs_response', 'under_review', 'won', 'lost')),
    CONSTRAINT only_a_chargeback_moves_money CHECK ((status LIKE 'warning%') = (withdrawal IS NULL)),
    CONSTRAINT only_what_is_won_comes_back CHECK ((status = 'won') = (reinstatement IS NOT NULL))
);
CREATE INDEX disputes_of_a_charge ON disputes (charge_id, account_id, id);
COMMENT ON TABLE disputes IS 'A cardholder''s complaint. withdrawal and reinstatement name the postings that took the money and gave it back.';

-- What cardholders took back is neither refundable nor more than was captured.
ALTER TABLE charges ADD COLUMN disputed boolean NOT NULL DEFAULT false;
ALTER TABLE charges ADD COLUMN amount_charged_back bigint NOT NULL DEFAULT 0;
ALTER TABLE charges ADD CONSTRAINT no_more_is_charged_back_than_captured CHECK (amount_charged_back BETWEEN 0 AND amount_captured);
ALTER TABLE charges ADD CONSTRAINT what_is_charged_back_is_disputed CHECK (disputed OR amount_charged_back = 0);
COMMENT ON COLUMN charges.amount_charged_back IS 'Withdrawn by disputes that are not won, in minor units.';

-- A refund that has succeeded can still fail: then both postings stay.
ALTER TABLE refunds ADD COLUMN failure_balance_transaction text COLLATE "C";
ALTER TABLE refunds DROP CONSTRAINT refunded_money_is_posted;
ALTER TABLE refunds ADD CONSTRAINT refunded_money_is_posted CHECK (
    (kind = 'refund' AND (status = 'succeeded' OR failure_balance_transaction IS NOT NULL)) = (balance_transaction IS NOT NULL));
ALTER TABLE refunds ADD CONSTRAINT only_a_failed_refund_comes_back CHECK (failure_balance_transaction IS NULL OR status = 'failed');
ALTER TABLE refunds ADD CONSTRAINT the_acquirer_makes_one_refund UNIQUE (acquirer_reference, account_id);

CREATE TABLE settlements (
    account_id         text COLLATE "C" NOT NULL,
    id                 text COLLATE "C" NOT NULL,
    livemode           boolean     NOT NULL,
    request_id         text COLLATE "C" NOT NULL,
    charge_id          text COLLATE "C" NOT NULL,
    batch              text COLLATE "C" NOT NULL,
    acquirer_reference text COLLATE "C" NOT NULL,
    movement           text        NOT NULL,
    amount             bigint      NOT NULL,
    currency           text        NOT NULL,
    settled_at         timestamptz NOT NULL,
    created_at         timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT a_message_settles_one_movement UNIQUE (request_id, account_id),
    CONSTRAINT a_movement_is_settled_once UNIQUE (acquirer_reference, movement, account_id),
    CONSTRAINT a_settlement_has_its_charge FOREIGN KEY (account_id, charge_id) REFERENCES charges,
    CONSTRAINT a_settlement_is_of_something CHECK (amount > 0),
    CONSTRAINT a_settled_movement_is_known CHECK (movement IN ('sale', 'capture', 'refund', 'refund_failed', 'chargeback', 'chargeback_reversal'))
);
COMMENT ON TABLE settlements IS 'What the acquirer says it has paid us, or taken, for one movement of a card. Each has a posting between processor_receivable and bank_cash.';
CREATE TRIGGER settlements_are_final BEFORE UPDATE OR DELETE ON settlements FOR EACH ROW EXECUTE FUNCTION refuse('a settlement is what the acquirer said');
CREATE TRIGGER settlements_are_not_emptied BEFORE TRUNCATE ON settlements FOR EACH STATEMENT EXECUTE FUNCTION refuse('a settlement is what the acquirer said');
ALTER TABLE settlements ENABLE ALWAYS TRIGGER settlements_are_final;
ALTER TABLE settlements ENABLE ALWAYS TRIGGER settlements_are_not_emptied;

CREATE INDEX lapsing_charges ON charges (capture_before) WHERE capture_before IS NOT NULL AND NOT captured AND amount_refunded = 0;

GRANT SELECT ON inbox, inbox_contradictions, disputes, settlements TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT, UPDATE ON inbox, disputes TO ratchet_api, ratchet_worker;
GRANT INSERT ON inbox_contradictions, settlements TO ratchet_api, ratchet_worker;
