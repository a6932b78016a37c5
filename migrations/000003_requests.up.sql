-- 000003: the engine. A request that has begun moves from recovery point to recovery point, no matter which process
-- crashes on the way. Three tables hold its history:
--
--	requests   what the client asked for; inserted once
--	runs       the progress of an unfinished request; deleted when it finishes
--	answers    the response, and the path that led to it; inserted once
--
-- The triggers below reject every other change, even from buggy code.

-- The flows and recovery points of the running code. A recovery point is kept forever, because an unfinished request
-- may be at it, and finished requests have passed it.
CREATE TABLE flows (
    flow    text     NOT NULL,
    version smallint NOT NULL,
    digest  text     NOT NULL,
    PRIMARY KEY (flow, version)
);
COMMENT ON TABLE flows IS
    'An operation and the version of its phases. If the phases of a version change, so does its digest, '
    'and the program refuses to start.';

CREATE TABLE recovery_points (
    flow     text     NOT NULL,
    version  smallint NOT NULL,
    name     text     NOT NULL,
    position smallint NOT NULL,
    kind     text     NOT NULL,
    PRIMARY KEY (flow, version, name),
    FOREIGN KEY (flow, version) REFERENCES flows,
    CONSTRAINT recovery_points_position_is_taken_once UNIQUE (flow, version, position),
    CONSTRAINT recovery_points_kind_is_known CHECK (kind IN ('atomic', 'foreign', 'abandoned'))
);
COMMENT ON TABLE recovery_points IS 'The recovery points of a flow in their order.';

-- Unlogged on purpose: after a crash of the database every process counts as dead, which is always safe, and renewing
-- a row costs no flush.
CREATE UNLOGGED TABLE workers (
    id          text COLLATE "C" PRIMARY KEY,
    kind        text        NOT NULL,
    host        text        NOT NULL,
    pid         integer     NOT NULL,
    started_at  timestamptz NOT NULL,
    alive_until timestamptz NOT NULL
);
COMMENT ON TABLE workers IS
    'One row per process, renewed every few hundred milliseconds. Liveness belongs to processes, not to requests.';

-- Processes set leases and due times ahead by the database's clock, by a known interval at most. A time that lies
-- further ahead was set before the clock was set back, and is ignored. So a clock that jumps delays work by the size
-- of the jump at most, and never by the time that the clock needs to catch up. Every query that asks whether a process
-- is alive, a lease holds or work is due calls one of these functions. The planner inlines them, so a call is free.
CREATE FUNCTION is_ahead(until timestamptz, at_most interval) RETURNS boolean LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
    SELECT until > clock_timestamp() AND until <= clock_timestamp() + at_most
$$;
CREATE FUNCTION is_due(due_at timestamptz, at_most interval) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT due_at <= statement_timestamp() OR due_at > statement_timestamp() + at_most * 1.1
$$;
COMMENT ON FUNCTION is_ahead(timestamptz, interval) IS
    'Whether a lease holds or a process is alive: its time is in the future, and no further than a process sets it.';
COMMENT ON FUNCTION is_due(timestamptz, interval) IS
    'Whether the time has come, or lies further ahead than the longest wait. '
    'The tenth allows for a statement that waited for a lock.';

-- An index rule holds for this table and all that refer to it: no index except the primary key starts with the
-- account. Foreign-key checks keep their plan for the life of a session. On a table without statistics yet they may
-- choose any index whose first column matches, and then read all rows of an account for every request.
-- There is also no foreign key to accounts on the hot path: every request of a busy merchant would lock that one row.
-- The API key that was used has such a foreign key.
--
-- toast_tuple_target keeps a response of a few kilobytes in its row: moving it out would cost more than everything else
-- that a commit does. 000016 compresses responses where they are.
CREATE TABLE requests (
    account_id          text COLLATE "C" NOT NULL,
    id                  text COLLATE "C" NOT NULL,
    livemode            boolean     NOT NULL,
    key                 text COLLATE "C" NOT NULL,
    key_generated       boolean     NOT NULL,
    method              text        NOT NULL,
    path                text        NOT NULL,
    fingerprint         bytea       NOT NULL,
    fingerprint_version smallint    NOT NULL,
    params              json        NOT NULL,
    context             json        NOT NULL,
    flow                text        NOT NULL,
    version             smallint    NOT NULL,
    created_at          timestamptz NOT NULL,
    PRIMARY KEY (account_id, id),
    -- Of two requests that race for a key, one inserts it. The other finds this row.
    CONSTRAINT requests_key_is_used_once UNIQUE (key, account_id, livemode),
    CONSTRAINT requests_key_has_a_length CHECK (length(key) BETWEEN 1 AND 255)
) WITH (toast_tuple_target = 8160);
COMMENT ON TABLE requests IS
    'What the client asked for, one row per mutating request. A row outlives its answer. '
    'It never changes, except that personal data can be redacted.';
