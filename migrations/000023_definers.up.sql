-- 000023: a function that runs as its owner looks for tables in pg_temp last.
--
-- Where its search_path does not name pg_temp, PostgreSQL looks there first. A caller
-- could put a table of its own in the place of one of ours, with a trigger on it, and
-- the trigger would run as the owner: the end of every promise that grants keep.
DO $$
DECLARE
    exposed regprocedure;
BEGIN
    FOR exposed IN SELECT oid FROM pg_proc
                    WHERE pronamespace = 'public'::regnamespace AND prosecdef AND 'search_path=public' = ANY (proconfig) LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = public, pg_temp', exposed);
    END LOOP;
END $$;
