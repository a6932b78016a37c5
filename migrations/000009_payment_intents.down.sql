DROP TABLE setup_intents;
DROP TABLE payment_intents;
DROP TABLE payment_methods;
