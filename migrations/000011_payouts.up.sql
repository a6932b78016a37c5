-- 000011: the acquirer pays us, and we pay the merchants.
--
-- The acquirer settles in batches, each of one merchant, mode and currency, and reports a batch in parts. A part is
-- stored as it was sent. Every movement in it becomes a row of one of the three tables that follow it.
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
COMMENT ON TABLE settlement_parts IS
    'A part of a settlement batch as the acquirer sent it: how many movements, what it paid us for them '
    'and what it took. If the part has a posting, the posting''s source is this ID.';

CREATE TRIGGER settlement_parts_are_final BEFORE UPDATE OR DELETE ON settlement_parts FOR EACH ROW
    EXECUTE FUNCTION refuse('a settlement is what the acquirer said');
CREATE TRIGGER settlement_parts_are_not_emptied BEFORE TRUNCATE ON settlement_parts FOR EACH STATEMENT
    EXECUTE FUNCTION refuse('a settlement is what the acquirer said');
ALTER TABLE settlement_parts
    ENABLE ALWAYS TRIGGER settlement_parts_are_final,
    ENABLE ALWAYS TRIGGER settlement_parts_are_not_emptied;

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
    CONSTRAINT a_settled_movement_is_known CHECK (
        movement IN ('sale', 'capture', 'refund', 'refund_failed', 'chargeback', 'chargeback_reversal'))
);
CREATE INDEX settlements_of_a_charge ON settlements (charge_id, account_id);
COMMENT ON TABLE settlements IS
    'What the acquirer has paid us, or taken, for one movement of a card. '
    'The rows of one posting add up to its two legs between processor_receivable and bank_cash.';

CREATE TRIGGER settlements_are_final BEFORE UPDATE OR DELETE ON settlements FOR EACH ROW
    EXECUTE FUNCTION refuse('a settlement is what the acquirer said');
CREATE TRIGGER settlements_are_not_emptied BEFORE TRUNCATE ON settlements FOR EACH STATEMENT
    EXECUTE FUNCTION refuse('a settlement is what the acquirer said');
ALTER TABLE settlements
    ENABLE ALWAYS TRIGGER settlements_are_final,
    ENABLE ALWAYS TRIGGER settlements_are_not_emptied;

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
    CONSTRAINT a_movement_is_set_aside_once_by_a_request
        PRIMARY KEY (account_id, request_id, acquirer_reference, movement)
);
COMMENT ON TABLE movements_set_aside IS
    'Settled movements that contradict the books. Nothing was booked for them; an operator has to look.';

CREATE TRIGGER movements_set_aside_are_final BEFORE UPDATE OR DELETE ON movements_set_aside FOR EACH ROW
    EXECUTE FUNCTION refuse('a settlement is what the acquirer said');
CREATE TRIGGER movements_set_aside_are_not_emptied BEFORE TRUNCATE ON movements_set_aside FOR EACH STATEMENT
    EXECUTE FUNCTION refuse('a settlement is what the acquirer said');
ALTER TABLE movements_set_aside
    ENABLE ALWAYS TRIGGER movements_set_aside_are_final,
    ENABLE ALWAYS TRIGGER movements_set_aside_are_not_emptied;

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
COMMENT ON TABLE movements_waiting IS
    'Settled movements whose charge does not exist here yet. A worker books each when its charge does. '
    'Until then verify counts it, so its sums are complete.';

-- A movement stops waiting in one of two ways, and in both leaves a row.
CREATE FUNCTION waiting_movement_leaves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM public.settlements s
                    WHERE s.account_id = OLD.account_id AND s.acquirer_reference = OLD.acquirer_reference
                      AND s.movement = OLD.movement)
       AND NOT EXISTS (SELECT FROM public.movements_set_aside a
                        WHERE a.account_id = OLD.account_id AND a.acquirer_reference = OLD.acquirer_reference
                          AND a.movement = OLD.movement AND a.batch = OLD.batch AND a.part = OLD.part) THEN
        RAISE EXCEPTION 'the % of % is neither settled nor set aside', OLD.movement, OLD.acquirer_reference
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER movements_wait_until_they_are_settled BEFORE DELETE ON movements_waiting FOR EACH ROW
    EXECUTE FUNCTION waiting_movement_leaves();
CREATE TRIGGER waiting_movements_are_as_sent BEFORE UPDATE ON movements_waiting FOR EACH ROW
    WHEN ((NEW.account_id, NEW.acquirer_reference, NEW.movement, NEW.livemode, NEW.authorization_id, NEW.batch,
           NEW.part, NEW.amount, NEW.currency, NEW.settled_at, NEW.received_at)
          IS DISTINCT FROM
          (OLD.account_id, OLD.acquirer_reference, OLD.movement, OLD.livemode, OLD.authorization_id, OLD.batch,
           OLD.part, OLD.amount, OLD.currency, OLD.settled_at, OLD.received_at))
    EXECUTE FUNCTION refuse('a movement is what the acquirer said');
