-- 000007: charges, refunds and disputes, as the merchant sees them. Each names its postings in the ledger.
CREATE TABLE charges (
    account_id                  text COLLATE "C" NOT NULL,
    id                          text COLLATE "C" NOT NULL,
    livemode                    boolean     NOT NULL,
    request_id                  text COLLATE "C" NOT NULL,
    amount                      bigint      NOT NULL,
    amount_captured             bigint      NOT NULL DEFAULT 0,
    amount_refunded             bigint      NOT NULL DEFAULT 0,
    amount_charged_back         bigint      NOT NULL DEFAULT 0,
    currency                    text        NOT NULL,
    status                      text        NOT NULL,
    captured                    boolean     NOT NULL DEFAULT false,
    capture_before              timestamptz,
    disputed                    boolean     NOT NULL DEFAULT false,
    customer_id                 text COLLATE "C",
    payment_intent_id           text COLLATE "C",
    card                        json        NOT NULL,
    description                 text,
    metadata                    json        NOT NULL DEFAULT '{}',
    receipt_email               text,
    shipping                    json,
    fraud_details               json        NOT NULL DEFAULT '{}',
    statement_descriptor        text,
    statement_descriptor_suffix text,
    acquirer_reference          text COLLATE "C",
    outcome                     json,
    failure_code                text,
    failure_message             text,
    balance_transaction         text COLLATE "C",
    settlement_pending          boolean     NOT NULL DEFAULT false,
    locked_by                   text COLLATE "C",
    created_at                  timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT charges_one_per_request UNIQUE (request_id, account_id),
    CONSTRAINT charges_one_per_acquirer_reference UNIQUE (acquirer_reference, account_id),
    CONSTRAINT charges_amount_is_positive CHECK (amount > 0),
    CONSTRAINT charges_captured_is_at_most_the_amount CHECK (amount_captured BETWEEN 0 AND amount),
    CONSTRAINT charges_refunded_is_at_most_the_amount CHECK (amount_refunded BETWEEN 0 AND amount),
    -- Money that cardholders withdrew cannot be refunded, and is never more than was captured.
    CONSTRAINT charges_charged_back_is_at_most_captured CHECK (amount_charged_back BETWEEN 0 AND amount_captured),
    CONSTRAINT charges_charged_back_are_disputed CHECK (disputed OR amount_charged_back = 0),
    CONSTRAINT charges_status_is_known CHECK (status IN ('pending', 'succeeded', 'failed')),
    CONSTRAINT charges_succeeded_have_an_authorization CHECK (status <> 'succeeded' OR acquirer_reference IS NOT NULL),
    CONSTRAINT charges_failed_have_a_code CHECK ((status = 'failed') = (failure_code IS NOT NULL)),
    CONSTRAINT charges_captured_are_posted CHECK (
        captured = (amount_captured > 0) AND captured = (balance_transaction IS NOT NULL)),
    CONSTRAINT charges_only_succeeded_are_captured CHECK (NOT captured OR status = 'succeeded'),
    CONSTRAINT charges_only_captured_await_settlement CHECK (NOT settlement_pending OR captured)
);
CREATE UNIQUE INDEX charges_intent_is_paid_once ON charges (payment_intent_id, account_id)
    WHERE payment_intent_id IS NOT NULL AND status <> 'failed';
CREATE INDEX charges_of_an_intent ON charges (payment_intent_id, account_id, id) WHERE payment_intent_id IS NOT NULL;
CREATE INDEX charges_of_a_customer ON charges (customer_id, account_id, id) WHERE customer_id IS NOT NULL;
CREATE INDEX lapsing_charges ON charges (capture_before)
    WHERE capture_before IS NOT NULL AND NOT captured AND amount_refunded = 0;
COMMENT ON TABLE charges IS
    'Amounts are minor units. amount_refunded counts refunds from the moment they are requested.';
COMMENT ON COLUMN charges.amount_charged_back IS 'Withdrawn by disputes that are not won.';
COMMENT ON COLUMN charges.settlement_pending IS
    'The charge is posted, but hides its posting until the acquirer has reported that it paid.';
COMMENT ON COLUMN charges.locked_by IS
    'The request that is capturing or voiding this authorization right now. Another one has to wait.';

