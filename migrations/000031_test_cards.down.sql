ALTER TABLE payment_methods DROP COLUMN retrieved_as;
