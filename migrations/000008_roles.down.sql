-- The roles belong to the whole cluster and may serve other databases: they stay.
REVOKE ALL ON ALL TABLES IN SCHEMA public FROM ratchet_api, ratchet_worker, ratchet_auditor;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA public FROM ratchet_api, ratchet_worker, ratchet_auditor;
REVOKE USAGE ON SCHEMA public FROM ratchet_api, ratchet_worker, ratchet_auditor;
