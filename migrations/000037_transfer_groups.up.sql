-- 000037: a merchant's name for payments that belong together
ALTER TABLE charges ADD COLUMN transfer_group text;
COMMENT ON COLUMN charges.transfer_group IS
    'The name of a group of payments, chosen by the merchant. It can be set once.';
CREATE INDEX charges_of_a_transfer_group ON charges (account_id, transfer_group, id) WHERE transfer_group IS NOT NULL;

ALTER TABLE payment_intents ADD COLUMN transfer_group text;
COMMENT ON COLUMN payment_intents.transfer_group IS 'The group that its charges get.';
