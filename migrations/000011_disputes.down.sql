DROP INDEX lapsing_charges;
DROP TABLE charges_to_show, movements_set_aside, movements_waiting, settlements, settlement_parts, disputes, inbox_contradictions, inbox;
DROP FUNCTION waiting_movement_leaves();
ALTER TABLE refunds DROP CONSTRAINT the_acquirer_makes_one_refund, DROP CONSTRAINT only_a_failed_refund_comes_back,
    DROP CONSTRAINT refunded_money_is_posted, DROP COLUMN failure_balance_transaction,
    ADD CONSTRAINT refunded_money_is_posted CHECK ((kind = 'refund' AND status = 'succeeded') = (balance_transaction IS NOT NULL));
ALTER TABLE charges DROP CONSTRAINT what_is_charged_back_is_disputed, DROP CONSTRAINT no_more_is_charged_back_than_captured,
    DROP COLUMN amount_charged_back, DROP COLUMN disputed;
