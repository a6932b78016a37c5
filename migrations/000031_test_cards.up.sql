-- 000031: payment methods that are retrieved by a test id. GET /v1/payment_methods/pm_card_visa
-- answers with a method that can be attached and charged. Until it is used, it is the same one.
ALTER TABLE payment_methods ADD COLUMN retrieved_as text COLLATE "C";
COMMENT ON COLUMN payment_methods.retrieved_as IS 'The test id, such as pm_card_visa, that a request retrieved the method by.';
CREATE UNIQUE INDEX one_unused_method_per_test_id ON payment_methods (account_id, retrieved_as)
    WHERE retrieved_as IS NOT NULL AND customer_id IS NULL AND spent_by IS NULL;
