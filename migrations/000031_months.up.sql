-- 000031: events, deliveries and their attempts, and the archive of responses are partitioned by month. A month that is
-- past its retention is detached as a whole, which costs nothing, where deleting its rows would rewrite the tables.
--
-- The key is the ID, because IDs begin with the time (internal/id/id.go): every primary key stays as it is, and a
-- lookup by ID reads one partition. The tables from before become the partition of the present month and of
-- all before it, so no row is copied.

-- The least ID of a prefix that is made at a time or later: eight base-62 digits of milliseconds, as in
-- internal/id/id.go:EncodeTime. plpgsql, because the loop would not be inlined anyway.
CREATE FUNCTION id_at(prefix text, at timestamptz) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    rest   bigint := floor(extract(epoch FROM at) * 1000);
    digits text := '';
BEGIN
    FOR place IN 1..8 LOOP
        digits := substr('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', (rest % 62)::integer + 1, 1)
            || digits;
        rest := rest / 62;
    END LOOP;
    RETURN prefix || '_' || digits;
END $$;

CREATE FUNCTION month_start(month date) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT month::timestamp AT TIME ZONE 'UTC'
$$;

-- An event of a request from another month may have a duplicate in another partition, where no unique constraint finds
-- it. The trigger of a partition calls this for such events only. Two that are inserted at the same moment would not
-- see each other: that takes two processes that both commit for one request, which the fence rejects.
CREATE FUNCTION event_is_told_once() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    -- No index is searched for IS NOT DISTINCT FROM. Without statistics, one of the account's would be.
    IF EXISTS (SELECT FROM public.events e WHERE e.request_id = NEW.request_id
                  AND (e.type, e.object_id, e.account_id)
                      IS NOT DISTINCT FROM (NEW.type, NEW.object_id, NEW.account_id)) THEN
        RAISE EXCEPTION 'request % has told % of % in another month', NEW.request_id, NEW.type, NEW.object_id
            USING ERRCODE = 'unique_violation', CONSTRAINT = 'events_are_told_once', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;

-- Gives a new partition what it cannot inherit. Triggers for statements are not inherited. A unique constraint
-- of the parent would have to contain the ID. A foreign key between partitions of the same month needs no check of
-- other months when one is detached.
CREATE FUNCTION guard_month(parent text, suffix text, first_id text, next_id text) RETURNS void
LANGUAGE plpgsql SET search_path = public AS $$
DECLARE
    child text := parent || '_' || suffix;
