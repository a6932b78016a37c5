-- 000002: the engine. A request that has begun moves from recovery point to
-- recovery point, whatever dies on the way, and the tables below refuse every
-- other movement even to a program that has lost its mind.

-- What the running code may say. A deploy that drops a point on which a live
-- request still stands is refused by the foreign key of requests.
CREATE TABLE flows (
    flow    text     NOT NULL,
    version smallint NOT NULL,
    digest  text     NOT NULL,
    PRIMARY KEY (flow, version)
);
COMMENT ON TABLE flows IS 'An operation and the version of its phases. A version whose phases changed has another digest, and is refused at start-up.';

CREATE TABLE points (
    flow    text     NOT NULL,
    version smallint NOT NULL,
    name    text     NOT NULL,
    ord     smallint NOT NULL,
    kind    text     NOT NULL,
    PRIMARY KEY (flow, version, name, ord),
    FOREIGN KEY (flow, version) REFERENCES flows,
    CONSTRAINT a_point_has_its_own_name UNIQUE (flow, version, name),
    CONSTRAINT a_point_has_its_own_place UNIQUE (flow, version, ord),
    CONSTRAINT a_point_is_reached_by_a_kind_of_phase CHECK (kind IN ('atomic', 'foreign', 'abandoned'))
);
COMMENT ON TABLE points IS 'The recovery points of a flow in their order.';

-- Unlogged on purpose: after a crash of the database everybody counts as dead,
-- which is always safe, and renewing a row costs no flush.
CREATE UNLOGGED TABLE workers (
    id          text COLLATE "C" PRIMARY KEY,
    kind        text        NOT NULL,
    host        text        NOT NULL,
    pid         integer     NOT NULL,
    started_at  timestamptz NOT NULL,
    alive_until timestamptz NOT NULL
);
COMMENT ON TABLE workers IS 'One row per process, renewed every few hundred milliseconds. Liveness belongs to processes, not to requests.';

CREATE TABLE requests (
    account_id          text COLLATE "C" NOT NULL,
    id                  text COLLATE "C" NOT NULL,
    livemode            boolean     NOT NULL,
    key                 text COLLATE "C" NOT NULL,
    incarnation         smallint    NOT NULL DEFAULT 1,
    keyless             boolean     NOT NULL,
    method              text        NOT NULL,
    path                text        NOT NULL,
    fingerprint         bytea       NOT NULL,
    fingerprint_version smallint    NOT NULL,
    params              json,
    context             json,
    flow                text        NOT NULL,
    version             smallint    NOT NULL,
    point               text        NOT NULL,
    ord                 smallint    NOT NULL,
    memo                json,
    state               text        NOT NULL,
    epoch               integer     NOT NULL DEFAULT 1,
    owner               text COLLATE "C",
    lease_until         timestamptz,
    attempts            integer     NOT NULL DEFAULT 0,
    due_at              timestamptz,
    held_reason         text,
    status              smallint,
    headers             json,
    body                bytea,
    object_id           text COLLATE "C",
    created_at          timestamptz NOT NULL,
    finished_at         timestamptz,
    expires_at          timestamptz,
    erased_at           timestamptz,
    PRIMARY KEY (account_id, id),
    CONSTRAINT a_key_has_one_request UNIQUE (key, account_id, livemode, incarnation),
    CONSTRAINT a_point_is_known FOREIGN KEY (flow, version, point, ord) REFERENCES points (flow, version, name, ord),
    CONSTRAINT a_state_is_one_of_five CHECK (state IN ('running', 'parked', 'held', 'finished', 'archived')),
    CONSTRAINT running_has_an_owner_and_a_lease CHECK ((state = 'running') = (owner IS NOT NULL) AND (state = 'running') = (lease_until IS NOT NULL)),
    CONSTRAINT parked_has_a_due_time CHECK ((state = 'parked') = (due_at IS NOT NULL)),
    CONSTRAINT held_has_a_reason CHECK ((state = 'held') = (held_reason IS NOT NULL)),
    CONSTRAINT finished_has_its_answer CHECK ((state = 'finished') = (body IS NOT NULL) AND (state = 'finished') = (headers IS NOT NULL)),
    CONSTRAINT ended_has_its_status_and_times CHECK ((state IN ('finished', 'archived')) = (status IS NOT NULL)
        AND (status IS NULL) = (finished_at IS NULL) AND (status IS NULL) = (expires_at IS NULL)),
    CONSTRAINT only_the_archived_forget_their_params CHECK (state = 'archived' OR (params IS NOT NULL AND context IS NOT NULL)),
    CONSTRAINT only_what_has_ended_is_erased CHECK (erased_at IS NULL OR status IS NOT NULL),
    CONSTRAINT an_epoch_counts_from_one CHECK (epoch >= 1),
    CONSTRAINT a_key_has_a_length CHECK (length(key) BETWEEN 1 AND 255),
    CONSTRAINT a_server_error_is_no_outcome CHECK (status < 500)
);
-- In this table and in all that hang on it, no index but the primary key starts
-- with the account: foreign-key checks keep their plan for the life of a session,
-- and on a table without statistics yet they may pick any index whose first
-- column matches and then read all of an account's rows for every request. And
-- there is no foreign key to accounts on the hot path: every request of a busy
-- merchant would lock that one row. The API key that was used has one.
COMMENT ON TABLE requests IS 'One row per mutating request: where it stands, who drives it, and in the end the bytes of its answer. The row outlives the answer.';
COMMENT ON COLUMN requests.memo IS 'The typed state that later phases need. Nothing is remembered anywhere else.';
COMMENT ON COLUMN requests.epoch IS 'Raised by every take-over. A process that still holds an older one cannot commit.';
COMMENT ON COLUMN requests.erased_at IS 'What was known of a person has been taken out of it: its answer is no longer what was answered, and is not replayed.';
COMMENT ON COLUMN requests.incarnation IS 'Raised only when a key is used again after its answer expired, where the installation allows that.';

