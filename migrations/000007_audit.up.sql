-- 000007: who did what, kept for seven years. Partitioned by month; old months
-- are detached, never rewritten. A worker seals the rows behind the commits
-- into a chain of blocks: a chain inside the money transaction would make every
-- commit wait for the one before it.

-- Transaction ids belong to a cluster. A dump that is restored into another one
-- brings rows whose ids mean nothing there, and new rows begin to count again:
-- a row is placed by both.
CREATE FUNCTION this_cluster() RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT system_identifier FROM pg_control_system() $$;

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
    commitment      bytea       NOT NULL,
    salt            bytea,
    details         text,
    xid             bigint      NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
    cluster         bigint      NOT NULL DEFAULT this_cluster(),
    PRIMARY KEY (at, id),
    CONSTRAINT details_and_salt_go_together CHECK ((salt IS NULL) = (details IS NULL)),
    CONSTRAINT a_commitment_is_sha256 CHECK (octet_length(commitment) = 32)
) PARTITION BY RANGE (at);
CREATE INDEX audit_events_by_xid ON audit_events USING brin (xid) WITH (pages_per_range = 16);
COMMENT ON TABLE audit_events IS 'One row per mutating request, in its transaction. The chain covers a salted commitment to the details, so personal data can be erased without breaking it.';
CREATE TABLE audit_events_default PARTITION OF audit_events DEFAULT;
COMMENT ON TABLE audit_events_default IS 'Catches rows of a month nobody prepared: a missing partition must never stop a payment.';

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
    CONSTRAINT a_block_has_one_successor UNIQUE (previous),
    CONSTRAINT a_transaction_is_sealed_once UNIQUE (cluster, to_xid),
    CONSTRAINT a_digest_is_sha256 CHECK (octet_length(digest) = 32 AND octet_length(previous) = 32),
    CONSTRAINT a_block_spans_transactions CHECK (to_xid > from_xid)
);
COMMENT ON TABLE audit_blocks IS 'A block covers the audit rows of the transactions from_xid to to_xid - 1 of a cluster, all of which had ended when it was sealed, and the digest of the block before it.';

CREATE TABLE audit_detachments (
    month       date        NOT NULL,
    block       bigint      NOT NULL,
    rows        bigint      NOT NULL,
    detached_by text        NOT NULL DEFAULT session_user,
    detached_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (month, block)
);
COMMENT ON TABLE audit_detachments IS 'How many of the rows that a block was sealed over went away with a month. The block stays, and proves them for whoever has the month.';

-- A partition takes over its parent's triggers for rows, but not those for
-- statements: without one of its own a month could be emptied.
CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON audit_events_default FOR EACH STATEMENT EXECUTE FUNCTION refuse('the audit trail is append-only');
ALTER TABLE audit_events_default ENABLE ALWAYS TRIGGER audit_is_not_emptied;

-- Makes the partitions of this month and the next ones. Safe to run at any time, by anybody.
CREATE FUNCTION ensure_audit_partitions(months_ahead integer) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$
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
                               WHERE at >= month::timestamp AT TIME ZONE 'UTC' AND at < (month + interval '1 month') AT TIME ZONE 'UTC');
        EXECUTE format('CREATE TABLE %I PARTITION OF audit_events FOR VALUES FROM (%L) TO (%L)', name,
            month::timestamp AT TIME ZONE 'UTC', (month + interval '1 month') AT TIME ZONE 'UTC');
        EXECUTE format('CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse(''the audit trail is append-only'')', name);
        EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER audit_is_not_emptied', name);
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;
SELECT ensure_audit_partitions(3);

-- Takes a month that is over out of the trail, once all of it is sealed, and notes
-- which blocks miss how many rows from then on. What is left is a table apart from
-- ours, to be dumped and dropped, or attached again. For the schema's owner.
CREATE SCHEMA audit_detached;
CREATE FUNCTION detach_audit_month(detached date) RETURNS bigint LANGUAGE plpgsql SET search_path = public AS $$
DECLARE
    name text := 'audit_events_' || to_char(detached, 'YYYY_MM');
    went bigint;
