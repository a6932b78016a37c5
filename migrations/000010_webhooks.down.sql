DROP SCHEMA river CASCADE;
DROP TABLE webhook_attempts, webhook_deliveries, webhook_endpoints;
