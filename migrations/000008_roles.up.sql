-- 000008: who may touch what. The owner migrates; nobody else can alter a
-- table. The API and the worker can add to the ledger, the answers and the
-- audit trail and can never change or delete there.
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['ratchet_api', 'ratchet_worker', 'ratchet_auditor'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', name);
        END IF;
    END LOOP;
END $$;

GRANT USAGE ON SCHEMA public TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT USAGE ON SCHEMA audit_detached TO ratchet_auditor;

GRANT INSERT ON ledger_books, ledger_postings, ledger_refund_chain, recovery_points, requests, answers, foreign_calls, events, audit_events TO ratchet_api, ratchet_worker;
GRANT INSERT, UPDATE ON flows, workers, runs, customers, tokens, cards, charges, refunds TO ratchet_api, ratchet_worker;
GRANT DELETE ON workers, runs TO ratchet_api, ratchet_worker;

GRANT INSERT ON audit_blocks, archived_answers TO ratchet_worker;
GRANT UPDATE (headers, body, archived_at) ON answers TO ratchet_worker;
GRANT EXECUTE ON FUNCTION ensure_audit_partitions(integer) TO ratchet_worker;
REVOKE EXECUTE ON FUNCTION ledger_pay_out(bigint, text, text, bigint, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger_pay_out(bigint, text, text, bigint, text) TO ratchet_api, ratchet_worker;
REVOKE EXECUTE ON FUNCTION ensure_audit_partitions(integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION detach_audit_month(date) FROM PUBLIC;
