CREATE TABLE IF NOT EXISTS requests (
    key          text PRIMARY KEY,
    request_hash text NOT NULL,
    state        text NOT NULL,
    response     text,
    created_at   timestamptz NOT NULL DEFAULT now()
);
