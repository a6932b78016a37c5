-- 000013: who did what, kept for seven years. The trail is partitioned by month. Old months are detached, never
-- rewritten. A worker seals the rows behind the commits into a chain of blocks. A chain inside the money transaction
-- would make every commit wait for the one before it.

-- Transaction IDs belong to a cluster. After a dump is restored into another cluster, the IDs of its rows mean nothing
-- there, and the IDs of new rows start over. So a row is placed by both cluster and ID.
CREATE FUNCTION this_cluster() RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT system_identifier FROM pg_control_system()
$$;

CREATE TABLE audit_events (
    at              timestamptz NOT NULL,
    id              text COLLATE "C" NOT NULL,
    account_id      text COLLATE "C" NOT NULL,
    livemode        boolean     NOT NULL,
    request_id      text COLLATE "C" NOT NULL,
    idempotency_key text,
    actor           text        NOT NULL,
    address         text,
    operation       text        NOT NULL,
    object_id       text COLLATE "C",
    status          smallint    NOT NULL,
    error_code      text,
    answer_digest   bytea,
    commitment      bytea       NOT NULL,
    salt            bytea,
    details         text,
    xid             bigint      NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
    cluster         bigint      NOT NULL DEFAULT this_cluster(),
    PRIMARY KEY (at, id),
    -- Erasing personal data deletes both: the commitment alone reveals nothing about the details.
    CONSTRAINT audit_events_details_have_a_salt CHECK ((salt IS NULL) = (details IS NULL)),
    CONSTRAINT audit_events_commitment_is_sha256 CHECK (octet_length(commitment) = 32),
    CONSTRAINT audit_events_answer_digest_is_sha256 CHECK (octet_length(answer_digest) = 32)
) PARTITION BY RANGE (at);
-- The order in which rows are sealed. Without an ordered index, each block would read and sort all rows that wait to be
-- sealed. New rows go to the right end of the index, which is cheapest.
CREATE INDEX audit_events_in_order ON audit_events (cluster, xid);
COMMENT ON TABLE audit_events IS
    'One row per mutating request, in its transaction. The chain covers a salted commitment to the details, '
    'so personal data can be erased without breaking it.';
COMMENT ON COLUMN audit_events.answer_digest IS
    'SHA-256 of the request and its answer as they are stored: what was asked, the fingerprint, the status, headers '
    'and the bytes. The chain covers the digest. It is null if the row belongs to no request.';

CREATE TABLE audit_events_default PARTITION OF audit_events DEFAULT;
COMMENT ON TABLE audit_events_default IS
    'Takes rows of a month without a partition: a missing partition must never stop a payment.';

-- Only details and salt may be erased, and only together. Nothing else ever changes.
CREATE TRIGGER audit_events_are_final BEFORE UPDATE ON audit_events FOR EACH ROW
    WHEN (NEW.details IS NOT NULL OR NEW.salt IS NOT NULL
       OR (NEW.at, NEW.id, NEW.account_id, NEW.livemode, NEW.request_id, NEW.idempotency_key, NEW.actor, NEW.address,
           NEW.operation, NEW.object_id, NEW.status, NEW.error_code, NEW.commitment, NEW.answer_digest, NEW.xid,
           NEW.cluster)
          IS DISTINCT FROM
          (OLD.at, OLD.id, OLD.account_id, OLD.livemode, OLD.request_id, OLD.idempotency_key, OLD.actor, OLD.address,
           OLD.operation, OLD.object_id, OLD.status, OLD.error_code, OLD.commitment, OLD.answer_digest, OLD.xid,
           OLD.cluster))
    EXECUTE FUNCTION reject_change('the audit trail is append-only; only personal details can be erased');
CREATE TRIGGER audit_events_are_kept BEFORE DELETE ON audit_events FOR EACH ROW
    EXECUTE FUNCTION reject_change('the audit trail is append-only');
CREATE TRIGGER audit_events_are_not_emptied BEFORE TRUNCATE ON audit_events FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('the audit trail is append-only');
ALTER TABLE audit_events
    ENABLE ALWAYS TRIGGER audit_events_are_final,
    ENABLE ALWAYS TRIGGER audit_events_are_kept,
    ENABLE ALWAYS TRIGGER audit_events_are_not_emptied;
-- A partition inherits its parent's triggers for rows, but not those for statements. Without one of these a month could
-- be emptied.
CREATE TRIGGER audit_events_are_not_emptied BEFORE TRUNCATE ON audit_events_default FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('the audit trail is append-only');
ALTER TABLE audit_events_default ENABLE ALWAYS TRIGGER audit_events_are_not_emptied;

-- Creates the partitions of this month and the next ones. It is safe to call at any time.
CREATE FUNCTION ensure_audit_partitions(months_ahead integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    month date;
    made  integer := 0;
    name  text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('ensure_audit_partitions'));
    FOR n IN 0..months_ahead LOOP
        month := date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => n);
        name := 'audit_events_' || to_char(month, 'YYYY_MM');
        CONTINUE WHEN to_regclass(name) IS NOT NULL
                   OR EXISTS (SELECT FROM audit_events_default
                               WHERE at >= month::timestamp AT TIME ZONE 'UTC'
                                 AND at < (month + interval '1 month') AT TIME ZONE 'UTC');
        EXECUTE format('CREATE TABLE %I PARTITION OF audit_events FOR VALUES FROM (%L) TO (%L)', name,
            month::timestamp AT TIME ZONE 'UTC', (month + interval '1 month') AT TIME ZONE 'UTC');
        EXECUTE format('CREATE TRIGGER audit_events_are_not_emptied BEFORE TRUNCATE ON %I FOR EACH STATEMENT '
                       'EXECUTE FUNCTION reject_change(''the audit trail is append-only'')', name);
        EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER audit_events_are_not_emptied', name);
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;
SELECT ensure_audit_partitions(3);

