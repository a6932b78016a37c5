ALTER TABLE setup_intents DROP COLUMN latest_attempt;
DROP TABLE setup_attempts;