BEGIN
    CASE parent
    WHEN 'events' THEN
        IF to_regclass(child || '_one_per_change') IS NULL THEN
            EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I UNIQUE (request_id, type, object_id, account_id)',
                child, child || '_one_per_change');
        END IF;
        EXECUTE format('CREATE TRIGGER events_are_told_once BEFORE INSERT ON %I FOR EACH ROW %s
            EXECUTE FUNCTION event_is_told_once()', child,
            CASE WHEN next_id IS NULL THEN ''
            ELSE format('WHEN (NEW.request_id < %L OR NEW.request_id >= %L)', first_id, next_id) END);
        EXECUTE format('CREATE TRIGGER events_are_not_emptied BEFORE TRUNCATE ON %I FOR EACH STATEMENT
            EXECUTE FUNCTION reject_change(''an event tells what happened'')', child);
        EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER events_are_told_once,
            ENABLE ALWAYS TRIGGER events_are_not_emptied', child);
    WHEN 'webhook_deliveries' THEN
        EXECUTE format('ALTER TABLE %I ADD CONSTRAINT webhook_deliveries_event_exists
            FOREIGN KEY (account_id, event_id) REFERENCES %I', child, 'events_' || suffix);
    WHEN 'webhook_attempts' THEN
        EXECUTE format('ALTER TABLE %I ADD CONSTRAINT webhook_attempts_delivery_exists
            FOREIGN KEY (account_id, event_id, endpoint_id) REFERENCES %I', child, 'webhook_deliveries_' || suffix);
    WHEN 'archived_answers' THEN
        EXECUTE format('CREATE TRIGGER archived_answers_are_not_emptied BEFORE TRUNCATE ON %I FOR EACH STATEMENT
            EXECUTE FUNCTION reject_change(''the archive is append-only'')', child);
        EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER archived_answers_are_not_emptied', child);
    END CASE;
END $$;

-- Creates a partition and attaches it last, so rows go into the existing ones meanwhile. It has the storage settings of
-- its parent, and the vacuum settings of the default partition.
CREATE FUNCTION make_month(parent text, prefix text, month date) RETURNS void
LANGUAGE plpgsql SET search_path = public AS $$
DECLARE
    suffix   text := to_char(month, 'YYYY_MM');
    first_id text := id_at(prefix, month_start(month));
    next_id  text := id_at(prefix, month_start((month + interval '1 month')::date));
BEGIN
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE '
                   'INCLUDING COMPRESSION) %s', parent || '_' || suffix, parent,
        (SELECT 'WITH (' || array_to_string(reloptions, ', ') || ')' FROM pg_class
          WHERE oid = (parent || '_default')::regclass));
    EXECUTE format('GRANT SELECT ON %I TO ratchet_api, ratchet_worker, ratchet_auditor', parent || '_' || suffix);
    PERFORM guard_month(parent, suffix,
        id_at('req', month_start(month)), id_at('req', month_start((month + interval '1 month')::date)));
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, parent || '_' || suffix,
        first_id, next_id);
END $$;

-- Creates the partitions of this month and the next ones. It is safe to call at any time. If the default partition
-- already has rows of a month, the function does not create that month. It gives up before it delays a payment for long
-- or deadlocks, because it can be called again for months.
CREATE FUNCTION prepare_months(months_ahead integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '500ms' AS $$
DECLARE
    month    date;
    made     integer := 0;
    first_id text;
    next_id  text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('prepare_months'));
    FOR n IN 0..months_ahead LOOP
        month := date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => n);
        first_id := id_at('evt', month_start(month));
        next_id := id_at('evt', month_start((month + interval '1 month')::date));
        IF to_regclass('events_' || to_char(month, 'YYYY_MM')) IS NULL
           AND NOT EXISTS (SELECT FROM events_default WHERE id >= first_id AND id < next_id) THEN
            PERFORM make_month('events', 'evt', month);
            PERFORM make_month('webhook_deliveries', 'evt', month);
            PERFORM make_month('webhook_attempts', 'evt', month);
            made := made + 1;
        END IF;
        first_id := id_at('req', month_start(month));
        next_id := id_at('req', month_start((month + interval '1 month')::date));
        IF to_regclass('archived_answers_' || to_char(month, 'YYYY_MM')) IS NULL
           AND NOT EXISTS (SELECT FROM archived_answers_default
                            WHERE request_id >= first_id AND request_id < next_id) THEN
            PERFORM make_month('archived_answers', 'req', month);
            made := made + 1;
        END IF;
    END LOOP;
    RETURN made;
END $$;

CREATE TABLE detached_months (
    kind        text        NOT NULL,
    month       date        NOT NULL,
    first_id    text COLLATE "C" NOT NULL,
    next_id     text COLLATE "C" NOT NULL,
    rows        bigint      NOT NULL,
    detached_by text        NOT NULL DEFAULT session_user,
    detached_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (kind, month),
    CONSTRAINT detached_months_kind_is_known CHECK (kind IN ('events', 'archived_answers'))
);
COMMENT ON TABLE detached_months IS
    'Which months of events, and of archived responses, are away, and which IDs went with them. '
    'verify expects no event and no response among these.';
COMMENT ON COLUMN detached_months.first_id IS
    'Empty for the first partition, which also has everything from before it.';
CREATE TRIGGER detached_months_are_final BEFORE UPDATE OR DELETE ON detached_months FOR EACH ROW
    EXECUTE FUNCTION reject_change('what was detached stays noted');
CREATE TRIGGER detached_months_are_not_emptied BEFORE TRUNCATE ON detached_months FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('what was detached stays noted');
ALTER TABLE detached_months
    ENABLE ALWAYS TRIGGER detached_months_are_final,
    ENABLE ALWAYS TRIGGER detached_months_are_not_emptied;

-- Detaches a past month from its table, with the rows that refer to it, and records that. The month becomes tables in a
-- schema of detached months, to be dumped and dropped, or attached again. Pending deliveries keep it here.
CREATE SCHEMA months_detached;
GRANT USAGE ON SCHEMA months_detached TO ratchet_auditor;
CREATE FUNCTION take_month_away(kind text, month date) RETURNS bigint
LANGUAGE plpgsql SET search_path = public SET lock_timeout = '500ms' AS $$
DECLARE
    prefix  text := CASE kind WHEN 'events' THEN 'evt' ELSE 'req' END;
    suffix  text := to_char(month, 'YYYY_MM');
    tables  text[] := CASE kind WHEN 'events' THEN '{webhook_attempts,webhook_deliveries,events}' ELSE ARRAY[kind] END;
    bounds  text := (SELECT pg_get_expr(relpartbound, oid) FROM pg_class
                      WHERE oid = to_regclass(kind || '_' || suffix) AND relispartition);
    parent  text;
    pending boolean;
    went    bigint;
BEGIN
    IF bounds IS NULL THEN
        RAISE EXCEPTION 'there is no month % of %', month, kind USING ERRCODE = 'undefined_table';
    END IF;
    -- Before the locks: no row is added to a month that is over, and none is deleted.
    EXECUTE format('SELECT count(*) FROM %I', kind || '_' || suffix) INTO went;
    EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE',
        CASE kind WHEN 'events' THEN 'events, webhook_deliveries, webhook_attempts' ELSE quote_ident(kind) END);
    IF kind = 'events' THEN
        EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE state = ''pending'')', 'webhook_deliveries_' || suffix)
            INTO pending;
        IF pending THEN
            RAISE EXCEPTION 'events of % are still being delivered', month
                USING ERRCODE = 'object_not_in_prerequisite_state';
        END IF;
    END IF;
    FOREACH parent IN ARRAY tables LOOP
        EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', parent, parent || '_' || suffix);
        EXECUTE format('ALTER TABLE %I SET SCHEMA months_detached', parent || '_' || suffix);
    END LOOP;
    INSERT INTO detached_months (kind, month, first_id, next_id, rows)
    VALUES (kind, month, CASE WHEN bounds LIKE '%MINVALUE%' THEN '' ELSE id_at(prefix, month_start(month)) END,
            id_at(prefix, month_start((month + interval '1 month')::date)), went);
    RETURN went;
