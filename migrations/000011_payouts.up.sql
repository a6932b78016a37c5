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
    CONSTRAINT settlement_parts_one_per_request UNIQUE (request_id, account_id),
    CONSTRAINT settlement_parts_part_is_in_its_batch CHECK (part BETWEEN 1 AND parts),
    CONSTRAINT settlement_parts_have_1_to_1000_movements CHECK (movements BETWEEN 1 AND 1000),
    CONSTRAINT settlement_parts_sums_are_not_negative CHECK (paid >= 0 AND taken >= 0)
);
CREATE INDEX parts_of_a_batch ON settlement_parts (batch, account_id, part);
COMMENT ON TABLE settlement_parts IS
    'A part of a settlement batch as the acquirer sent it: how many movements, what it paid us for them '
    'and what it took. If the part has a posting, the posting''s source is this ID.';

CREATE TRIGGER settlement_parts_are_final BEFORE UPDATE OR DELETE ON settlement_parts FOR EACH ROW
    EXECUTE FUNCTION reject_change('a settlement is what the acquirer said');
CREATE TRIGGER settlement_parts_are_not_emptied BEFORE TRUNCATE ON settlement_parts FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('a settlement is what the acquirer said');
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
    CONSTRAINT settlements_one_per_movement PRIMARY KEY (account_id, acquirer_reference, movement),
    CONSTRAINT settlements_charge_exists FOREIGN KEY (account_id, charge_id) REFERENCES charges,
    CONSTRAINT settlements_amount_is_positive CHECK (amount > 0),
    CONSTRAINT settlements_movement_is_known CHECK (
        movement IN ('sale', 'capture', 'refund', 'refund_failed', 'chargeback', 'chargeback_reversal'))
);
CREATE INDEX settlements_of_a_charge ON settlements (charge_id, account_id);
COMMENT ON TABLE settlements IS
    'What the acquirer has paid us, or taken, for one movement of a card. '
    'The rows of one posting add up to its two legs between processor_receivable and bank_cash.';

CREATE TRIGGER settlements_are_final BEFORE UPDATE OR DELETE ON settlements FOR EACH ROW
    EXECUTE FUNCTION reject_change('a settlement is what the acquirer said');
CREATE TRIGGER settlements_are_not_emptied BEFORE TRUNCATE ON settlements FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('a settlement is what the acquirer said');
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
    CONSTRAINT movements_set_aside_one_per_movement
        PRIMARY KEY (account_id, request_id, acquirer_reference, movement)
);
COMMENT ON TABLE movements_set_aside IS
    'Settled movements that contradict the books. Nothing was booked for them; an operator has to look.';

CREATE TRIGGER movements_set_aside_are_final BEFORE UPDATE OR DELETE ON movements_set_aside FOR EACH ROW
    EXECUTE FUNCTION reject_change('a settlement is what the acquirer said');
CREATE TRIGGER movements_set_aside_are_not_emptied BEFORE TRUNCATE ON movements_set_aside FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('a settlement is what the acquirer said');
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
    CONSTRAINT movements_waiting_one_per_movement PRIMARY KEY (account_id, acquirer_reference, movement),
    CONSTRAINT movements_waiting_amount_is_positive CHECK (amount > 0)
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
CREATE TRIGGER movements_waiting_until_settled BEFORE DELETE ON movements_waiting FOR EACH ROW
    EXECUTE FUNCTION waiting_movement_leaves();
CREATE TRIGGER movements_waiting_are_as_sent BEFORE UPDATE ON movements_waiting FOR EACH ROW
    WHEN ((NEW.account_id, NEW.acquirer_reference, NEW.movement, NEW.livemode, NEW.authorization_id, NEW.batch,
           NEW.part, NEW.amount, NEW.currency, NEW.settled_at, NEW.received_at)
          IS DISTINCT FROM
          (OLD.account_id, OLD.acquirer_reference, OLD.movement, OLD.livemode, OLD.authorization_id, OLD.batch,
           OLD.part, OLD.amount, OLD.currency, OLD.settled_at, OLD.received_at))
    EXECUTE FUNCTION reject_change('a movement is what the acquirer said');
CREATE TRIGGER movements_waiting_are_not_emptied BEFORE TRUNCATE ON movements_waiting FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('a movement is what the acquirer said');
ALTER TABLE movements_waiting
    ENABLE ALWAYS TRIGGER movements_waiting_until_settled,
    ENABLE ALWAYS TRIGGER movements_waiting_are_as_sent,
    ENABLE ALWAYS TRIGGER movements_waiting_are_not_emptied;

CREATE TABLE charges_to_show (
    account_id text COLLATE "C" NOT NULL,
    charge_id  text COLLATE "C" NOT NULL,
    livemode   boolean     NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT charges_to_show_one_per_charge PRIMARY KEY (account_id, charge_id)
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
    CONSTRAINT settlement_differences_one_per_day_and_reference PRIMARY KEY (account_id, day, reference, wrong)
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
    locked_by                   text COLLATE "C",
    departs_at                  timestamptz NOT NULL,
    arrives_at                  timestamptz NOT NULL,
    created_at                  timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT payouts_one_per_request UNIQUE (request_id, account_id),
    -- Two workers that run the daily payouts at once create one payout.
    CONSTRAINT payouts_one_automatic_per_day UNIQUE (automatic_on, account_id, livemode, currency),
    CONSTRAINT payouts_one_per_bank_reference UNIQUE (bank_reference, account_id),
    CONSTRAINT payouts_original_exists FOREIGN KEY (account_id, original_payout) REFERENCES payouts,
    CONSTRAINT payouts_only_reversals_are_negative CHECK (
        amount <> 0 AND (original_payout IS NULL) = (amount > 0)),
    CONSTRAINT payouts_status_is_known CHECK (
        status IN ('new', 'pending', 'in_transit', 'paid', 'failed', 'canceled')),
    CONSTRAINT payouts_method_is_known CHECK (method IN ('standard', 'instant')),
    CONSTRAINT payouts_failed_have_a_code CHECK ((status = 'failed') = (failure_code IS NOT NULL)),
    CONSTRAINT payouts_failed_or_canceled_are_returned CHECK (
        (status IN ('failed', 'canceled')) = (failure_balance_transaction IS NOT NULL)),
    CONSTRAINT payouts_sent_have_a_bank_reference CHECK (
        status IN ('new', 'failed') OR bank_reference IS NOT NULL),
    CONSTRAINT payouts_only_paid_are_reversed CHECK (reversed_by IS NULL OR status = 'paid'),
    CONSTRAINT payouts_depart_before_they_arrive CHECK (departs_at <= arrives_at)
);
CREATE UNIQUE INDEX payouts_one_reversal_per_payout ON payouts (original_payout, account_id) WHERE status <> 'failed';
CREATE INDEX payouts_under_way ON payouts (status, account_id, id) WHERE status IN ('pending', 'in_transit');
COMMENT ON TABLE payouts IS
    'Money on its way to a merchant''s bank account or, with a negative amount, money taken back from there.';
COMMENT ON COLUMN payouts.status IS
    'new: the bank has not answered yet. Stripe''s other states follow the clock: '
    'pending until departs_at, in_transit until arrives_at.';
COMMENT ON COLUMN payouts.automatic_on IS
    'The day of an automatic payout, by the account''s clock; null if the merchant requested the payout.';
COMMENT ON COLUMN payouts.locked_by IS 'The request that is canceling or reversing this payout right now.';
