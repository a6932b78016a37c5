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

-- The acquirer settles in batches, each of one merchant, mode and currency, and
-- reports a batch in parts. What a part says is kept here as sent; every movement
-- in it becomes a row of one of the three tables that follow.
CREATE TABLE settlement_parts (
    account_id text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    livemode   boolean     NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    batch      text COLLATE "C" NOT NULL,
    part       integer     NOT NULL,
    parts      integer     NOT NULL,
    currency   text        NOT NULL,
    movements  integer     NOT NULL,
    paid       bigint      NOT NULL,
    taken      bigint      NOT NULL,
    settled_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT a_message_reports_one_part UNIQUE (request_id, account_id),
    CONSTRAINT a_part_is_one_of_its_batch CHECK (part BETWEEN 1 AND parts),
    CONSTRAINT a_part_has_a_size CHECK (movements BETWEEN 1 AND 1000),
    CONSTRAINT a_part_has_sums CHECK (paid >= 0 AND taken >= 0)
);
CREATE INDEX parts_of_a_batch ON settlement_parts (batch, account_id, part);
COMMENT ON TABLE settlement_parts IS 'A part of a settlement batch as the acquirer sent it: how many movements, what it paid us for them and what it took. Its posting, if it has one, has this id as its source.';

CREATE TABLE settlements (
    account_id         text COLLATE "C" NOT NULL,
    acquirer_reference text COLLATE "C" NOT NULL,
    movement           text        NOT NULL,
    livemode           boolean     NOT NULL,
    request_id         text COLLATE "C" NOT NULL,
    charge_id          text COLLATE "C" NOT NULL,
    batch              text COLLATE "C" NOT NULL,
    part               integer     NOT NULL,
    amount             bigint      NOT NULL,
    currency           text        NOT NULL,
    posting_id         text COLLATE "C" NOT NULL,
    settled_at         timestamptz NOT NULL,
    created_at         timestamptz NOT NULL,
    CONSTRAINT a_movement_is_settled_once PRIMARY KEY (account_id, acquirer_reference, movement),
    CONSTRAINT a_settlement_has_its_charge FOREIGN KEY (account_id, charge_id) REFERENCES charges,
    CONSTRAINT a_settlement_is_of_something CHECK (amount > 0),
    CONSTRAINT a_settled_movement_is_known CHECK (movement IN ('sale', 'capture', 'refund', 'refund_failed', 'chargeback', 'chargeback_reversal'))
);
CREATE INDEX settlements_of_a_charge ON settlements (charge_id, account_id);
COMMENT ON TABLE settlements IS 'What the acquirer has paid us, or taken, for one movement of a card. The rows of one posting add up to its two legs between processor_receivable and bank_cash.';

CREATE TABLE movements_waiting (
    account_id         text COLLATE "C" NOT NULL,
    acquirer_reference text COLLATE "C" NOT NULL,
    movement           text        NOT NULL,
    livemode           boolean     NOT NULL,
    authorization_id   text COLLATE "C" NOT NULL,
    batch              text COLLATE "C" NOT NULL,
    part               integer     NOT NULL,
    amount             bigint      NOT NULL,
    currency           text        NOT NULL,
    settled_at         timestamptz NOT NULL,
    received_at        timestamptz NOT NULL,
    attempts           integer     NOT NULL DEFAULT 0,
    due_at             timestamptz NOT NULL,
    CONSTRAINT a_movement_waits_once PRIMARY KEY (account_id, acquirer_reference, movement),
    CONSTRAINT a_waiting_movement_is_of_something CHECK (amount > 0)
);
CREATE INDEX movements_due ON movements_waiting (due_at);
COMMENT ON TABLE movements_waiting IS 'Settled movements whose charge is not here yet. A worker books each when its charge is; until then verify counts it, and leaves nothing out because of it.';

CREATE TABLE movements_set_aside (
    account_id         text COLLATE "C" NOT NULL,
    acquirer_reference text COLLATE "C" NOT NULL,
    movement           text        NOT NULL,
    livemode           boolean     NOT NULL,
    request_id         text COLLATE "C" NOT NULL,
    authorization_id   text COLLATE "C" NOT NULL,
    batch              text COLLATE "C" NOT NULL,
    part               integer     NOT NULL,
    amount             bigint      NOT NULL,
    currency           text        NOT NULL,
    reason             text        NOT NULL,
    created_at         timestamptz NOT NULL,
    CONSTRAINT a_movement_is_set_aside_once_by_a_request PRIMARY KEY (account_id, request_id, acquirer_reference, movement)
);
COMMENT ON TABLE movements_set_aside IS 'Settled movements that contradict what is known here. Nothing was booked for them; a person has to look.';

