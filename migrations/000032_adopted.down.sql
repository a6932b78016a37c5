REVOKE DELETE ON charges FROM ratchet_api, ratchet_worker;
DROP TRIGGER only_a_superseded_charge_leaves ON charges;
DROP FUNCTION superseded_charge_leaves();