END $$;

-- Events can be listed for thirty days, and a response can be replayed for thirty days.
CREATE FUNCTION detach_month(kind text, month date) RETURNS bigint
LANGUAGE plpgsql SET search_path = public AS $$
BEGIN
    IF month <> date_trunc('month', month)
       OR month + interval '1 month' + interval '30 days' > now() AT TIME ZONE 'UTC' THEN
        RAISE EXCEPTION '% is not the first day of a month that has been over for 30 days', month
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN take_month_away(kind, month);
END $$;

-- For the worker: detaches the oldest month if there are more past months than this number, and returns it.
CREATE FUNCTION detach_oldest_month(kind text, keep integer) RETURNS date
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    oldest date;
BEGIN
    SELECT min(to_date(right(c.relname, 7), 'YYYY_MM')) INTO oldest
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = to_regclass(kind) AND kind IN ('events', 'archived_answers') AND c.relname !~ '_default$';
    IF oldest + make_interval(months => keep + 1) > now() AT TIME ZONE 'UTC' THEN
        RETURN NULL;
    END IF;
    PERFORM detach_month(kind, oldest);
    RETURN oldest;
END $$;

-- From here on tables are renamed. A view keeps reading the table that it was created for, so the views are created
-- again at the end.
CREATE TABLE views_before AS
    SELECT DISTINCT v.oid::regclass::text AS name, pg_get_viewdef(v.oid) AS definition
      FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class
     WHERE d.classid = 'pg_rewrite'::regclass AND v.relkind = 'v' AND d.refclassid = 'pg_class'::regclass
       AND d.refobjid IN ('events'::regclass, 'webhook_deliveries'::regclass, 'webhook_attempts'::regclass,
                          'archived_answers'::regclass);