-- An answer of a few kilobytes stays in its row: moving it out, and compressing
-- it first, would cost more than all else that a commit does.
ALTER TABLE requests SET (toast_tuple_target = 8160);

-- One index for everything unfinished. It is small, because requests finish.
CREATE INDEX unfinished_requests ON requests (account_id, id) WHERE state IN ('running', 'parked', 'held');
CREATE INDEX expiring_requests ON requests (expires_at) WHERE state = 'finished';

CREATE TABLE journal (
    account_id text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    point      text        NOT NULL,
    epoch      integer     NOT NULL,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT a_point_is_reached_once PRIMARY KEY (account_id, request_id, point),
    CONSTRAINT a_journal_line_has_its_request FOREIGN KEY (account_id, request_id) REFERENCES requests
);
COMMENT ON TABLE journal IS 'What has been committed. The primary key makes passing a recovery point twice impossible, whatever the code believes.';

CREATE TABLE calls (
    account_id  text COLLATE "C" NOT NULL,
    request_id  text COLLATE "C" NOT NULL,
    phase       text        NOT NULL,
    generation  smallint    NOT NULL DEFAULT 1,
    derived_key text COLLATE "C" NOT NULL,
    asked_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    sends       integer     NOT NULL DEFAULT 0,
    verdict     text        NOT NULL DEFAULT 'unknown',
    evidence    text,
    PRIMARY KEY (account_id, request_id, phase, generation),
    CONSTRAINT a_derived_key_is_used_once UNIQUE (derived_key, account_id),
    CONSTRAINT a_call_has_its_request FOREIGN KEY (account_id, request_id) REFERENCES requests,
    CONSTRAINT a_verdict_is_one_of_three CHECK (verdict IN ('unknown', 'executed', 'not_executed')),
    CONSTRAINT not_executed_is_proven CHECK (verdict <> 'not_executed' OR evidence IS NOT NULL)
);
CREATE UNIQUE INDEX a_second_generation_waits_for_proof ON calls (account_id, request_id, phase) WHERE verdict <> 'not_executed';
COMMENT ON TABLE calls IS 'What is asked of other systems. A row is durable before the call leaves, so "never asked" is provable.';
COMMENT ON INDEX a_second_generation_waits_for_proof IS 'No second key for a phase until the first is proven unused.';

CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% on % is refused: %', tg_op, tg_table_name, tg_argv[0] USING ERRCODE = 'insufficient_privilege';
END $$;

