-- 000028: evidence. The audit trail vouches for answers and keys, its chain is keyed,
-- and what is missing from it is named.

-- One digest covers a request and its answer: what was asked, the fingerprint, the
-- status, headers and bytes. The chain covers the digest.
ALTER TABLE audit_events ADD COLUMN answer_digest bytea,
    ADD CONSTRAINT an_answer_digest_is_sha256 CHECK (octet_length(answer_digest) = 32);
COMMENT ON COLUMN audit_events.answer_digest IS 'SHA-256 of the request and its answer as they are stored; null where no request stands behind the row, and in rows older than this column.';

DROP TRIGGER audit_is_final ON audit_events;
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit_events FOR EACH ROW
    WHEN (NEW.details IS NOT NULL OR NEW.salt IS NOT NULL
       OR (NEW.at, NEW.id, NEW.account_id, NEW.livemode, NEW.request_id, NEW.idempotency_key, NEW.actor, NEW.address, NEW.operation, NEW.object_id, NEW.status, NEW.error_code, NEW.commitment, NEW.answer_digest, NEW.xid, NEW.cluster)
          IS DISTINCT FROM
          (OLD.at, OLD.id, OLD.account_id, OLD.livemode, OLD.request_id, OLD.idempotency_key, OLD.actor, OLD.address, OLD.operation, OLD.object_id, OLD.status, OLD.error_code, OLD.commitment, OLD.answer_digest, OLD.xid, OLD.cluster))
    EXECUTE FUNCTION refuse('the audit trail is append-only; only personal details can be erased');
ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_is_final;

-- The transaction places a row in the chain. It comes from the database, and no caller
-- chooses it.
REVOKE INSERT ON audit_events FROM ratchet_api, ratchet_worker;
GRANT INSERT (at, id, account_id, livemode, request_id, idempotency_key, actor, address, operation, object_id, status, error_code, commitment, salt, details, answer_digest, cluster)
    ON audit_events TO ratchet_api, ratchet_worker;

-- A block covers what its cluster has committed, and nothing that is still to come: a
-- block that reached into the future would keep every later row from being sealed. Not
-- in replica mode, so that a dump of data can be loaded.
CREATE FUNCTION block_is_of_the_past() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.cluster = public.this_cluster() AND NEW.to_xid > pg_snapshot_xmin(pg_current_snapshot())::text::bigint THEN
        RAISE EXCEPTION 'block % covers what is not committed', NEW.no
            USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER a_block_covers_what_is_committed BEFORE INSERT ON audit_blocks FOR EACH ROW EXECUTE FUNCTION block_is_of_the_past();
COMMENT ON COLUMN audit_blocks.format IS '1: SHA-256. 2: HMAC-SHA-256 under a key that is in no table, over the digest of the answer, too.';

-- A person has looked at two messages that differ under one id, and says why that is in order.
CREATE TABLE inbox_acknowledgments (
    source          text COLLATE "C" NOT NULL,
    event_id        text COLLATE "C" NOT NULL,
    digest          bytea       NOT NULL,
    acknowledged_by text        NOT NULL,
    because         text        NOT NULL,
    acknowledged_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT a_contradiction_is_acknowledged_once PRIMARY KEY (source, event_id, digest),
    CONSTRAINT what_is_acknowledged_is_there FOREIGN KEY (source, event_id, digest) REFERENCES inbox_contradictions,
    CONSTRAINT an_acknowledgment_has_a_reason CHECK (because <> '')
);
COMMENT ON TABLE inbox_acknowledgments IS 'Contradictions that somebody has looked into. The next one under the same id is a new one.';
CREATE TRIGGER inbox_acknowledgments_are_final BEFORE UPDATE OR DELETE ON inbox_acknowledgments FOR EACH ROW EXECUTE FUNCTION refuse('an acknowledgment is evidence');
CREATE TRIGGER inbox_acknowledgments_are_not_emptied BEFORE TRUNCATE ON inbox_acknowledgments FOR EACH STATEMENT EXECUTE FUNCTION refuse('an acknowledgment is evidence');
ALTER TABLE inbox_acknowledgments ENABLE ALWAYS TRIGGER inbox_acknowledgments_are_final;
ALTER TABLE inbox_acknowledgments ENABLE ALWAYS TRIGGER inbox_acknowledgments_are_not_emptied;
GRANT SELECT ON inbox_acknowledgments TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT ON inbox_acknowledgments TO ratchet_worker;

-- Temporary tables can stand in the way of ours, and nothing here needs them.
DO $$ BEGIN
    EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
END $$;

-- What happened before this chapter is named once: the keys there are, and the requests
-- whose details were erased.
WITH known (account_id, livemode, operation, object_id, details) AS (
    SELECT account_id, livemode, 'key.record', id,
           json_build_object('kind', kind, 'permissions', permissions, 'hash', encode(hash, 'hex'), 'demo', demo, 'ends_at', expires_at)::text
      FROM api_keys
    UNION ALL
    SELECT account_id, livemode, 'data.erase', NULL,
           json_build_object('because', 'erased before erasures named requests', 'requests', json_agg(request_id ORDER BY request_id))::text
      FROM (SELECT account_id, livemode, request_id FROM audit_events WHERE details IS NULL
            UNION SELECT a.account_id, q.livemode, a.request_id FROM answers a JOIN requests q ON q.account_id = a.account_id AND q.id = a.request_id
                   WHERE a.redacted_at IS NOT NULL) AS erased
     GROUP BY account_id, livemode
), numbered AS (
    SELECT k.*, translate(gen_random_uuid()::text, '-', '') AS name, decode(translate(gen_random_uuid()::text, '-', ''), 'hex') AS salt FROM known k
)
INSERT INTO audit_events (at, id, account_id, livemode, request_id, actor, operation, object_id, status, commitment, salt, details)
SELECT clock_timestamp(), 'aud_' || name, account_id, livemode, 'op_' || name, 'operator:migration 28', operation, object_id, 200,
       sha256(salt || convert_to(details, 'UTF8')), salt, details
  FROM numbered;
