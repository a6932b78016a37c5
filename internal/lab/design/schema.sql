-- The tables of the lab's designs. Each has a schema of its own, as if it were
-- somebody's whole shop. No rule here keeps an order from being booked twice:
-- the designs rely on their keys.
CREATE SCHEMA IF NOT EXISTS lab_naive;
CREATE TABLE IF NOT EXISTS lab_naive.charges (
    id        bigserial PRIMARY KEY,
    order_id  bigint NOT NULL,
    amount    bigint NOT NULL,
    reference text   NOT NULL
);

CREATE SCHEMA IF NOT EXISTS lab_redis;
CREATE TABLE IF NOT EXISTS lab_redis.charges (LIKE lab_naive.charges INCLUDING ALL);

CREATE SCHEMA IF NOT EXISTS lab_table;
CREATE TABLE IF NOT EXISTS lab_table.charges (LIKE lab_naive.charges INCLUDING ALL);
CREATE TABLE IF NOT EXISTS lab_table.idempotency_keys (
    key           text PRIMARY KEY,
    request_body  text NOT NULL,
    response_body text,
    status        text NOT NULL,
    locked_at     timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz NOT NULL DEFAULT now() + interval '24 hours'
);

CREATE SCHEMA IF NOT EXISTS lab_manager;
CREATE TABLE IF NOT EXISTS lab_manager.charges (LIKE lab_naive.charges INCLUDING ALL);
CREATE TABLE IF NOT EXISTS lab_manager.requests (
    key          text PRIMARY KEY,
    request_hash text NOT NULL,
    state        text NOT NULL,
    response     text,
    created_at   timestamptz NOT NULL DEFAULT now()
);

CREATE SCHEMA IF NOT EXISTS lab_points;
CREATE TABLE IF NOT EXISTS lab_points.charges (LIKE lab_naive.charges INCLUDING ALL);
CREATE TABLE IF NOT EXISTS lab_points.idempotency_keys (
    key            text PRIMARY KEY,
    request_body   text NOT NULL,
    recovery_point text NOT NULL,
    response_body  text
);

-- The designs that consume a queue. An order is placed by one message and paid by another.
CREATE SCHEMA IF NOT EXISTS lab_queue;
CREATE TABLE IF NOT EXISTS lab_queue.orders (
    order_id bigint PRIMARY KEY,
    amount   bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS lab_queue.charges (LIKE lab_naive.charges INCLUDING ALL);
CREATE TABLE IF NOT EXISTS lab_queue.processed_messages (
    message_id   text PRIMARY KEY,
    status       text NOT NULL,
    processed_at timestamptz NOT NULL DEFAULT now()
);