-- Ends the transaction unless a statement touched exactly as many rows as it
-- had to. It lets a whole phase travel to the server in one packet: the check
-- that a client would make between two round trips is made where the rows are.
-- Callers compare first and call only to fail: a call costs more than a row.
-- A posting that found no book lost a race for opening it, and may run again.
CREATE FUNCTION exactly(want bigint, got bigint, what text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF got IS DISTINCT FROM want THEN
        RAISE EXCEPTION '%: % rows, want %', what, got, want
            USING ERRCODE = CASE what WHEN 'fence' THEN 'RT001' WHEN 'posting' THEN 'serialization_failure' ELSE 'RT002' END;
    END IF;
    RETURN got;
END $$;

-- Locks a request for its owner, or ends the transaction: somebody took over.
CREATE FUNCTION fence(of_account text, of_request text, held_epoch integer, stood_on text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM requests
      WHERE account_id = of_account AND id = of_request AND epoch = held_epoch AND point = stood_on AND state = 'running'
        FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'fence: request % left epoch % at %', of_request, held_epoch, stood_on USING ERRCODE = 'RT001';
    END IF;
END $$;

-- What is known of a person is spread over parameters and answers. impersonal
-- takes it out and keeps all else, in its order: ids, amounts, states, the shape.
-- It is here, and not in the program, because it is the one change that the
-- triggers let be made to what is final: they do it themselves, and compare.
CREATE FUNCTION is_personal(key text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT word IN ('name', 'email', 'phone', 'description', 'metadata', 'shipping', 'billingdetails', 'receiptemail', 'clientip', 'preferredlocales',
                    'customeremail', 'businessname', 'individualname', 'taxids', 'evidence')
        OR word LIKE 'address%' AND word NOT LIKE '%check'
      FROM (VALUES (lower(replace(key, '_', '')))) AS plain (word)
$$;
CREATE FUNCTION impersonal(value json, personal boolean DEFAULT false) RETURNS json LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    CASE json_typeof(value)
    WHEN 'object' THEN
        RETURN (SELECT '{' || coalesce(string_agg(to_json(f.key)::text || ':' || CASE
                           WHEN lower(f.key) = 'metadata' AND json_typeof(f.value) = 'object' THEN '{}' -- its keys may name somebody, too
                           ELSE impersonal(f.value, personal OR is_personal(f.key))::text END, ',' ORDER BY f.place), '') || '}'
                  FROM json_each(value) WITH ORDINALITY AS f (key, value, place));
    WHEN 'array' THEN
        RETURN (SELECT '[' || coalesce(string_agg(impersonal(e.value, personal)::text, ',' ORDER BY e.place), '') || ']'
                  FROM json_array_elements(value) WITH ORDINALITY AS e (value, place));
    WHEN 'string' THEN
        RETURN CASE WHEN personal AND value::text <> '""' THEN '"[erased]"' ELSE value END;
    ELSE
        RETURN value;
    END CASE;
END $$;
CREATE FUNCTION impersonal(answer bytea) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT convert_to(impersonal(convert_from(answer, 'UTF8')::json)::text || E'\n', 'UTF8')
$$;

CREATE TRIGGER requests_turn_one_way BEFORE UPDATE ON requests FOR EACH ROW
    WHEN (OLD.state = 'archived'
       OR (OLD.state = 'finished' AND NEW.state <> 'archived' AND NOT (NEW.erased_at IS NOT NULL
           AND to_jsonb(NEW) - '{params,context,memo,body,erased_at}'::text[] = to_jsonb(OLD) - '{params,context,memo,body,erased_at}'::text[]
           AND NEW.params::text = impersonal(OLD.params)::text AND NEW.context::text = impersonal(OLD.context)::text
           AND NEW.memo::text IS NOT DISTINCT FROM impersonal(OLD.memo)::text AND NEW.body = impersonal(OLD.body)))
       OR NEW.epoch < OLD.epoch OR NEW.ord < OLD.ord
       OR (NEW.account_id, NEW.id, NEW.livemode, NEW.key, NEW.incarnation, NEW.flow, NEW.version, NEW.fingerprint, NEW.created_at)
          IS DISTINCT FROM (OLD.account_id, OLD.id, OLD.livemode, OLD.key, OLD.incarnation, OLD.flow, OLD.version, OLD.fingerprint, OLD.created_at)
       OR (OLD.status IS NOT NULL AND NEW.status IS DISTINCT FROM OLD.status))
    EXECUTE FUNCTION refuse('a request moves forward, a finished answer is final, an identity never changes; only what is personal can be erased');
CREATE TRIGGER requests_are_kept BEFORE DELETE ON requests FOR EACH ROW
    EXECUTE FUNCTION refuse('a key outlives its answer');
CREATE TRIGGER journal_is_final BEFORE UPDATE OR DELETE ON journal FOR EACH ROW
    EXECUTE FUNCTION refuse('the journal is append-only');
CREATE TRIGGER journal_is_not_emptied BEFORE TRUNCATE ON journal FOR EACH STATEMENT
    EXECUTE FUNCTION refuse('the journal is append-only');
ALTER TABLE requests ENABLE ALWAYS TRIGGER requests_turn_one_way;
ALTER TABLE requests ENABLE ALWAYS TRIGGER requests_are_kept;
ALTER TABLE journal ENABLE ALWAYS TRIGGER journal_is_final;
ALTER TABLE journal ENABLE ALWAYS TRIGGER journal_is_not_emptied;
