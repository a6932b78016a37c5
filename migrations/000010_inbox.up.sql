-- 000010: what the acquirer sends without being asked. A message and the request that applies it commit together, and
-- the message's row is that request's guard: a process that finds it applied does nothing.

-- The key does not contain the account, because a message arrives before its account is known. Its effects on money are
-- guarded again by keys that do.
CREATE TABLE inbox (
    source      text COLLATE "C" NOT NULL,
    event_id    text COLLATE "C" NOT NULL,
    kind        text        NOT NULL,
    digest      bytea       NOT NULL,
    body        bytea       NOT NULL,
    state       text        NOT NULL,
    reason      text,
    attempts    integer     NOT NULL DEFAULT 1,
    due_at      timestamptz,
    account_id  text COLLATE "C",
    request_id  text COLLATE "C",
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    applied_at  timestamptz,
    CONSTRAINT inbox_one_per_event PRIMARY KEY (source, event_id),
    CONSTRAINT inbox_state_is_known CHECK (state IN ('applied', 'waiting', 'set_aside')),
    CONSTRAINT inbox_applied_have_a_request CHECK ((state = 'applied') = (request_id IS NOT NULL)
        AND (request_id IS NULL) = (account_id IS NULL) AND (request_id IS NULL) = (applied_at IS NULL)),
    CONSTRAINT inbox_waiting_have_a_due_time CHECK ((state = 'waiting') = (due_at IS NOT NULL)),
    CONSTRAINT inbox_not_applied_have_a_reason CHECK ((state = 'applied') = (reason IS NULL)),
    CONSTRAINT inbox_digest_is_sha256 CHECK (octet_length(digest) = 32)
);
CREATE INDEX unapplied_messages ON inbox (due_at) WHERE state <> 'applied';
COMMENT ON TABLE inbox IS
    'Messages from the acquirer. applied: done, once. waiting: its object does not exist here yet. '
    'set_aside: an operator has to look.';

CREATE TRIGGER inbox_turns_one_way BEFORE UPDATE ON inbox FOR EACH ROW
    WHEN (OLD.state = 'applied'
       OR (NEW.source, NEW.event_id, NEW.kind, NEW.digest, NEW.body, NEW.received_at)
          IS DISTINCT FROM (OLD.source, OLD.event_id, OLD.kind, OLD.digest, OLD.body, OLD.received_at))
    EXECUTE FUNCTION reject_change('a message that was applied is final, and what it said never changes');
CREATE TRIGGER inbox_is_kept BEFORE DELETE ON inbox FOR EACH ROW
    EXECUTE FUNCTION reject_change('a message is kept, or its repetition would be new');
CREATE TRIGGER inbox_is_not_emptied BEFORE TRUNCATE ON inbox FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('a message is kept, or its repetition would be new');
ALTER TABLE inbox
    ENABLE ALWAYS TRIGGER inbox_turns_one_way,
    ENABLE ALWAYS TRIGGER inbox_is_kept,
    ENABLE ALWAYS TRIGGER inbox_is_not_emptied;

CREATE TABLE inbox_contradictions (
    source   text COLLATE "C" NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    digest   bytea       NOT NULL,
    body     bytea       NOT NULL,
    seen_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT inbox_contradictions_one_per_digest PRIMARY KEY (source, event_id, digest),
    CONSTRAINT inbox_contradictions_message_exists FOREIGN KEY (source, event_id) REFERENCES inbox
);
COMMENT ON TABLE inbox_contradictions IS
    'Messages that came under a known ID with different content. Nothing was done about them.';

CREATE TRIGGER inbox_contradictions_are_final BEFORE UPDATE OR DELETE ON inbox_contradictions FOR EACH ROW
    EXECUTE FUNCTION reject_change('a contradiction is evidence');
CREATE TRIGGER inbox_contradictions_are_not_emptied BEFORE TRUNCATE ON inbox_contradictions FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('a contradiction is evidence');
ALTER TABLE inbox_contradictions
    ENABLE ALWAYS TRIGGER inbox_contradictions_are_final,
    ENABLE ALWAYS TRIGGER inbox_contradictions_are_not_emptied;

-- An operator has reviewed two different messages under one ID, and gives the reason why that is acceptable.
CREATE TABLE inbox_acknowledgments (
    source          text COLLATE "C" NOT NULL,
    event_id        text COLLATE "C" NOT NULL,
    digest          bytea       NOT NULL,
    acknowledged_by text        NOT NULL,
    because         text        NOT NULL,
    acknowledged_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT inbox_acknowledgments_one_per_contradiction PRIMARY KEY (source, event_id, digest),
    CONSTRAINT inbox_acknowledgments_contradiction_exists FOREIGN KEY (source, event_id, digest)
        REFERENCES inbox_contradictions,
    CONSTRAINT inbox_acknowledgments_have_a_reason CHECK (because <> '')
);
COMMENT ON TABLE inbox_acknowledgments IS
    'Contradictions that an operator has looked into. The next one under the same ID is a new one.';

CREATE TRIGGER inbox_acknowledgments_are_final BEFORE UPDATE OR DELETE ON inbox_acknowledgments FOR EACH ROW
    EXECUTE FUNCTION reject_change('an acknowledgment is evidence');
CREATE TRIGGER inbox_acknowledgments_are_not_emptied BEFORE TRUNCATE ON inbox_acknowledgments FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('an acknowledgment is evidence');
ALTER TABLE inbox_acknowledgments
    ENABLE ALWAYS TRIGGER inbox_acknowledgments_are_final,
    ENABLE ALWAYS TRIGGER inbox_acknowledgments_are_not_emptied;
