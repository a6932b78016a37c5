-- 000016: responses and events are compressed. They are JSON of two to four kilobytes, and only two of them fit on a
-- page. LZ4 halves them in a few microseconds. A server that was built without LZ4 stores them uncompressed, because
-- its other method takes much longer.
--
-- With STORAGE MAIN, a row of more than two kilobytes is compressed, largest column first, and stays in one piece. It
-- would otherwise get a second row in a TOAST table.
DO $$
DECLARE
    kept record;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)) THEN
        RAISE NOTICE 'this server was built without LZ4: responses and events are not compressed';
        RETURN;
    END IF;
    FOR kept IN SELECT attrelid::regclass AS of, attname AS name FROM pg_attribute
                 WHERE attrelid IN ('answers'::regclass, 'events'::regclass) AND attnum > 0 AND attstorage = 'x' LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STORAGE MAIN', kept.of, kept.name);
    END LOOP;
    ALTER TABLE answers ALTER COLUMN body SET COMPRESSION lz4;
    ALTER TABLE events ALTER COLUMN data SET COMPRESSION lz4;
    ALTER TABLE answers RESET (toast_tuple_target);
    ALTER TABLE events RESET (toast_tuple_target);
END $$;
