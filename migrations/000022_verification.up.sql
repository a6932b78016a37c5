-- 000022: a worker verifies the books continuously: new rows every minute, and everything every night. These indexes
-- find new rows by their time. A BRIN index has one entry for each megabyte of its table, so it costs an insert
-- nothing.
CREATE INDEX requests_by_time ON requests USING brin (created_at) WITH (autosummarize = on);
CREATE INDEX answers_by_time ON answers USING brin (finished_at) WITH (autosummarize = on);
CREATE INDEX postings_of_all_books_by_time ON ledger_postings USING brin (created_at) WITH (autosummarize = on);

CREATE TABLE verifications (
    scope         text        PRIMARY KEY,
    checked_from  timestamptz,
    checked_until timestamptz NOT NULL,
    clean_until   timestamptz,
    rules         integer     NOT NULL,
    left_out      integer     NOT NULL,
    violations    integer     NOT NULL,
    CONSTRAINT verifications_scope_is_known CHECK (scope IN ('recent', 'full')),
    CONSTRAINT verifications_only_recent_have_a_start CHECK ((checked_from IS NULL) = (scope = 'full')),
    CONSTRAINT verifications_clean_until_is_checked CHECK (clean_until <= checked_until),
    CONSTRAINT verifications_counts_are_not_negative CHECK (rules >= 0 AND left_out >= 0 AND violations >= 0)
);
COMMENT ON TABLE verifications IS
    'The worker''s last run of verify over recent data, and its last run over everything. '
    'Deleting a row only makes the worker check more.';
COMMENT ON COLUMN verifications.checked_until IS 'When the snapshot was taken that the run looked at.';
COMMENT ON COLUMN verifications.clean_until IS
    'When the snapshot of the last run without a violation was taken. Null: there was none.';
COMMENT ON COLUMN verifications.left_out IS 'Rules that the run did not check.';

GRANT SELECT ON verifications TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT, UPDATE ON verifications TO ratchet_worker;
