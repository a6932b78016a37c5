-- 000032: the triggers that a charge fires look rows up by their keys, even if the statistics of the tables are wrong.
--
-- The plans of a trigger are kept for a session. The first ones are made while the tables are small or unknown, and the
-- planner then hashed whole tables to answer an EXISTS: each new request read all answers, until the next analyze.
-- A subquery that counts is never hashed.

-- One statement checks everything, because each costs a group of commits as much as a row does.
CREATE OR REPLACE FUNCTION runs_are_born_with_their_request() RETURNS trigger
    LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    wrong record;
BEGIN
    SELECT checked.request_id, checked.broken INTO wrong
      FROM (SELECT r.request_id, CASE
                   WHEN (SELECT count(*) FROM requests q WHERE q.account_id = r.account_id AND q.id = r.request_id
                            AND q.flow = r.flow AND q.version = r.version AND q.xmin = pg_current_xact_id()::xid) = 0
                     OR (SELECT count(*) FROM answers a
                          WHERE a.account_id = r.account_id AND a.request_id = r.request_id) > 0 THEN 'birth'
                   WHEN NOT 1 = ALL (r.call_generations)
                     OR cardinality(r.call_phases) > 1 AND cardinality(r.call_phases)
                        <> (SELECT count(DISTINCT phase) FROM unnest(r.call_phases) AS phase) THEN 'calls'
                   WHEN r.recovery_points <> ARRAY(SELECT p.name FROM recovery_points p WHERE p.flow = r.flow
                                                      AND p.version = r.version AND p.name = ANY (r.recovery_points)
                                                    ORDER BY p.position) THEN 'order'
                   END AS broken
              FROM born r) checked
     WHERE checked.broken IS NOT NULL
     LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    CASE wrong.broken
    WHEN 'birth' THEN
        RAISE EXCEPTION 'request % is not of this transaction, or has its answer', wrong.request_id
            USING ERRCODE = 'insufficient_privilege', CONSTRAINT = 'runs_are_born_with_their_request';
    WHEN 'calls' THEN
        RAISE EXCEPTION 'request % cannot begin with these calls', wrong.request_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'runs_next_key_waits_for_proof';
    ELSE
        RAISE EXCEPTION 'request % cannot pass its recovery points in this order', wrong.request_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'runs_recovery_points_are_in_order';
    END CASE;
END $$;

-- This function is STABLE, so it sees what was there before the statement.
CREATE OR REPLACE FUNCTION answers_come_with_their_end() RETURNS trigger
    LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE
    wrong text;
BEGIN
    SELECT a.request_id INTO wrong FROM given a
     WHERE (SELECT count(*) FROM runs r WHERE r.account_id = a.account_id AND r.request_id = a.request_id) = 0
       AND (SELECT count(*) FROM requests q WHERE q.account_id = a.account_id AND q.id = a.request_id) > 0
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'the answer of request % ends no run', wrong
            USING ERRCODE = 'insufficient_privilege', CONSTRAINT = 'answers_end_their_run';
    END IF;
    RETURN NULL;
END $$;

-- This function is VOLATILE, so it sees what the statement has done.
CREATE OR REPLACE FUNCTION answers_end_their_run() RETURNS trigger
    LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    wrong record;
BEGIN
    SELECT a.request_id, coalesce(stands.alone, false) AS alone INTO wrong
      FROM given a
      LEFT JOIN LATERAL (
          SELECT (SELECT count(*) FROM runs r WHERE r.account_id = q.account_id AND r.request_id = q.id) = 0 AS alone,
                 a.recovery_points = ARRAY(SELECT p.name FROM recovery_points p
                                            WHERE p.flow = q.flow AND p.version = q.version
                                              AND p.name = ANY (a.recovery_points)
                                            ORDER BY p.position) AS in_order
            FROM requests q WHERE q.account_id = a.account_id AND q.id = a.request_id LIMIT 1) AS stands ON true
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
