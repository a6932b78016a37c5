CREATE TABLE IF NOT EXISTS processed_messages (
    message_id   text PRIMARY KEY,
    status       text NOT NULL,
    processed_at timestamptz NOT NULL DEFAULT now()
);
