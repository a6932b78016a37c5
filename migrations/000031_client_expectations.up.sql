-- 000031: what Stripe's clients expect of test cards and of prices.
--
-- GET /v1/payment_methods/pm_card_visa answers with a method that can be attached and charged.
-- Until it is used, it is the same one.
ALTER TABLE payment_methods ADD COLUMN retrieved_as text COLLATE "C";
COMMENT ON COLUMN payment_methods.retrieved_as IS 'The test id, such as pm_card_visa, that a request retrieved the method by.';
CREATE UNIQUE INDEX one_unused_method_per_test_id ON payment_methods (account_id, retrieved_as)
    WHERE retrieved_as IS NOT NULL AND customer_id IS NULL AND spent_by IS NULL;

-- A price may say that it is paid again and again. Nothing is: there are no subscriptions.
ALTER TABLE prices ADD COLUMN recurring json;
COMMENT ON COLUMN prices.recurring IS 'How often the price is paid, as the merchant said it; null: once.';
