-- 000032: a retry of a lost request whose charge has been adopted.
--
-- After an old backup was restored, an operator adopts a charge that only the acquirer
-- has. If the client then retries the lost request, the retry records a pending charge,
-- and the acquirer replays the authorization of the adopted one. That pending charge
-- goes, and the client is answered with the adopted charge. No role may delete a charge:
-- this function does, and only such a one.
CREATE FUNCTION drop_superseded_charge(of_account text, superseded text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    DELETE FROM charges c
    WHERE c.account_id = of_account AND c.id = superseded AND c.status = 'pending' AND EXISTS (
        SELECT FROM (SELECT call_keys FROM runs r WHERE r.account_id = c.account_id AND r.request_id = c.request_id
                     UNION ALL
                     SELECT call_keys FROM answers a
                     WHERE a.account_id = c.account_id AND a.request_id = c.request_id) made
        CROSS JOIN LATERAL unnest(made.call_keys) AS call (key)
        JOIN requests q ON q.account_id = c.account_id AND q.livemode = c.livemode
                       AND q.key = 'adopt ' || call.key AND q.flow = 'charge.adopt');
    IF NOT FOUND THEN
        RAISE EXCEPTION 'charge % was not superseded by an adopted one', superseded
            USING ERRCODE = 'insufficient_privilege';
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION drop_superseded_charge(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION drop_superseded_charge(text, text) TO ratchet_api, ratchet_worker;
