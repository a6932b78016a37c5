-- An order is placed by one message and paid by another.
CREATE TABLE IF NOT EXISTS orders (
    order_id bigint PRIMARY KEY,
    amount   bigint NOT NULL
);
