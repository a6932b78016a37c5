DROP TABLE archived_answers;
DROP FUNCTION detach_audit_month(date);
DROP SCHEMA audit_detached CASCADE;
DROP FUNCTION ensure_audit_partitions(integer);
DROP TABLE audit_detachments;
DROP TABLE audit_blocks;
DROP TABLE audit_events;
DROP FUNCTION this_cluster();
