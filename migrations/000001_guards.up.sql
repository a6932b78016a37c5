-- 000001: the functions that guard the tables of all other chapters. They are the second line of defense: they
-- reject a wrong change even when the program that asks for it has a bug.
--
-- PostgreSQL skips ordinary triggers while it applies replicated changes or loads a dump in replica mode. A guard must
-- not be skipped, and CREATE TRIGGER cannot say so. Each chapter therefore follows its triggers with
-- ALTER TABLE … ENABLE ALWAYS TRIGGER. That, and references that form a cycle, are all that is ever altered here.

-- Rejects the statement. The trigger's argument is the reason, which becomes part of the error.
CREATE FUNCTION reject_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% on % is refused: %', tg_op, tg_table_name, tg_argv[0] USING ERRCODE = 'insufficient_privilege';
END $$;

-- Ends the transaction unless a statement changed exactly as many rows as it had to. So a client sends a whole phase
-- in one packet, and the server makes the check that the client would otherwise make between two round trips.
-- Statements compare first and call this function only to fail: a call costs more than a row.
-- A posting that found no book has lost the race to open the book, and the client may retry it.
CREATE FUNCTION assert_row_count(want bigint, got bigint, what text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF got IS DISTINCT FROM want THEN
        RAISE EXCEPTION '%: % rows, want %', what, got, want
            USING ERRCODE = CASE what
                WHEN 'fence' THEN 'RT001' WHEN 'posting' THEN 'serialization_failure' ELSE 'RT002' END;
    END IF;
    RETURN got;
END $$;

-- Parameters and responses contain personal data in many places. redact_pii redacts it and keeps everything else in
-- its order: IDs, amounts, states, the structure. Redaction is the one change that the guards allow in rows that are
-- final. It is defined here, and not in the program, because the guards redact the old row themselves and compare.
CREATE FUNCTION is_pii(key text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT word IN ('name', 'email', 'phone', 'description', 'metadata', 'shipping', 'billingdetails', 'receiptemail',
                    'clientip', 'preferredlocales', 'customeremail', 'businessname', 'individualname', 'taxids',
                    'evidence')
        OR word LIKE 'address%' AND word NOT LIKE '%check'
      FROM (VALUES (lower(replace(key, '_', '')))) AS plain (word)
$$;
CREATE FUNCTION redact_pii(value json, personal boolean DEFAULT false) RETURNS json
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    CASE json_typeof(value)
    WHEN 'object' THEN
        RETURN (SELECT '{' || coalesce(string_agg(to_json(f.key)::text || ':' || CASE
                           -- The keys of metadata may be personal, too.
                           WHEN lower(f.key) = 'metadata' AND json_typeof(f.value) = 'object' THEN '{}'
                           ELSE redact_pii(f.value, personal OR is_pii(f.key))::text END, ',' ORDER BY f.place),
                       '') || '}'
                  FROM json_each(value) WITH ORDINALITY AS f (key, value, place));
    WHEN 'array' THEN
        RETURN (SELECT '[' || coalesce(string_agg(redact_pii(e.value, personal)::text, ',' ORDER BY e.place), '')
                       || ']'
                  FROM json_array_elements(value) WITH ORDINALITY AS e (value, place));
    WHEN 'string' THEN
        RETURN CASE WHEN personal AND value::text <> '""' THEN '"[erased]"' ELSE value END;
    ELSE
        RETURN value;
    END CASE;
END $$;
CREATE FUNCTION redact_pii(answer bytea) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT convert_to(redact_pii(convert_from(answer, 'UTF8')::json)::text || E'\n', 'UTF8')
$$;
