-- 000005: money taken and money given back, as the merchant sees it. What it
-- means for the books is in the ledger; a charge names its posting.
CREATE TABLE charges (
    account_id                  text COLLATE "C" NOT NULL,
    id                          text COLLATE "C" NOT NULL,
    livemode                    boolean     NOT NULL,
    request_id                  text COLLATE "C" NOT NULL,
    amount                      bigint      NOT NULL,
    amount_captured             bigint      NOT NULL DEFAULT 0,
    amount_refunded             bigint      NOT NULL DEFAULT 0,
    currency                    text        NOT NULL,
    status                      text        NOT NULL,
    captured                    boolean     NOT NULL DEFAULT false,
    capture_before              timestamptz,
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
    settling                    boolean     NOT NULL DEFAULT false,
    busy_with                   text COLLATE "C",
    created_at                  timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT a_request_makes_one_charge UNIQUE (request_id, account_id),
    CONSTRAINT an_authorization_belongs_to_one_charge UNIQUE (acquirer_reference, account_id),
    CONSTRAINT a_charge_is_of_something CHECK (amount > 0),
    CONSTRAINT no_more_is_captured_than_charged CHECK (amount_captured BETWEEN 0 AND amount),
    CONSTRAINT no_more_is_refunded_than_charged CHECK (amount_refunded BETWEEN 0 AND amount),
    CONSTRAINT a_charge_status_is_known CHECK (status IN ('pending', 'succeeded', 'failed')),
    CONSTRAINT success_has_an_authorization CHECK (status <> 'succeeded' OR acquirer_reference IS NOT NULL),
    CONSTRAINT failure_has_a_code CHECK ((status = 'failed') = (failure_code IS NOT NULL)),
    CONSTRAINT captured_money_is_posted CHECK (captured = (amount_captured > 0) AND captured = (balance_transaction IS NOT NULL)),
    CONSTRAINT only_success_is_captured CHECK (NOT captured OR status = 'succeeded'),
    CONSTRAINT only_captured_money_settles CHECK (NOT settling OR captured)
);
CREATE UNIQUE INDEX an_intent_is_paid_once ON charges (payment_intent_id, account_id) WHERE payment_intent_id IS NOT NULL AND status <> 'failed';
CREATE INDEX charges_of_an_intent ON charges (payment_intent_id, account_id, id) WHERE payment_intent_id IS NOT NULL;
CREATE INDEX charges_of_a_customer ON charges (customer_id, account_id, id) WHERE customer_id IS NOT NULL;
COMMENT ON TABLE charges IS 'amount, amount_captured and amount_refunded are minor units. amount_refunded counts refunds from the moment they are asked for.';
COMMENT ON COLUMN charges.settling IS 'The charge is posted, and does not show its posting before the acquirer has told that it has paid.';
COMMENT ON COLUMN charges.busy_with IS 'The request that is capturing or voiding this authorization right now. Another one is told to wait.';

CREATE TABLE refunds (
    account_id          text COLLATE "C" NOT NULL,
    id                  text COLLATE "C" NOT NULL,
    livemode            boolean     NOT NULL,
    request_id          text COLLATE "C" NOT NULL,
    charge_id           text COLLATE "C" NOT NULL,
    payment_intent_id   text COLLATE "C",
    amount              bigint      NOT NULL,
    currency            text        NOT NULL,
    status              text        NOT NULL,
    reason              text,
    kind                text        NOT NULL,
    metadata            json        NOT NULL DEFAULT '{}',
    acquirer_reference  text COLLATE "C",
    failure_reason      text,
    balance_transaction text COLLATE "C",
    created_at          timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT a_request_makes_one_refund UNIQUE (request_id, account_id),
    CONSTRAINT a_refund_has_its_charge FOREIGN KEY (account_id, charge_id) REFERENCES charges,
    CONSTRAINT a_refund_is_of_something CHECK (amount > 0),
    CONSTRAINT a_refund_status_is_known CHECK (status IN ('pending', 'succeeded', 'failed')),
    CONSTRAINT a_refund_kind_is_known CHECK (kind IN ('refund', 'void', 'remainder')),
    CONSTRAINT refunded_money_is_posted CHECK ((kind = 'refund' AND status = 'succeeded') = (balance_transaction IS NOT NULL)),
    CONSTRAINT a_failed_refund_says_why CHECK ((status = 'failed') = (failure_reason IS NOT NULL))
);
CREATE INDEX refunds_of_a_charge ON refunds (charge_id, account_id, id);
CREATE INDEX refunds_of_an_intent ON refunds (payment_intent_id, account_id, id) WHERE payment_intent_id IS NOT NULL;
COMMENT ON COLUMN refunds.kind IS 'refund: captured money goes back. void: an authorization is let go. remainder: what a partial capture let go.';
