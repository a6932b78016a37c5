ALTER TABLE accounts DROP COLUMN api_version;
