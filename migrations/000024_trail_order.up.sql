-- 000024: the audit trail in the order in which it is sealed.
--
-- A BRIN index finds transactions but gives no order, and knows nothing of its
-- newest pages before a vacuum. Where many rows waited to be sealed, each block
-- read and sorted all of them, until no look ended in time. New rows go to the
-- right end of this index, which is its cheapest place.
CREATE INDEX audit_events_in_order ON audit_events (cluster, xid);
DROP INDEX audit_events_by_xid;
