-- The rows that name keys and erasures stay: the trail is append-only.
DO $$ BEGIN
    EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO PUBLIC', current_database());
END $$;
DROP TABLE inbox_acknowledgments;
DROP TRIGGER a_block_covers_what_is_committed ON audit_blocks;
DROP FUNCTION block_is_of_the_past;
REVOKE INSERT (at, id, account_id, livemode, request_id, idempotency_key, actor, address, operation, object_id, status, error_code, commitment, salt, details, answer_digest, cluster)
    ON audit_events FROM ratchet_api, ratchet_worker;
GRANT INSERT ON audit_events TO ratchet_api, ratchet_worker;
DROP TRIGGER audit_is_final ON audit_events;
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit_events FOR EACH ROW
    WHEN (NEW.details IS NOT NULL OR NEW.salt IS NOT NULL
       OR (NEW.at, NEW.id, NEW.account_id, NEW.livemode, NEW.request_id, NEW.idempotency_key, NEW.actor, NEW.address, NEW.operation, NEW.object_id, NEW.status, NEW.error_code, NEW.commitment, NEW.xid, NEW.cluster)
          IS DISTINCT FROM
          (OLD.at, OLD.id, OLD.account_id, OLD.livemode, OLD.request_id, OLD.idempotency_key, OLD.actor, OLD.address, OLD.operation, OLD.object_id, OLD.status, OLD.error_code, OLD.commitment, OLD.xid, OLD.cluster))
    EXECUTE FUNCTION refuse('the audit trail is append-only; only personal details can be erased');
ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_is_final;
ALTER TABLE audit_events DROP COLUMN answer_digest;