CREATE TABLE charges_to_show (
    account_id text COLLATE "C" NOT NULL,
    charge_id  text COLLATE "C" NOT NULL,
    livemode   boolean     NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT a_charge_is_shown_once PRIMARY KEY (account_id, charge_id)
);
COMMENT ON TABLE charges_to_show IS 'Charges whose payment is booked and that still hide their balance transaction. A worker shows it, tells charge.updated and deletes the row.';

CREATE FUNCTION waiting_movement_leaves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM public.settlements s WHERE s.account_id = OLD.account_id AND s.acquirer_reference = OLD.acquirer_reference AND s.movement = OLD.movement)
       AND NOT EXISTS (SELECT FROM public.movements_set_aside a WHERE a.account_id = OLD.account_id AND a.acquirer_reference = OLD.acquirer_reference
                         AND a.movement = OLD.movement AND a.batch = OLD.batch AND a.part = OLD.part) THEN
        RAISE EXCEPTION 'the % of % is neither settled nor set aside', OLD.movement, OLD.acquirer_reference USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER movements_wait_until_they_are_settled BEFORE DELETE ON movements_waiting FOR EACH ROW EXECUTE FUNCTION waiting_movement_leaves();
CREATE TRIGGER waiting_movements_are_as_sent BEFORE UPDATE ON movements_waiting FOR EACH ROW
    WHEN ((NEW.account_id, NEW.acquirer_reference, NEW.movement, NEW.livemode, NEW.authorization_id, NEW.batch, NEW.part, NEW.amount, NEW.currency, NEW.settled_at, NEW.received_at)
          IS DISTINCT FROM (OLD.account_id, OLD.acquirer_reference, OLD.movement, OLD.livemode, OLD.authorization_id, OLD.batch, OLD.part, OLD.amount, OLD.currency, OLD.settled_at, OLD.received_at))
    EXECUTE FUNCTION refuse('a movement is what the acquirer said');
CREATE TRIGGER waiting_movements_are_not_emptied BEFORE TRUNCATE ON movements_waiting FOR EACH STATEMENT EXECUTE FUNCTION refuse('a movement is what the acquirer said');
ALTER TABLE movements_waiting ENABLE ALWAYS TRIGGER movements_wait_until_they_are_settled;
ALTER TABLE movements_waiting ENABLE ALWAYS TRIGGER waiting_movements_are_as_sent;
ALTER TABLE movements_waiting ENABLE ALWAYS TRIGGER waiting_movements_are_not_emptied;

DO $$
DECLARE said text;
BEGIN
    FOREACH said IN ARRAY ARRAY['settlement_parts', 'settlements', 'movements_set_aside'] LOOP
        EXECUTE format('CREATE TRIGGER %I BEFORE UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION refuse(''a settlement is what the acquirer said'')', said || '_are_final', said);
        EXECUTE format('CREATE TRIGGER %I BEFORE TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse(''a settlement is what the acquirer said'')', said || '_are_not_emptied', said);
        EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER %I', said, said || '_are_final');
        EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER %I', said, said || '_are_not_emptied');
    END LOOP;
END $$;

CREATE INDEX lapsing_charges ON charges (capture_before) WHERE capture_before IS NOT NULL AND NOT captured AND amount_refunded = 0;

GRANT SELECT ON inbox, inbox_contradictions, disputes, settlement_parts, settlements, movements_waiting, movements_set_aside, charges_to_show TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT, UPDATE ON inbox, disputes TO ratchet_api, ratchet_worker;
GRANT INSERT ON inbox_contradictions, settlement_parts, settlements, movements_waiting, movements_set_aside, charges_to_show TO ratchet_api, ratchet_worker;
GRANT UPDATE (attempts, due_at), DELETE ON movements_waiting TO ratchet_worker;
GRANT DELETE ON charges_to_show TO ratchet_worker;
