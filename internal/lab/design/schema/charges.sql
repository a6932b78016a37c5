-- What a design has booked. No rule here keeps an order from being booked twice: the
-- designs rely on their keys.
CREATE TABLE IF NOT EXISTS charges (
    id        bigserial PRIMARY KEY,
    order_id  bigint NOT NULL,
    amount    bigint NOT NULL,
    reference text   NOT NULL
);
