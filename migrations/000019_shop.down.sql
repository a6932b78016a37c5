-- The role belongs to the whole cluster and may serve other databases: it stays.
DROP SCHEMA shop CASCADE;
