-- 000028: lists of events of one type, and of events that were not delivered, read a page and not all events of the
-- account. The first index has the events of a type in the order of the list. The second has an entry only while a
-- delivery is pending or after it has failed.
CREATE INDEX events_of_a_type ON events (account_id, type, id);
CREATE INDEX undelivered_events ON webhook_deliveries (account_id, event_id) WHERE state IN ('pending', 'failed');