-- After an old backup was restored, an operator adopts a charge that only the acquirer has. If the client then retries
-- the lost request, the retry records a pending charge, and the acquirer replays the authorization of the adopted one.
-- The client is answered with the adopted charge, and the pending one is deleted. No role may delete a charge: this
-- function does, and only such a charge.
CREATE FUNCTION drop_superseded_charge(of_account text, superseded text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    DELETE FROM charges c
    WHERE c.account_id = of_account AND c.id = superseded AND c.status = 'pending' AND EXISTS (
        SELECT FROM (SELECT call_keys FROM runs r WHERE r.account_id = c.account_id AND r.request_id = c.request_id
                     UNION ALL
                     SELECT call_keys FROM answers a
                     WHERE a.account_id = c.account_id AND a.request_id = c.request_id) made
        CROSS JOIN LATERAL unnest(made.call_keys) AS call (key)
        JOIN requests q ON q.account_id = c.account_id AND q.livemode = c.livemode
                       AND q.key = 'adopt ' || call.key AND q.flow = 'charge.adopt');
    IF NOT FOUND THEN
        RAISE EXCEPTION 'charge % was not superseded by an adopted one', superseded
            USING ERRCODE = 'insufficient_privilege';
    END IF;
END $$;

CREATE TABLE refunds (
    account_id                  text COLLATE "C" NOT NULL,
    id                          text COLLATE "C" NOT NULL,
    livemode                    boolean     NOT NULL,
    request_id                  text COLLATE "C" NOT NULL,
    charge_id                   text COLLATE "C" NOT NULL,
    payment_intent_id           text COLLATE "C",
    amount                      bigint      NOT NULL,
    currency                    text        NOT NULL,
    status                      text        NOT NULL,
    reason                      text,
    kind                        text        NOT NULL,
    metadata                    json        NOT NULL DEFAULT '{}',
    acquirer_reference          text COLLATE "C",
    failure_reason              text,
    balance_transaction         text COLLATE "C",
    failure_balance_transaction text COLLATE "C",
    created_at                  timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT refunds_one_per_request UNIQUE (request_id, account_id),
    CONSTRAINT refunds_one_per_acquirer_reference UNIQUE (acquirer_reference, account_id),
    CONSTRAINT refunds_charge_exists FOREIGN KEY (account_id, charge_id) REFERENCES charges,
    CONSTRAINT refunds_amount_is_positive CHECK (amount > 0),
    CONSTRAINT refunds_status_is_known CHECK (status IN ('pending', 'succeeded', 'failed')),
    CONSTRAINT refunds_kind_is_known CHECK (kind IN ('refund', 'void', 'remainder')),
    -- A refund that has succeeded can still fail. Then both of its postings stay.
    CONSTRAINT refunds_succeeded_are_posted CHECK (
        (kind = 'refund' AND (status = 'succeeded' OR failure_balance_transaction IS NOT NULL))
        = (balance_transaction IS NOT NULL)),
    CONSTRAINT refunds_only_failed_are_returned CHECK (failure_balance_transaction IS NULL OR status = 'failed'),
    CONSTRAINT refunds_failed_have_a_reason CHECK ((status = 'failed') = (failure_reason IS NOT NULL))
);
CREATE INDEX refunds_of_a_charge ON refunds (charge_id, account_id, id);
CREATE INDEX refunds_of_an_intent ON refunds (payment_intent_id, account_id, id) WHERE payment_intent_id IS NOT NULL;
COMMENT ON COLUMN refunds.kind IS
    'refund: captured money goes back. void: an authorization is released. '
    'remainder: the part of an authorization that a partial capture released.';

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
    locked_by          text COLLATE "C",
    created_at         timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT disputes_one_per_request UNIQUE (request_id, account_id),
    CONSTRAINT disputes_one_per_acquirer_reference UNIQUE (acquirer_reference, account_id),
    CONSTRAINT disputes_charge_exists FOREIGN KEY (account_id, charge_id) REFERENCES charges,
    CONSTRAINT disputes_amount_is_positive CHECK (amount > 0),
    CONSTRAINT disputes_status_is_known CHECK (status IN ('warning_needs_response', 'warning_under_review',
        'warning_closed', 'needs_response', 'under_review', 'won', 'lost')),
    -- An inquiry, whose states begin with warning, takes no money.
    CONSTRAINT disputes_only_chargebacks_withdraw CHECK ((status LIKE 'warning%') = (withdrawal IS NULL)),
    CONSTRAINT disputes_only_won_are_reinstated CHECK ((status = 'won') = (reinstatement IS NOT NULL))
);
CREATE INDEX disputes_of_a_charge ON disputes (charge_id, account_id, id);
COMMENT ON TABLE disputes IS
    'A cardholder''s complaint. withdrawal and reinstatement name the postings that took the money and gave it back.';