CREATE TABLE audit_blocks (
    no        bigint PRIMARY KEY,
    cluster   bigint      NOT NULL DEFAULT this_cluster(),
    from_xid  bigint      NOT NULL,
    to_xid    bigint      NOT NULL,
    rows      bigint      NOT NULL,
    previous  bytea       NOT NULL,
    digest    bytea       NOT NULL,
    format    smallint    NOT NULL DEFAULT 1,
    sealed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Of two workers that seal at once, one gets the next place of the chain.
    CONSTRAINT audit_blocks_have_one_successor UNIQUE (previous),
    CONSTRAINT audit_blocks_seal_a_transaction_once UNIQUE (cluster, to_xid),
    CONSTRAINT audit_blocks_digests_are_sha256 CHECK (octet_length(digest) = 32 AND octet_length(previous) = 32),
    CONSTRAINT audit_blocks_span_transactions CHECK (to_xid > from_xid)
);
COMMENT ON TABLE audit_blocks IS
    'A block covers the audit rows of the transactions from_xid to to_xid - 1 of a cluster, '
    'all of which had ended when it was sealed, and the digest of the block before it.';
COMMENT ON COLUMN audit_blocks.format IS
    '1: SHA-256. 2: HMAC-SHA-256 under a key that no table contains; it also covers the digest of the answer.';

-- A block covers what its cluster has committed, and no later transaction. A block that reached into the future would
-- keep every later row from being sealed.
CREATE FUNCTION block_is_of_the_past() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.cluster = public.this_cluster()
       AND NEW.to_xid > pg_snapshot_xmin(pg_current_snapshot())::text::bigint THEN
        RAISE EXCEPTION 'block % covers what is not committed', NEW.no
            USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;
-- This trigger does not fire in replica mode, so that a dump of data can be loaded.
CREATE TRIGGER audit_blocks_cover_what_is_committed BEFORE INSERT ON audit_blocks FOR EACH ROW
    EXECUTE FUNCTION block_is_of_the_past();
CREATE TRIGGER audit_blocks_are_final BEFORE UPDATE OR DELETE ON audit_blocks FOR EACH ROW
    EXECUTE FUNCTION reject_change('a sealed block is final');
CREATE TRIGGER audit_blocks_are_not_emptied BEFORE TRUNCATE ON audit_blocks FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('a sealed block is final');
ALTER TABLE audit_blocks
    ENABLE ALWAYS TRIGGER audit_blocks_are_final,
    ENABLE ALWAYS TRIGGER audit_blocks_are_not_emptied;

CREATE TABLE audit_detachments (
    month       date        NOT NULL,
    block       bigint      NOT NULL,
    rows        bigint      NOT NULL,
    detached_by text        NOT NULL DEFAULT session_user,
    detached_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (month, block)
);
COMMENT ON TABLE audit_detachments IS
    'How many of the rows that a block covers were detached with a month. '
    'The block stays, and proves the rows when the month is attached again.';

CREATE TRIGGER audit_detachments_are_final BEFORE UPDATE OR DELETE ON audit_detachments FOR EACH ROW
    EXECUTE FUNCTION reject_change('what was detached stays noted');
CREATE TRIGGER audit_detachments_are_not_emptied BEFORE TRUNCATE ON audit_detachments FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('what was detached stays noted');
ALTER TABLE audit_detachments
    ENABLE ALWAYS TRIGGER audit_detachments_are_final,
    ENABLE ALWAYS TRIGGER audit_detachments_are_not_emptied;

-- Takes a month that is over out of the trail, once all of it is sealed, and records how many rows each block misses
-- from then on. The month becomes a table in a schema of detached months, to be dumped and dropped, or attached again.
-- Only the schema's owner may call it.
CREATE SCHEMA audit_detached;
CREATE FUNCTION detach_audit_month(detached date) RETURNS bigint
LANGUAGE plpgsql SET search_path = public AS $$
DECLARE
    name text := 'audit_events_' || to_char(detached, 'YYYY_MM');
    went bigint;
BEGIN
    IF detached <> date_trunc('month', detached) OR detached + interval '1 month' > now() AT TIME ZONE 'UTC' THEN
        RAISE EXCEPTION '% is not the first day of a month that is over', detached
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    LOCK TABLE audit_events IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('INSERT INTO audit_detachments (month, block, rows)
        SELECT $1, sealed.no, sum(gone.rows)
          FROM (SELECT cluster, xid, count(*) AS rows FROM %I GROUP BY cluster, xid) AS gone
          LEFT JOIN LATERAL (SELECT no FROM audit_blocks b
                              WHERE b.cluster = gone.cluster AND b.to_xid > gone.xid
                              ORDER BY b.to_xid LIMIT 1) AS sealed ON true
         GROUP BY sealed.no', name) USING detached;
    EXECUTE format('ALTER TABLE audit_events DETACH PARTITION %I', name);
    EXECUTE format('ALTER TABLE %I SET SCHEMA audit_detached', name);
    SELECT coalesce(sum(rows), 0) INTO went FROM audit_detachments WHERE month = detached;
    RETURN went;
EXCEPTION WHEN not_null_violation THEN
    RAISE EXCEPTION 'rows of % are not sealed yet', name USING ERRCODE = 'object_not_in_prerequisite_state';
END $$;
