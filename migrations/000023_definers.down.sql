DO $$
DECLARE
    guarded regprocedure;
BEGIN
    FOR guarded IN SELECT oid FROM pg_proc
                    WHERE pronamespace = 'public'::regnamespace AND prosecdef AND 'search_path=public, pg_temp' = ANY (proconfig) LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = public', guarded);
    END LOOP;
END $$;
