CREATE TABLE IF NOT EXISTS idempotency_keys (
    key            text PRIMARY KEY,
    request_body   text NOT NULL,
    recovery_point text NOT NULL,
    response_body  text
);
