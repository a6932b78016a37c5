-- 000006: what happened, for those who listen. An event is written in the
-- transaction of the change it tells of, so there is never one without the other.
CREATE TABLE events (
    account_id      text COLLATE "C" NOT NULL,
    id              text COLLATE "C" NOT NULL,
    livemode        boolean     NOT NULL,
    type            text        NOT NULL,
    object_id       text COLLATE "C" NOT NULL,
    data            json        NOT NULL,
    api_version     text        NOT NULL,
    request_id      text COLLATE "C" NOT NULL,
    idempotency_key text,
    created_at      timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    CONSTRAINT a_change_is_told_once UNIQUE (request_id, type, object_id, account_id)
);
ALTER TABLE events SET (toast_tuple_target = 8160); -- as in requests: a few kilobytes stay where they are
COMMENT ON TABLE events IS 'data is the object as a plain GET shows it, with the previous values of what changed.';
CREATE TRIGGER events_are_final BEFORE UPDATE ON events FOR EACH ROW
    WHEN (to_jsonb(NEW) - 'data' <> to_jsonb(OLD) - 'data' OR NEW.data::text <> impersonal(OLD.data)::text)
    EXECUTE FUNCTION refuse('an event tells what happened; only what is personal can be erased');
CREATE TRIGGER events_are_kept BEFORE DELETE ON events FOR EACH ROW
    EXECUTE FUNCTION refuse('an event tells what happened');
CREATE TRIGGER events_are_not_emptied BEFORE TRUNCATE ON events FOR EACH STATEMENT
    EXECUTE FUNCTION refuse('an event tells what happened');
ALTER TABLE events ENABLE ALWAYS TRIGGER events_are_final;
ALTER TABLE events ENABLE ALWAYS TRIGGER events_are_kept;
ALTER TABLE events ENABLE ALWAYS TRIGGER events_are_not_emptied;
