CREATE INDEX audit_events_by_xid ON audit_events USING brin (xid) WITH (pages_per_range = 16);
DROP INDEX audit_events_in_order;
