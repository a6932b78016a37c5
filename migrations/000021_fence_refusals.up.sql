-- 000021: refused commits. A process that stalls is taken over like one that crashed: while it is silent, the two look
-- the same. When it continues, the fence refuses its commit. After the rollback, the refused process records that here
-- in a separate transaction. These rows are for people; no code depends on them. A process that cannot reach the
-- database leaves none.
CREATE TABLE fence_refusals (
    account_id text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    epoch      integer     NOT NULL,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT fence_refusals_one_per_takeover PRIMARY KEY (account_id, request_id, epoch),
    CONSTRAINT fence_refusals_takeover_exists FOREIGN KEY (account_id, request_id, epoch) REFERENCES takeovers
);
COMMENT ON TABLE fence_refusals IS
    'One row per takeover whose former owner came back: the fence refused its commit. '
    'The epoch is the one that the takeover began.';

CREATE TRIGGER fence_refusals_are_final BEFORE UPDATE OR DELETE ON fence_refusals FOR EACH ROW
    EXECUTE FUNCTION reject_change('a refusal has happened');
CREATE TRIGGER fence_refusals_are_not_emptied BEFORE TRUNCATE ON fence_refusals FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('a refusal has happened');
ALTER TABLE fence_refusals
    ENABLE ALWAYS TRIGGER fence_refusals_are_final,
    ENABLE ALWAYS TRIGGER fence_refusals_are_not_emptied;

GRANT SELECT ON fence_refusals TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT (account_id, request_id, epoch) ON fence_refusals TO ratchet_api, ratchet_worker;
