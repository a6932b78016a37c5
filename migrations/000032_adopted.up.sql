-- 000032: a retry of a lost request whose charge has been adopted.
--
-- After an old backup was restored, an operator adopts a charge that only the acquirer
-- has. If the client then retries the lost request, the retry records a pending charge,
-- and the acquirer replays the authorization of the adopted one. That pending charge
-- goes, and the client is answered with the adopted charge.
CREATE FUNCTION superseded_charge_leaves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status <> 'pending' OR NOT EXISTS (
        SELECT FROM (SELECT call_keys FROM public.runs r WHERE r.account_id = OLD.account_id AND r.request_id = OLD.request_id
                     UNION ALL
                     SELECT call_keys FROM public.answers a WHERE a.account_id = OLD.account_id AND a.request_id = OLD.request_id) c
        CROSS JOIN LATERAL unnest(c.call_keys) AS called (key)
        JOIN public.requests q ON q.account_id = OLD.account_id AND q.livemode = OLD.livemode
                              AND q.key = 'adopt ' || called.key AND q.flow = 'charge.adopt') THEN
        RAISE EXCEPTION 'charge % was not superseded by an adopted one', OLD.id USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER only_a_superseded_charge_leaves BEFORE DELETE ON charges FOR EACH ROW EXECUTE FUNCTION superseded_charge_leaves();
ALTER TABLE charges ENABLE ALWAYS TRIGGER only_a_superseded_charge_leaves;
GRANT DELETE ON charges TO ratchet_api, ratchet_worker;
