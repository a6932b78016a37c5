-- The tables of the consumer with an inbox, beside the tables of the engine and the inbox.
CREATE SCHEMA IF NOT EXISTS lab_inbox;
CREATE TABLE IF NOT EXISTS lab_inbox.orders (
    order_id bigint PRIMARY KEY,
    amount   bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS lab_inbox.charges (
    order_id  bigint PRIMARY KEY,
    amount    bigint NOT NULL,
    reference text -- the bank's, once it has charged
);