DROP TRIGGER events_are_final ON events;
DROP TRIGGER events_are_kept ON events;
DROP TRIGGER events_are_not_emptied ON events;
DROP TRIGGER webhook_attempts_to_endpoints_are_the_workers ON webhook_attempts;
DROP TRIGGER archived_answers_are_final ON archived_answers;
DROP TRIGGER archived_answers_are_kept ON archived_answers;
DROP TRIGGER archived_answers_are_not_emptied ON archived_answers;
REVOKE INSERT, UPDATE ON events, webhook_deliveries, webhook_attempts, archived_answers
    FROM ratchet_api, ratchet_worker;

ALTER TABLE events RENAME TO events_before;
ALTER TABLE webhook_deliveries RENAME TO webhook_deliveries_before;
ALTER TABLE webhook_attempts RENAME TO webhook_attempts_before;
ALTER TABLE archived_answers RENAME TO archived_answers_before;
ALTER INDEX events_pkey RENAME TO events_before_pkey;
ALTER INDEX events_one_per_change RENAME TO events_before_one_per_change;
ALTER INDEX webhook_deliveries_pkey RENAME TO webhook_deliveries_before_pkey;
ALTER INDEX webhook_attempts_pkey RENAME TO webhook_attempts_before_pkey;
ALTER INDEX archived_answers_pkey RENAME TO archived_answers_before_pkey;

CREATE TABLE events (LIKE events_before INCLUDING ALL EXCLUDING INDEXES, PRIMARY KEY (account_id, id))
    PARTITION BY RANGE (id);
CREATE TABLE webhook_deliveries (LIKE webhook_deliveries_before INCLUDING ALL EXCLUDING INDEXES,
    PRIMARY KEY (account_id, event_id, endpoint_id)) PARTITION BY RANGE (event_id);
CREATE TABLE webhook_attempts (LIKE webhook_attempts_before INCLUDING ALL EXCLUDING INDEXES,
    PRIMARY KEY (account_id, event_id, endpoint_id, attempt)) PARTITION BY RANGE (event_id);
CREATE TABLE archived_answers (LIKE archived_answers_before INCLUDING ALL EXCLUDING INDEXES,
    PRIMARY KEY (account_id, request_id)) PARTITION BY RANGE (request_id);

COMMENT ON TABLE events IS
    'data is the object as a plain GET shows it, with the previous values of what changed. '
    'Partitioned by month, as are deliveries and attempts, by the time in the ID of the event.';
COMMENT ON TABLE webhook_deliveries IS
    'One event to one endpoint. There is no foreign key to the endpoint: '
    'all payments of a merchant would lock its row.';
COMMENT ON TABLE webhook_attempts IS
    'Written before the request is sent. If a row has no end, the worker died during the attempt.';
COMMENT ON TABLE archived_answers IS
    'The headers and bodies of answers past their expiry. Partitioned by month, by the time in the ID of the request. '
    'Rows are never deleted, and a month can be detached.';

CREATE TRIGGER events_are_final BEFORE UPDATE ON events FOR EACH ROW
    WHEN (to_jsonb(NEW) - 'data' <> to_jsonb(OLD) - 'data' OR NEW.data::text <> redact_pii(OLD.data)::text)
    EXECUTE FUNCTION reject_change('an event tells what happened; only what is personal can be erased');
CREATE TRIGGER events_are_kept BEFORE DELETE ON events FOR EACH ROW
    EXECUTE FUNCTION reject_change('an event tells what happened');
CREATE TRIGGER events_are_not_emptied BEFORE TRUNCATE ON events FOR EACH STATEMENT
    EXECUTE FUNCTION reject_change('an event tells what happened');
ALTER TABLE events
    ENABLE ALWAYS TRIGGER events_are_final,
    ENABLE ALWAYS TRIGGER events_are_kept,
    ENABLE ALWAYS TRIGGER events_are_not_emptied;
CREATE TRIGGER webhook_attempts_to_endpoints_are_the_workers BEFORE INSERT OR UPDATE ON webhook_attempts FOR EACH ROW
    WHEN (NEW.endpoint_id NOT LIKE 'wh\_%' AND current_user = 'ratchet_api')
    EXECUTE FUNCTION reject_change('the API delivers to listeners of the Stripe CLI, and a worker to endpoints');