BEGIN
    IF detached <> date_trunc('month', detached) OR detached + interval '1 month' > now() AT TIME ZONE 'UTC' THEN
        RAISE EXCEPTION '% is not the first day of a month that is over', detached USING ERRCODE = 'invalid_parameter_value';
    END IF;
    LOCK TABLE audit_events IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('INSERT INTO audit_detachments (month, block, rows)
        SELECT $1, sealed.no, sum(gone.rows)
          FROM (SELECT cluster, xid, count(*) AS rows FROM %I GROUP BY cluster, xid) AS gone
          LEFT JOIN LATERAL (SELECT no FROM audit_blocks b WHERE b.cluster = gone.cluster AND b.to_xid > gone.xid ORDER BY b.to_xid LIMIT 1) AS sealed ON true
         GROUP BY sealed.no', name) USING detached;
    EXECUTE format('ALTER TABLE audit_events DETACH PARTITION %I', name);
    EXECUTE format('ALTER TABLE %I SET SCHEMA audit_detached', name);
    SELECT coalesce(sum(rows), 0) INTO went FROM audit_detachments WHERE month = detached;
    RETURN went;
EXCEPTION WHEN not_null_violation THEN
    RAISE EXCEPTION 'rows of % are not sealed yet', name USING ERRCODE = 'object_not_in_prerequisite_state';
END $$;

-- Only details and salt may be erased, and only together; nothing else ever changes.
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit_events FOR EACH ROW
    WHEN (NEW.details IS NOT NULL OR NEW.salt IS NOT NULL
       OR (NEW.at, NEW.id, NEW.account_id, NEW.livemode, NEW.request_id, NEW.idempotency_key, NEW.actor, NEW.address, NEW.operation, NEW.object_id, NEW.status, NEW.error_code, NEW.commitment, NEW.xid, NEW.cluster)
          IS DISTINCT FROM
          (OLD.at, OLD.id, OLD.account_id, OLD.livemode, OLD.request_id, OLD.idempotency_key, OLD.actor, OLD.address, OLD.operation, OLD.object_id, OLD.status, OLD.error_code, OLD.commitment, OLD.xid, OLD.cluster))
    EXECUTE FUNCTION refuse('the audit trail is append-only; only personal details can be erased');
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit_events FOR EACH ROW EXECUTE FUNCTION refuse('the audit trail is append-only');
CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON audit_events FOR EACH STATEMENT EXECUTE FUNCTION refuse('the audit trail is append-only');
CREATE TRIGGER audit_blocks_are_final BEFORE UPDATE OR DELETE ON audit_blocks FOR EACH ROW EXECUTE FUNCTION refuse('a sealed block is final');
CREATE TRIGGER audit_blocks_are_not_emptied BEFORE TRUNCATE ON audit_blocks FOR EACH STATEMENT EXECUTE FUNCTION refuse('a sealed block is final');
CREATE TRIGGER audit_detachments_are_final BEFORE UPDATE OR DELETE ON audit_detachments FOR EACH ROW EXECUTE FUNCTION refuse('what was detached stays noted');
CREATE TRIGGER audit_detachments_are_not_emptied BEFORE TRUNCATE ON audit_detachments FOR EACH STATEMENT EXECUTE FUNCTION refuse('what was detached stays noted');
ALTER TABLE audit_detachments ENABLE ALWAYS TRIGGER audit_detachments_are_final;
ALTER TABLE audit_detachments ENABLE ALWAYS TRIGGER audit_detachments_are_not_emptied;
ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_is_final;
ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_is_kept;
ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_is_not_emptied;
ALTER TABLE audit_blocks ENABLE ALWAYS TRIGGER audit_blocks_are_final;
ALTER TABLE audit_blocks ENABLE ALWAYS TRIGGER audit_blocks_are_not_emptied;

-- 30 days after it was given, the bulk of an answer moves here and its row stays behind.
CREATE TABLE archived_answers (
    account_id  text COLLATE "C" NOT NULL,
    request_id  text COLLATE "C" NOT NULL,
    headers     json        NOT NULL,
    body        bytea       NOT NULL,
    archived_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (account_id, request_id)
);
COMMENT ON TABLE archived_answers IS 'The headers and bodies of answers past their expiry. Nothing is deleted.';
CREATE TRIGGER archive_is_final BEFORE UPDATE ON archived_answers FOR EACH ROW
    WHEN ((NEW.account_id, NEW.request_id, NEW.headers::text, NEW.archived_at) IS DISTINCT FROM (OLD.account_id, OLD.request_id, OLD.headers::text, OLD.archived_at)
       OR NEW.body <> impersonal(OLD.body))
    EXECUTE FUNCTION refuse('the archive is append-only; only what is personal can be erased');
CREATE TRIGGER archive_is_kept BEFORE DELETE ON archived_answers FOR EACH ROW EXECUTE FUNCTION refuse('the archive is append-only');
CREATE TRIGGER archive_is_not_emptied BEFORE TRUNCATE ON archived_answers FOR EACH STATEMENT EXECUTE FUNCTION refuse('the archive is append-only');
ALTER TABLE archived_answers ENABLE ALWAYS TRIGGER archive_is_final;
ALTER TABLE archived_answers ENABLE ALWAYS TRIGGER archive_is_kept;
ALTER TABLE archived_answers ENABLE ALWAYS TRIGGER archive_is_not_emptied;