CREATE TRIGGER waiting_movements_are_not_emptied BEFORE TRUNCATE ON movements_waiting FOR EACH STATEMENT
    EXECUTE FUNCTION refuse('a movement is what the acquirer said');
ALTER TABLE movements_waiting
    ENABLE ALWAYS TRIGGER movements_wait_until_they_are_settled,
    ENABLE ALWAYS TRIGGER waiting_movements_are_as_sent,
    ENABLE ALWAYS TRIGGER waiting_movements_are_not_emptied;

CREATE TABLE charges_to_show (
    account_id text COLLATE "C" NOT NULL,
    charge_id  text COLLATE "C" NOT NULL,
    livemode   boolean     NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT a_charge_is_shown_once PRIMARY KEY (account_id, charge_id)
);
COMMENT ON TABLE charges_to_show IS
    'Charges whose settlement is booked and that still hide their balance transaction. '
    'A worker shows it, emits charge.updated and deletes the row.';

CREATE TABLE settlement_differences (
    account_id text COLLATE "C" NOT NULL,
    day        date NOT NULL,
    reference  text COLLATE "C" NOT NULL,
    wrong      text NOT NULL,
    found_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT a_difference_is_listed_once PRIMARY KEY (account_id, day, reference, wrong)
);
COMMENT ON TABLE settlement_differences IS
    'Where the acquirer''s settlement file of a day and our books disagree. '
    'The account is empty if no account here knows the reference.';

CREATE TABLE payouts (
    account_id                  text COLLATE "C" NOT NULL,
    id                          text COLLATE "C" NOT NULL,
    livemode                    boolean     NOT NULL,
    request_id                  text COLLATE "C" NOT NULL,
    amount                      bigint      NOT NULL,
    currency                    text        NOT NULL,
    status                      text        NOT NULL,
    automatic_on                date,
    method                      text        NOT NULL,
    destination                 text COLLATE "C" NOT NULL,
    description                 text,
    statement_descriptor        text,
    metadata                    json        NOT NULL DEFAULT '{}',
    bank_reference              text COLLATE "C",
    balance_transaction         text COLLATE "C" NOT NULL,
    failure_balance_transaction text COLLATE "C",
    failure_code                text,
    failure_message             text,
    original_payout             text COLLATE "C",
    reversed_by                 text COLLATE "C",
    busy_with                   text COLLATE "C",
    departs_at                  timestamptz NOT NULL,
    arrives_at                  timestamptz NOT NULL,
    created_at                  timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT a_request_makes_one_payout UNIQUE (request_id, account_id),
    -- Two workers that run the daily payouts at once create one payout.
    CONSTRAINT a_day_has_one_automatic_payout UNIQUE (automatic_on, account_id, livemode, currency),
    CONSTRAINT a_bank_order_belongs_to_one_payout UNIQUE (bank_reference, account_id),
    CONSTRAINT a_reversal_has_its_payout FOREIGN KEY (account_id, original_payout) REFERENCES payouts,
    CONSTRAINT a_payout_pays_and_a_reversal_fetches CHECK (
        amount <> 0 AND (original_payout IS NULL) = (amount > 0)),
    CONSTRAINT a_payout_status_is_known CHECK (
        status IN ('new', 'pending', 'in_transit', 'paid', 'failed', 'canceled')),
    CONSTRAINT a_payout_method_is_known CHECK (method IN ('standard', 'instant')),
    CONSTRAINT a_failed_payout_says_why CHECK ((status = 'failed') = (failure_code IS NOT NULL)),
    CONSTRAINT what_is_not_paid_comes_back CHECK (
        (status IN ('failed', 'canceled')) = (failure_balance_transaction IS NOT NULL)),
    CONSTRAINT what_is_under_way_is_known_to_the_bank CHECK (
        status IN ('new', 'failed') OR bank_reference IS NOT NULL),
    CONSTRAINT only_a_paid_payout_is_reversed CHECK (reversed_by IS NULL OR status = 'paid'),
    CONSTRAINT a_payout_departs_before_it_arrives CHECK (departs_at <= arrives_at)
);
CREATE UNIQUE INDEX a_payout_is_reversed_once ON payouts (original_payout, account_id) WHERE status <> 'failed';
CREATE INDEX payouts_under_way ON payouts (status, account_id, id) WHERE status IN ('pending', 'in_transit');
COMMENT ON TABLE payouts IS
    'Money on its way to a merchant''s bank account or, with a negative amount, money taken back from there.';
COMMENT ON COLUMN payouts.status IS
    'new: the bank has not answered yet. Stripe''s other states follow the clock: '
    'pending until departs_at, in_transit until arrives_at.';
COMMENT ON COLUMN payouts.automatic_on IS
    'The day of an automatic payout, by the account''s clock; null if the merchant requested the payout.';
COMMENT ON COLUMN payouts.busy_with IS 'The request that is canceling or reversing this payout right now.';
