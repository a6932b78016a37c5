-- 000014: who may do what. The owner migrates, and no other role can alter a table. The API and the worker can add to
-- the ledger, the answers and the audit trail, and can never change or delete anything there. Tables appear below in
-- the order of their chapters.
--
-- Roles belong to the whole server, so another database may have created them already.
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['ratchet_api', 'ratchet_worker', 'ratchet_auditor'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', name);
        END IF;
    END LOOP;
END $$;

-- A temporary table can hide one of ours, and no program here needs one.
DO $$ BEGIN
    EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
END $$;

-- Every role may read everything. The auditor may do nothing else.
GRANT USAGE ON SCHEMA public TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT USAGE ON SCHEMA audit_detached TO ratchet_auditor;

-- The API and the worker execute the same flows, because a worker finishes what a crashed API server began.
GRANT INSERT, UPDATE ON
    test_clocks,
    flows, workers, runs,
    customers, tokens, cards, payment_methods,
    charges, refunds, disputes,
    payment_intents, setup_intents,
    webhook_endpoints, webhook_deliveries,
    inbox,
    payouts,
    products, prices, coupons, shipping_rates, checkout_sessions
    TO ratchet_api, ratchet_worker;
GRANT INSERT ON
    recovery_points, requests, answers, foreign_calls, takeovers,
    ledger_books, ledger_postings, ledger_refund_chain,
    setup_attempts,
    events,
    inbox_contradictions,
    settlement_parts, settlements, movements_waiting, movements_set_aside, charges_to_show,
    checkout_items
    TO ratchet_api, ratchet_worker;
GRANT DELETE ON workers, runs TO ratchet_api, ratchet_worker;
GRANT UPDATE (status, payment_method_details, setup_error) ON setup_attempts TO ratchet_api, ratchet_worker;
-- Without xid: the transaction places a row in the chain. It comes from the database, and no caller chooses it.
GRANT INSERT (at, id, account_id, livemode, request_id, idempotency_key, actor, address, operation, object_id, status,
              error_code, commitment, salt, details, answer_digest, cluster)
    ON audit_events TO ratchet_api, ratchet_worker;

-- The API records when a key was used, and can change nothing else of it.
GRANT UPDATE (last_used_at) ON api_keys TO ratchet_api;

-- What only the worker does: archive, deliver webhooks, book what waited, reconcile and seal.
GRANT UPDATE (headers, body, archived_at) ON answers TO ratchet_worker;
GRANT INSERT ON archived_answers TO ratchet_worker;
GRANT INSERT, UPDATE ON webhook_attempts TO ratchet_worker;
GRANT INSERT ON inbox_acknowledgments TO ratchet_worker;
GRANT UPDATE (attempts, due_at), DELETE ON movements_waiting TO ratchet_worker;
GRANT DELETE ON charges_to_show TO ratchet_worker;
GRANT INSERT ON settlement_differences TO ratchet_worker;
GRANT INSERT ON audit_blocks TO ratchet_worker;

-- PostgreSQL lets every role execute a new function. These run as their owner, or are for the owner only.
REVOKE EXECUTE ON FUNCTION
    drop_superseded_charge(text, text),
    ledger_close_period(bigint, timestamptz, integer),
    ledger_pay_out(bigint, text, text, bigint, text),
    ledger_try_pay_out(bigint, text, text, bigint, text),
    ledger_sweep(bigint, text, text, text),
    ensure_audit_partitions(integer),
    detach_audit_month(date)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    drop_superseded_charge(text, text),
    ledger_pay_out(bigint, text, text, bigint, text),
    ledger_try_pay_out(bigint, text, text, bigint, text)
    TO ratchet_api, ratchet_worker;
GRANT EXECUTE ON FUNCTION
    ledger_close_period(bigint, timestamptz, integer),
    ledger_sweep(bigint, text, text, text),
    ensure_audit_partitions(integer)
    TO ratchet_worker;

-- River creates its tables later, so these are default privileges. The API adds jobs. The worker runs and deletes them.
GRANT USAGE ON SCHEMA river TO ratchet_api, ratchet_worker;
ALTER DEFAULT PRIVILEGES IN SCHEMA river GRANT INSERT ON TABLES TO ratchet_api;
ALTER DEFAULT PRIVILEGES IN SCHEMA river GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ratchet_worker;
ALTER DEFAULT PRIVILEGES IN SCHEMA river GRANT USAGE ON SEQUENCES TO ratchet_api, ratchet_worker;
