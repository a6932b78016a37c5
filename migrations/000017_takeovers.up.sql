-- 000017: who took a request over from whom. A request that one process drives
-- from beginning to end leaves nothing here, so this costs the usual case
-- nothing; it is what shows, later, that a process died and where.
CREATE TABLE takeovers (
    account_id   text COLLATE "C" NOT NULL,
    request_id   text COLLATE "C" NOT NULL,
    epoch        integer     NOT NULL,
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    was          text        NOT NULL,
    point        text        NOT NULL,
    lost_by      text COLLATE "C",
    lost_by_host text,
    lost_by_pid  integer,
    heard_until  timestamptz,
    owner        text COLLATE "C" NOT NULL,
    owner_host   text,
    owner_pid    integer,
    CONSTRAINT an_epoch_begins_once PRIMARY KEY (account_id, request_id, epoch),
    CONSTRAINT a_takeover_has_its_request FOREIGN KEY (account_id, request_id) REFERENCES requests,
    CONSTRAINT what_is_taken_over_was_under_way CHECK (was IN ('running', 'parked')),
    CONSTRAINT only_the_running_are_lost CHECK ((was = 'running') = (lost_by IS NOT NULL))
);
COMMENT ON TABLE takeovers IS 'One row per take-over: epoch is the one that began, point where the request stood. Was it running, its driver had died, or sat on its lease.';
COMMENT ON COLUMN takeovers.heard_until IS 'Until when the lost driver counted as alive; NULL if it said good-bye, or its row was gone.';

-- A trigger, because then no statement that takes over can forget it. The WHEN
-- keeps every other update of a run from ever entering it.
CREATE FUNCTION note_takeover() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO takeovers (account_id, request_id, epoch, was, point, lost_by, lost_by_host, lost_by_pid, heard_until, owner, owner_host, owner_pid)
    SELECT NEW.account_id, NEW.request_id, NEW.epoch, OLD.state, OLD.recovery_points[cardinality(OLD.recovery_points)], OLD.owner, before.host, before.pid, before.alive_until, NEW.owner, now.host, now.pid
      FROM (VALUES (1)) AS always_one_row (n)
      LEFT JOIN workers before ON before.id = OLD.owner
      LEFT JOIN workers now ON now.id = NEW.owner;
    RETURN NULL;
END $$;
CREATE TRIGGER takeovers_are_noted AFTER UPDATE OF epoch ON runs FOR EACH ROW
    WHEN (NEW.epoch > OLD.epoch) EXECUTE FUNCTION note_takeover();
ALTER TABLE runs ENABLE ALWAYS TRIGGER takeovers_are_noted;

CREATE TRIGGER takeovers_are_final BEFORE UPDATE OR DELETE ON takeovers FOR EACH ROW
    EXECUTE FUNCTION refuse('a take-over has happened');
CREATE TRIGGER takeovers_are_not_emptied BEFORE TRUNCATE ON takeovers FOR EACH STATEMENT
    EXECUTE FUNCTION refuse('a take-over has happened');
ALTER TABLE takeovers ENABLE ALWAYS TRIGGER takeovers_are_final;
ALTER TABLE takeovers ENABLE ALWAYS TRIGGER takeovers_are_not_emptied;

GRANT SELECT ON takeovers TO ratchet_api, ratchet_worker, ratchet_auditor;
GRANT INSERT ON takeovers TO ratchet_api, ratchet_worker;