ALTER TABLE webhook_attempts ENABLE ALWAYS TRIGGER webhook_attempts_to_endpoints_are_the_workers;
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

GRANT SELECT ON events, webhook_deliveries, webhook_attempts, archived_answers, detached_months
    TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT ON events TO ratchet_api, ratchet_worker;
GRANT INSERT, UPDATE ON webhook_deliveries, webhook_attempts TO ratchet_api, ratchet_worker;
GRANT INSERT ON archived_answers TO ratchet_worker;
REVOKE EXECUTE ON FUNCTION
    guard_month(text, text, text, text), make_month(text, text, date), prepare_months(integer),
    take_month_away(text, date), detach_month(text, date), detach_oldest_month(text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION prepare_months(integer), detach_oldest_month(text, integer) TO ratchet_worker;

-- The first partition ends with this month. A clock that was ahead has made the IDs after it. Their
-- rows move to the partition for rows without a month.
DO $$
DECLARE
    parent  record;
    month   date := date_trunc('month', now() AT TIME ZONE 'UTC');
    suffix  text := to_char(month, 'YYYY_MM');
    next_id text;
    held    record;
    guarded text;
    view    record;
BEGIN
    -- Attempts leave before their deliveries, and these before their events.
    FOR parent IN SELECT * FROM (VALUES ('webhook_attempts', 'event_id', 'evt'),
                                        ('webhook_deliveries', 'event_id', 'evt'), ('events', 'id', 'evt'),
                                        ('archived_answers', 'request_id', 'req')) AS p (name, key, prefix) LOOP
        next_id := id_at(parent.prefix, month_start((month + interval '1 month')::date));
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL EXCLUDING INDEXES) %s', parent.name || '_default',
            parent.name, (SELECT 'WITH (' || array_to_string(reloptions, ', ') || ')' FROM pg_class
                           WHERE oid = (parent.name || '_before')::regclass));
        EXECUTE format('GRANT SELECT ON %I TO ratchet_api, ratchet_worker, ratchet_auditor', parent.name || '_default');
        EXECUTE format('COMMENT ON TABLE %I IS %L', parent.name || '_default',
            'Takes rows of a month without a partition: a missing partition must never stop a payment.');
        EXECUTE format('WITH moved AS (DELETE FROM %I WHERE %I >= %L RETURNING *) INSERT INTO %I SELECT * FROM moved',
            parent.name || '_before', parent.key, next_id, parent.name || '_default');
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I DEFAULT', parent.name, parent.name || '_default');
        EXECUTE format('ALTER TABLE %I RENAME TO %I', parent.name || '_before', parent.name || '_' || suffix);
        -- Its other indexes are the parent's from now on.
        FOR held IN SELECT indexrelid::regclass AS index, c.relname AS name, indisunique, pg_get_indexdef(c.oid) AS def
                      FROM pg_index JOIN pg_class c ON c.oid = indexrelid
                     WHERE indrelid = (parent.name || '_' || suffix)::regclass LOOP
            EXECUTE format('ALTER INDEX %s RENAME TO %I', held.index, CASE WHEN held.indisunique
                THEN replace(held.name, '_before', '_' || suffix) ELSE parent.name || '_' || suffix || '_' || held.name
                END);
            IF NOT held.indisunique THEN
                EXECUTE replace(held.def, ' ON public.' || parent.name || '_' || suffix || ' ',
                    ' ON public.' || parent.name || ' ');
            END IF;
        END LOOP;
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)',
            parent.name, parent.name || '_' || suffix, next_id);
    END LOOP;
    FOR view IN SELECT * FROM views_before LOOP
        EXECUTE format('CREATE OR REPLACE VIEW %s AS %s', view.name, view.definition);
    END LOOP;
    FOREACH guarded IN ARRAY ARRAY['events', 'webhook_deliveries', 'webhook_attempts', 'archived_answers'] LOOP
        PERFORM guard_month(guarded, 'default', NULL, NULL);
        -- It already has its foreign keys.
        IF guarded IN ('events', 'archived_answers') THEN
            PERFORM guard_month(guarded, suffix, '', id_at('req', month_start((month + interval '1 month')::date)));
        END IF;
    END LOOP;
END $$;
DROP TABLE views_before;
SELECT prepare_months(3);
