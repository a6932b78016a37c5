ALTER TABLE setup_intents DROP COLUMN checkout_session;
ALTER TABLE payment_intents DROP COLUMN checkout_session;
DROP TABLE checkout_items, checkout_sessions, prices, products;
