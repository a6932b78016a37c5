ALTER TABLE prices DROP COLUMN recurring;
ALTER TABLE payment_methods DROP COLUMN retrieved_as;