COMMENT ON COLUMN requests.key_generated IS 'The client sent no key, and the engine generated this one.';

-- The table stays at a few pages, however many requests there have been: a run is updated in its page, and autovacuum
-- starts by the number of runs that have ended.
CREATE TABLE runs (
    account_id       text COLLATE "C" NOT NULL,
    request_id       text COLLATE "C" NOT NULL,
    flow             text          NOT NULL,
    version          smallint      NOT NULL,
    state            text          NOT NULL,
    epoch            integer       NOT NULL DEFAULT 1,
    recovery_points  text[]        NOT NULL,
    reached_at       timestamptz[] NOT NULL,
    reached_epochs   integer[]     NOT NULL,
    call_phases      text[]        NOT NULL DEFAULT '{}',
    call_keys        text[]        NOT NULL DEFAULT '{}',
    call_generations smallint[]    NOT NULL DEFAULT '{}',
    call_sent_at     timestamptz[] NOT NULL DEFAULT '{}',
    call_attempts    integer[]     NOT NULL DEFAULT '{}',
    state_data       json          NOT NULL,
    owner            text COLLATE "C",
    lease_until      timestamptz,
    attempts         integer       NOT NULL DEFAULT 0,
    due_at           timestamptz,
    reason           text,
    PRIMARY KEY (account_id, request_id),
    CONSTRAINT runs_state_is_one_of_three CHECK (state IN ('running', 'parked', 'needs_review')),
    CONSTRAINT runs_running_has_an_owner_and_a_lease CHECK (
        (state = 'running') = (owner IS NOT NULL) AND (state = 'running') = (lease_until IS NOT NULL)),
    -- Without a due time no worker would ever resume it.
    CONSTRAINT runs_parked_has_a_due_time CHECK ((state = 'parked') = (due_at IS NOT NULL)),
    CONSTRAINT runs_review_has_a_reason CHECK ((state = 'needs_review') = (reason IS NOT NULL)),
    CONSTRAINT runs_epoch_counts_from_one CHECK (epoch >= 1),
    -- Element n of each array belongs to step n of the path, and below to call n.
    CONSTRAINT runs_path_is_whole CHECK (cardinality(recovery_points) >= 1
        AND cardinality(reached_at) = cardinality(recovery_points)
        AND cardinality(reached_epochs) = cardinality(recovery_points)
        AND array_position(reached_at, NULL) IS NULL AND array_position(reached_epochs, NULL) IS NULL),
    CONSTRAINT runs_calls_are_whole CHECK (cardinality(call_keys) = cardinality(call_phases)
        AND cardinality(call_generations) = cardinality(call_phases)
        AND cardinality(call_sent_at) = cardinality(call_phases)
        AND cardinality(call_attempts) = cardinality(call_phases)
        AND array_position(call_phases, NULL) IS NULL AND array_position(call_keys, NULL) IS NULL
        AND array_position(call_generations, NULL) IS NULL
        AND array_position(call_sent_at, NULL) IS NULL AND array_position(call_attempts, NULL) IS NULL)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX runs_due ON runs (due_at) WHERE state = 'parked';
COMMENT ON TABLE runs IS
    'The progress of an unfinished request. Deleting the run finishes the request: '
    'a process that lost its lease finds nothing to delete.';
COMMENT ON COLUMN runs.epoch IS
    'Incremented by every takeover. A process that still holds an older one cannot commit.';
COMMENT ON COLUMN runs.recovery_points IS
    'The recovery points reached so far, in order. The request is at the last one.';
COMMENT ON COLUMN runs.call_keys IS
    'The keys under which other systems are called. '
    'A key is durable before the call leaves, so "never called" is provable.';
COMMENT ON COLUMN runs.call_attempts IS 'How often each call was tried without an answer.';
COMMENT ON COLUMN runs.state_data IS 'The typed state that later phases need. They find it only here.';

CREATE TABLE answers (
    account_id       text COLLATE "C" NOT NULL,
    request_id       text COLLATE "C" NOT NULL,
    status           smallint      NOT NULL,
    headers          json,
    body             bytea,
    object_id        text COLLATE "C",
    recovery_points  text[]        NOT NULL,
    reached_at       timestamptz[] NOT NULL,
    reached_epochs   integer[]     NOT NULL,
    call_phases      text[]        NOT NULL DEFAULT '{}',
    call_keys        text[]        NOT NULL DEFAULT '{}',
    call_generations smallint[]    NOT NULL DEFAULT '{}',
    call_sent_at     timestamptz[] NOT NULL DEFAULT '{}',
    call_attempts    integer[]     NOT NULL DEFAULT '{}',
    attempts         integer       NOT NULL DEFAULT 0,
    finished_at      timestamptz   NOT NULL,
    expires_at       timestamptz   NOT NULL,
    archived_at      timestamptz,
    redacted_at      timestamptz,
    PRIMARY KEY (account_id, request_id),
    -- An internal error is not an outcome: the request goes on, and a retry must not replay it.
    CONSTRAINT answers_status_is_an_outcome CHECK (status < 500),
    CONSTRAINT answers_bulk_is_here_or_archived CHECK (
        (archived_at IS NULL) = (body IS NOT NULL) AND (archived_at IS NULL) = (headers IS NOT NULL)),
    CONSTRAINT answers_path_is_whole CHECK (cardinality(recovery_points) >= 1
        AND cardinality(reached_at) = cardinality(recovery_points)
        AND cardinality(reached_epochs) = cardinality(recovery_points)
        AND array_position(reached_at, NULL) IS NULL AND array_position(reached_epochs, NULL) IS NULL),
    -- A request finishes only when the answer of every call it has made is known.
    CONSTRAINT answers_calls_are_answered CHECK (call_phases <@ recovery_points
        AND cardinality(call_keys) = cardinality(call_phases)
        AND cardinality(call_generations) = cardinality(call_phases)
        AND cardinality(call_sent_at) = cardinality(call_phases)
        AND cardinality(call_attempts) = cardinality(call_phases)
        AND array_position(call_keys, NULL) IS NULL AND array_position(call_generations, NULL) IS NULL
        AND array_position(call_sent_at, NULL) IS NULL AND array_position(call_attempts, NULL) IS NULL)
) WITH (toast_tuple_target = 8160);
-- An entry is added at the right edge of the index and leaves it when its response is archived, so the reaper never
-- reads what it has archived before.
CREATE INDEX answers_expiring ON answers (expires_at) WHERE body IS NOT NULL;
-- Finds the request that a key was made for, when the acquirer shows the key.
CREATE INDEX answers_by_call_key ON answers USING hash ((call_keys[1])) WHERE cardinality(call_keys) > 0;
COMMENT ON TABLE answers IS
    'The response, and the path that led to it. The row is kept. '
    'When the response expires, its headers and body move to the archive.';
COMMENT ON COLUMN answers.redacted_at IS
    'Personal data has been redacted: this is no longer the response that the client got, and it is not replayed.';

-- The reaper moves the bulk of a response here, 30 days after it was given. Its row in answers stays.
CREATE TABLE archived_answers (
    account_id  text COLLATE "C" NOT NULL,
    request_id  text COLLATE "C" NOT NULL,
    headers     json        NOT NULL,
    body        bytea       NOT NULL,
    archived_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (account_id, request_id)
);
COMMENT ON TABLE archived_answers IS 'The headers and bodies of answers past their expiry. They are never deleted.';

CREATE TABLE foreign_calls (
    account_id  text COLLATE "C" NOT NULL,
    request_id  text COLLATE "C" NOT NULL,
    phase       text        NOT NULL,
    generation  smallint    NOT NULL,
    derived_key text COLLATE "C" NOT NULL,
    sent_at     timestamptz NOT NULL,
    attempts    integer     NOT NULL,
    proof       text        NOT NULL,
    retired_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (account_id, request_id, phase, generation),
    CONSTRAINT foreign_calls_key_is_retired_once UNIQUE (derived_key, account_id),
    CONSTRAINT foreign_calls_request_exists FOREIGN KEY (account_id, request_id) REFERENCES requests,
    CONSTRAINT foreign_calls_proof_is_given CHECK (proof <> '')
);
COMMENT ON TABLE foreign_calls IS
    'Retired keys, with the proof that the called system did nothing under them and never will. '
    'The next key of the phase waits for this row.';

-- A request that one process executes from beginning to end leaves no row here, so the usual case costs nothing.
-- The rows show, later, that a process died and where.
CREATE TABLE takeovers (
    account_id   text COLLATE "C" NOT NULL,
    request_id   text COLLATE "C" NOT NULL,
    epoch        integer     NOT NULL,
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    was          text        NOT NULL,
    point        text        NOT NULL,
    lost_by      text COLLATE "C",
    lost_by_host text,
    lost_by_pid  integer,
    seen_until  timestamptz,
    owner        text COLLATE "C" NOT NULL,
    owner_host   text,
    owner_pid    integer,
    CONSTRAINT takeovers_one_per_epoch PRIMARY KEY (account_id, request_id, epoch),
    CONSTRAINT takeovers_request_exists FOREIGN KEY (account_id, request_id) REFERENCES requests,
    CONSTRAINT takeovers_former_state_is_known CHECK (was IN ('running', 'parked')),
    -- A parked run has no owner that could lose it.
    CONSTRAINT takeovers_only_running_have_a_former_owner CHECK ((was = 'running') = (lost_by IS NOT NULL))
);
COMMENT ON TABLE takeovers IS
    'One row per takeover: the epoch that began, and the recovery point that the request was at. '
    'If it was running, its owner had died or had not renewed its lease.';
COMMENT ON COLUMN takeovers.seen_until IS
    'When the lost owner''s liveness ran out; null if it had signed off, or its row was missing.';

-- Locks a run for its owner, or ends the transaction because another process took over.
CREATE FUNCTION assert_lease(of_account text, of_request text, held_epoch integer, stood_on text) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    PERFORM FROM runs
      WHERE account_id = of_account AND request_id = of_request AND epoch = held_epoch
        AND recovery_points[cardinality(recovery_points)] = stood_on AND state = 'running'
        FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'fence: request % left epoch % at %', of_request, held_epoch, stood_on USING ERRCODE = 'RT001';
    END IF;
END $$;

-- Two remarks about the functions that follow.
--
-- Where they compare a path with recovery_points, each of its points has to belong to the flow and to come after the
-- one before it, so none is reached twice. The lookup takes no lock: a point is never deleted.
--
-- They look rows up by their keys. A plan that was made while the tables were small would read them from end to end,
-- for the life of a session. SET enable_seqscan = off prevents that.

-- A run is created in the transaction of its request. No other transaction can have answered that request, so a run
-- and an answer never exist together, no matter which transaction waits for which.
-- Triggers on inserts check all rows of a statement at once: a function that is called for each row would cost more
-- than the row.
CREATE FUNCTION runs_are_born_with_their_request() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    wrong text;
BEGIN
    SELECT r.request_id INTO wrong FROM born r
     WHERE NOT EXISTS (SELECT FROM requests q WHERE q.account_id = r.account_id AND q.id = r.request_id
                          AND q.flow = r.flow AND q.version = r.version AND q.xmin = pg_current_xact_id()::xid)
        OR EXISTS (SELECT FROM answers a WHERE a.account_id = r.account_id AND a.request_id = r.request_id)
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'request % is not of this transaction, or has its answer', wrong
            USING ERRCODE = 'insufficient_privilege', CONSTRAINT = 'runs_are_born_with_their_request';
    END IF;
    SELECT r.request_id INTO wrong FROM born r
     WHERE NOT 1 = ALL (r.call_generations)
        OR cardinality(r.call_phases) > 1
           AND cardinality(r.call_phases) <> (SELECT count(DISTINCT phase) FROM unnest(r.call_phases) AS phase)
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'request % cannot begin with these calls', wrong
            USING ERRCODE = 'check_violation', CONSTRAINT = 'runs_next_key_waits_for_proof';
    END IF;
    SELECT r.request_id INTO wrong FROM born r
     WHERE r.recovery_points <> ARRAY(SELECT p.name FROM recovery_points p WHERE p.flow = r.flow
                                         AND p.version = r.version AND p.name = ANY (r.recovery_points)
                                       ORDER BY p.position)
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'request % cannot pass its recovery points in this order', wrong
            USING ERRCODE = 'check_violation', CONSTRAINT = 'runs_recovery_points_are_in_order';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION run_moves_forward() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF (NEW.account_id, NEW.request_id, NEW.flow, NEW.version)
          IS DISTINCT FROM (OLD.account_id, OLD.request_id, OLD.flow, OLD.version)
       OR NEW.epoch < OLD.epoch
       OR NEW.recovery_points[1:cardinality(OLD.recovery_points)] IS DISTINCT FROM OLD.recovery_points
       OR NEW.reached_at[1:cardinality(OLD.reached_at)] IS DISTINCT FROM OLD.reached_at
       OR NEW.reached_epochs[1:cardinality(OLD.reached_epochs)] IS DISTINCT FROM OLD.reached_epochs THEN
        RAISE EXCEPTION 'the run of request % moves forward, and what it has passed does not change', OLD.request_id
            USING ERRCODE = 'insufficient_privilege', CONSTRAINT = 'runs_move_forward';
    END IF;
    IF NEW.recovery_points <> OLD.recovery_points AND NEW.recovery_points <> ARRAY(
           SELECT p.name FROM recovery_points p
            WHERE p.flow = NEW.flow AND p.version = NEW.version AND p.name = ANY (NEW.recovery_points)
            ORDER BY p.position) THEN
        RAISE EXCEPTION 'request % cannot pass % in this order', NEW.request_id, NEW.recovery_points
            USING ERRCODE = 'check_violation', CONSTRAINT = 'runs_recovery_points_are_in_order';
    END IF;
    IF (NEW.call_phases, NEW.call_keys, NEW.call_generations, NEW.call_sent_at)
       IS DISTINCT FROM (OLD.call_phases, OLD.call_keys, OLD.call_generations, OLD.call_sent_at) THEN
        PERFORM FROM unnest(OLD.call_phases, OLD.call_keys, OLD.call_generations, OLD.call_sent_at)
                  AS was (phase, key, generation, sent_at)
          WHERE NOT EXISTS (SELECT FROM unnest(NEW.call_phases, NEW.call_keys, NEW.call_generations, NEW.call_sent_at)
                                     AS is_now (phase, key, generation, sent_at)
                             WHERE is_now = was)
            AND NOT EXISTS (SELECT FROM foreign_calls c
                             WHERE c.account_id = OLD.account_id AND c.request_id = OLD.request_id
                               AND c.phase = was.phase AND c.generation = was.generation AND c.derived_key = was.key);
        IF FOUND THEN
            RAISE EXCEPTION 'a call of request % can only go with the proof that it did nothing', OLD.request_id
                USING ERRCODE = 'insufficient_privilege', CONSTRAINT = 'runs_calls_are_kept_until_retired';
        END IF;
        -- Each phase has one open key at most: the one after all that are retired.
        PERFORM FROM unnest(NEW.call_phases, NEW.call_generations) AS call (phase, generation)
          GROUP BY call.phase
         HAVING count(*) > 1
             OR min(call.generation) <> 1 + (SELECT count(*) FROM foreign_calls c
                                              WHERE c.account_id = NEW.account_id AND c.request_id = NEW.request_id
                                                AND c.phase = call.phase);
        IF FOUND THEN
            RAISE EXCEPTION 'the next key of a phase of request % waits for the proof that the last one did nothing',
                OLD.request_id USING ERRCODE = 'check_violation', CONSTRAINT = 'runs_next_key_waits_for_proof';
        END IF;
    END IF;
    RETURN NEW;
END $$;

-- Only a call that a run has announced, and that has no answer yet, can be retired. The lock keeps the run from ending
-- meanwhile.
CREATE FUNCTION retired_call_was_open() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    PERFORM FROM runs r
      WHERE r.account_id = NEW.account_id AND r.request_id = NEW.request_id AND NEW.phase <> ALL (r.recovery_points)
        AND r.call_keys[array_position(r.call_phases, NEW.phase)] = NEW.derived_key
        AND r.call_generations[array_position(r.call_phases, NEW.phase)] = NEW.generation
        FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'request % has no open call of % under this key', NEW.request_id, NEW.phase
            USING ERRCODE = 'insufficient_privilege', CONSTRAINT = 'foreign_calls_were_open';
    END IF;
    RETURN NEW;
END $$;

-- An answer ends a run in the same statement, or is inserted in one statement with its request. This function is
-- STABLE, so it sees the tables as they were when the statement began: the run still existed, or the request did not
-- exist yet.
CREATE FUNCTION answers_come_with_their_end() RETURNS trigger LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE
    wrong text;
BEGIN
    SELECT a.request_id INTO wrong FROM given a
     WHERE NOT EXISTS (SELECT FROM runs r WHERE r.account_id = a.account_id AND r.request_id = a.request_id)
       AND EXISTS (SELECT FROM requests q WHERE q.account_id = a.account_id AND q.id = a.request_id)
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'the answer of request % ends no run', wrong
            USING ERRCODE = 'insufficient_privilege', CONSTRAINT = 'answers_end_their_run';
    END IF;
    RETURN NULL;
END $$;

-- This function is VOLATILE, so it sees what the statement has done.
CREATE FUNCTION answers_end_their_run() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    wrong record;
BEGIN
    SELECT a.request_id, coalesce(stands.alone, false) AS alone INTO wrong
      FROM given a
      LEFT JOIN LATERAL (
          SELECT NOT EXISTS (SELECT FROM runs r WHERE r.account_id = q.account_id AND r.request_id = q.id) AS alone,
                 a.recovery_points = ARRAY(SELECT p.name FROM recovery_points p
                                            WHERE p.flow = q.flow AND p.version = q.version
                                              AND p.name = ANY (a.recovery_points)
                                            ORDER BY p.position) AS in_order
            FROM requests q WHERE q.account_id = a.account_id AND q.id = a.request_id) AS stands ON true
     WHERE (stands.alone AND stands.in_order) IS NOT TRUE
     LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF wrong.alone THEN
        RAISE EXCEPTION 'request % cannot have passed its recovery points in this order', wrong.request_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'answers_recovery_points_are_in_order';
    END IF;
    RAISE EXCEPTION 'request % does not exist, or its run goes on', wrong.request_id
        USING ERRCODE = 'insufficient_privilege', CONSTRAINT = 'answers_end_their_run';
END $$;

-- These two check all rows of a statement when it ends: a request has its run or its answer by then, and a run that
-- was deleted has left an answer. The subqueries in brackets make the planner look each row up by its key.
CREATE FUNCTION request_has_run_or_answer() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF EXISTS (SELECT FROM asked q
                WHERE (SELECT count(*) FROM runs r WHERE r.account_id = q.account_id AND r.request_id = q.id)
                    + (SELECT count(*) FROM answers a WHERE a.account_id = q.account_id AND a.request_id = q.id)
                   <> 1) THEN
        RAISE EXCEPTION 'a request begins with its run, or with its answer'
            USING ERRCODE = 'insufficient_privilege', CONSTRAINT = 'requests_have_a_run_or_an_answer';
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION run_ends_with_an_answer() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF EXISTS (SELECT FROM ended r
                WHERE (SELECT count(*) FROM answers a
                        WHERE a.account_id = r.account_id AND a.request_id = r.request_id) = 0) THEN
        RAISE EXCEPTION 'a run ends with an answer'
            USING ERRCODE = 'insufficient_privilege', CONSTRAINT = 'runs_end_with_an_answer';
    END IF;
    RETURN NULL;
END $$;

-- A request changes in one way: personal data is redacted in it, together with its answer.
CREATE FUNCTION request_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF to_jsonb(NEW) - '{params,context}'::text[] <> to_jsonb(OLD) - '{params,context}'::text[]
       OR NEW.params::text <> redact_pii(OLD.params)::text OR NEW.context::text <> redact_pii(OLD.context)::text
       OR NOT EXISTS (SELECT FROM answers a
                       WHERE a.account_id = OLD.account_id AND a.request_id = OLD.id AND a.redacted_at IS NOT NULL) THEN
        RAISE EXCEPTION 'what was asked is final; only personal data can be redacted, once it is answered'
            USING ERRCODE = 'insufficient_privilege', CONSTRAINT = 'requests_are_final';
    END IF;
    RETURN NEW;
END $$;

-- An answer changes in two ways: its bulk moves to the archive, which already has an equal copy, and personal data is
-- redacted in it.
CREATE FUNCTION answer_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.archived_at IS NULL AND NEW.archived_at IS NOT NULL
       AND to_jsonb(NEW) - '{headers,body,archived_at}'::text[] = to_jsonb(OLD) - '{headers,body,archived_at}'::text[]
       AND EXISTS (SELECT FROM archived_answers c WHERE c.account_id = OLD.account_id AND c.request_id = OLD.request_id
                      AND c.headers::text = OLD.headers::text AND c.body = OLD.body) THEN
        RETURN NEW;
    END IF;
    IF NEW.redacted_at IS NOT NULL AND NEW.body IS NOT DISTINCT FROM redact_pii(OLD.body)
       AND to_jsonb(NEW) - '{body,redacted_at}'::text[] = to_jsonb(OLD) - '{body,redacted_at}'::text[] THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'an answer is final; it can only be archived, and personal data can be redacted'
        USING ERRCODE = 'insufficient_privilege', CONSTRAINT = 'answers_are_final';
END $$;

-- A trigger records takeovers, so no statement that takes over can forget to. Its WHEN keeps every other update of a
-- run from calling it.
CREATE FUNCTION record_takeover() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO takeovers (account_id, request_id, epoch, was, point, lost_by, lost_by_host, lost_by_pid, seen_until,
                           owner, owner_host, owner_pid)
    SELECT NEW.account_id, NEW.request_id, NEW.epoch, OLD.state, OLD.recovery_points[cardinality(OLD.recovery_points)],
           OLD.owner, before.host, before.pid, before.alive_until, NEW.owner, now.host, now.pid
      FROM (VALUES (1)) AS always_one_row (n)
      LEFT JOIN workers before ON before.id = OLD.owner
      LEFT JOIN workers now ON now.id = NEW.owner;
    RETURN NULL;
END $$;

CREATE TRIGGER recovery_points_are_kept BEFORE UPDATE OR DELETE ON recovery_points FOR EACH ROW
    EXECUTE FUNCTION reject_change('requests stand on recovery points, and have passed them');
CREATE TRIGGER recovery_points_are_not_emptied BEFORE TRUNCATE ON recovery_points FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('the story of a request is kept');
ALTER TABLE recovery_points
    ENABLE ALWAYS TRIGGER recovery_points_are_kept,
    ENABLE ALWAYS TRIGGER recovery_points_are_not_emptied;

CREATE TRIGGER requests_have_a_run_or_an_answer AFTER INSERT ON requests REFERENCING NEW TABLE AS asked
    FOR EACH STATEMENT EXECUTE FUNCTION request_has_run_or_answer();
CREATE TRIGGER requests_are_final BEFORE UPDATE ON requests FOR EACH ROW EXECUTE FUNCTION request_is_final();
CREATE TRIGGER requests_are_kept BEFORE DELETE ON requests FOR EACH ROW
    EXECUTE FUNCTION reject_change('a key outlives its answer');
CREATE TRIGGER requests_are_not_emptied BEFORE TRUNCATE ON requests FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('the story of a request is kept');
ALTER TABLE requests
    ENABLE ALWAYS TRIGGER requests_have_a_run_or_an_answer,
    ENABLE ALWAYS TRIGGER requests_are_final,
    ENABLE ALWAYS TRIGGER requests_are_kept,
    ENABLE ALWAYS TRIGGER requests_are_not_emptied;

CREATE TRIGGER runs_are_born_with_their_request AFTER INSERT ON runs REFERENCING NEW TABLE AS born
    FOR EACH STATEMENT EXECUTE FUNCTION runs_are_born_with_their_request();
CREATE TRIGGER runs_move_forward BEFORE UPDATE ON runs FOR EACH ROW EXECUTE FUNCTION run_moves_forward();
CREATE TRIGGER runs_record_takeovers AFTER UPDATE OF epoch ON runs FOR EACH ROW
    WHEN (NEW.epoch > OLD.epoch) EXECUTE FUNCTION record_takeover();
CREATE TRIGGER runs_end_while_running BEFORE DELETE ON runs FOR EACH ROW WHEN (OLD.state <> 'running')
    EXECUTE FUNCTION reject_change('only a run that a process executes can end');
CREATE TRIGGER runs_end_with_an_answer AFTER DELETE ON runs REFERENCING OLD TABLE AS ended
    FOR EACH STATEMENT EXECUTE FUNCTION run_ends_with_an_answer();
CREATE TRIGGER runs_are_not_emptied BEFORE TRUNCATE ON runs FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('the story of a request is kept');
ALTER TABLE runs
    ENABLE ALWAYS TRIGGER runs_are_born_with_their_request,
    ENABLE ALWAYS TRIGGER runs_move_forward,
    ENABLE ALWAYS TRIGGER runs_record_takeovers,
    ENABLE ALWAYS TRIGGER runs_end_while_running,
    ENABLE ALWAYS TRIGGER runs_end_with_an_answer,
    ENABLE ALWAYS TRIGGER runs_are_not_emptied;

CREATE TRIGGER answers_come_with_their_end AFTER INSERT ON answers REFERENCING NEW TABLE AS given
    FOR EACH STATEMENT EXECUTE FUNCTION answers_come_with_their_end();
CREATE TRIGGER answers_end_their_run AFTER INSERT ON answers REFERENCING NEW TABLE AS given
    FOR EACH STATEMENT EXECUTE FUNCTION answers_end_their_run();
CREATE TRIGGER answers_are_final BEFORE UPDATE ON answers FOR EACH ROW EXECUTE FUNCTION answer_is_final();
CREATE TRIGGER answers_are_kept BEFORE DELETE ON answers FOR EACH ROW
    EXECUTE FUNCTION reject_change('a request is answered once');
CREATE TRIGGER answers_are_not_emptied BEFORE TRUNCATE ON answers FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('the story of a request is kept');
ALTER TABLE answers
    ENABLE ALWAYS TRIGGER answers_come_with_their_end,
    ENABLE ALWAYS TRIGGER answers_end_their_run,
    ENABLE ALWAYS TRIGGER answers_are_final,
    ENABLE ALWAYS TRIGGER answers_are_kept,
    ENABLE ALWAYS TRIGGER answers_are_not_emptied;

CREATE TRIGGER archived_answers_are_final BEFORE UPDATE ON archived_answers FOR EACH ROW
    WHEN ((NEW.account_id, NEW.request_id, NEW.headers::text, NEW.archived_at)
          IS DISTINCT FROM (OLD.account_id, OLD.request_id, OLD.headers::text, OLD.archived_at)
       OR NEW.body <> redact_pii(OLD.body))
    EXECUTE FUNCTION reject_change('the archive is append-only; only what is personal can be erased');
CREATE TRIGGER archived_answers_are_kept BEFORE DELETE ON archived_answers FOR EACH ROW
    EXECUTE FUNCTION reject_change('the archive is append-only');
CREATE TRIGGER archived_answers_are_not_emptied BEFORE TRUNCATE ON archived_answers FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('the archive is append-only');
ALTER TABLE archived_answers
    ENABLE ALWAYS TRIGGER archived_answers_are_final,
    ENABLE ALWAYS TRIGGER archived_answers_are_kept,
    ENABLE ALWAYS TRIGGER archived_answers_are_not_emptied;

CREATE TRIGGER foreign_calls_were_open BEFORE INSERT ON foreign_calls FOR EACH ROW
    EXECUTE FUNCTION retired_call_was_open();
CREATE TRIGGER foreign_calls_are_final BEFORE UPDATE OR DELETE ON foreign_calls FOR EACH ROW
    EXECUTE FUNCTION reject_change('a retired key stays retired');
CREATE TRIGGER foreign_calls_are_not_emptied BEFORE TRUNCATE ON foreign_calls FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('the story of a request is kept');
ALTER TABLE foreign_calls
    ENABLE ALWAYS TRIGGER foreign_calls_were_open,
    ENABLE ALWAYS TRIGGER foreign_calls_are_final,
    ENABLE ALWAYS TRIGGER foreign_calls_are_not_emptied;

CREATE TRIGGER takeovers_are_final BEFORE UPDATE OR DELETE ON takeovers FOR EACH ROW
    EXECUTE FUNCTION reject_change('a take-over has happened');
CREATE TRIGGER takeovers_are_not_emptied BEFORE TRUNCATE ON takeovers FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('a take-over has happened');
ALTER TABLE takeovers
    ENABLE ALWAYS TRIGGER takeovers_are_final,
    ENABLE ALWAYS TRIGGER takeovers_are_not_emptied;

-- The views are for people, the dashboard and tests. verify reads the tables instead, because views are among the
-- things that it checks.
CREATE VIEW request_status AS
    SELECT q.account_id, q.id, q.livemode, q.key, q.key_generated, q.method, q.path, q.fingerprint,
           q.fingerprint_version, q.params, q.context, q.flow, q.version,
           CASE WHEN r.request_id IS NOT NULL THEN r.state
                WHEN a.archived_at IS NOT NULL THEN 'archived'
                WHEN a.request_id IS NOT NULL THEN 'finished'
                ELSE 'damaged' END AS state,
           coalesce(r.recovery_points[cardinality(r.recovery_points)],
                    a.recovery_points[cardinality(a.recovery_points)]) AS recovery_point,
           coalesce(r.epoch, a.reached_epochs[cardinality(a.reached_epochs)]) AS epoch,
           coalesce(r.attempts, a.attempts) AS attempts, r.owner, r.lease_until, r.due_at, r.reason, r.state_data,
           a.status, a.headers, a.body, a.object_id, q.created_at, a.finished_at, a.expires_at, a.archived_at,
           a.redacted_at
      FROM requests q
      LEFT JOIN runs r ON r.account_id = q.account_id AND r.request_id = q.id
      LEFT JOIN answers a ON a.account_id = q.account_id AND a.request_id = q.id;
COMMENT ON VIEW request_status IS
    'A request with its progress or its answer. A request with neither run nor answer is damaged.';

CREATE VIEW request_checkpoints AS
    SELECT r.account_id, r.request_id, p.recovery_point, p.epoch, p.reached_at
      FROM runs r
     CROSS JOIN LATERAL unnest(r.recovery_points, r.reached_epochs, r.reached_at)
        AS p (recovery_point, epoch, reached_at)
    UNION ALL
    SELECT a.account_id, a.request_id, p.recovery_point, p.epoch, p.reached_at
      FROM answers a
     CROSS JOIN LATERAL unnest(a.recovery_points, a.reached_epochs, a.reached_at)
        AS p (recovery_point, epoch, reached_at);
COMMENT ON VIEW request_checkpoints IS 'The recovery points that requests have passed, one row each.';

CREATE VIEW request_calls AS
    SELECT r.account_id, r.request_id, c.phase, c.generation, c.derived_key, c.sent_at,
           c.attempts + CASE WHEN c.phase = ANY (r.recovery_points) THEN 1 ELSE 0 END AS attempts,
           CASE WHEN c.phase = ANY (r.recovery_points) THEN 'executed' ELSE 'unknown' END AS outcome, NULL AS proof
      FROM runs r
     CROSS JOIN LATERAL unnest(r.call_phases, r.call_generations, r.call_keys, r.call_sent_at, r.call_attempts)
        AS c (phase, generation, derived_key, sent_at, attempts)
    UNION ALL
    SELECT a.account_id, a.request_id, c.phase, c.generation, c.derived_key, c.sent_at, c.attempts + 1, 'executed', NULL
      FROM answers a
     CROSS JOIN LATERAL unnest(a.call_phases, a.call_generations, a.call_keys, a.call_sent_at, a.call_attempts)
        AS c (phase, generation, derived_key, sent_at, attempts)
    UNION ALL
    SELECT account_id, request_id, phase, generation, derived_key, sent_at, attempts, 'not_executed', proof
      FROM foreign_calls;
COMMENT ON VIEW request_calls IS 'The calls made to other systems, one row per key, and what is known of each.';
