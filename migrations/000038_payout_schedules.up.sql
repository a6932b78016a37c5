-- 000038: when a merchant's balance is paid out
--
-- Each mode has its own schedule, so a key of test mode cannot change when live money is paid out. The table replaces a
-- column of accounts, which neither the API nor the worker may change.
CREATE TABLE payout_schedules (
    account_id text COLLATE "C" NOT NULL REFERENCES accounts,
    livemode   boolean     NOT NULL,
    frequency  text        NOT NULL,
    days       smallint[]  NOT NULL DEFAULT '{}',
    since      date        NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT payout_schedules_one_per_mode PRIMARY KEY (account_id, livemode),
    CONSTRAINT payout_schedules_frequency_is_known CHECK (frequency IN ('manual', 'daily', 'weekly', 'monthly')),
    CONSTRAINT payout_schedules_days_fit_the_frequency CHECK (
        (frequency = 'weekly' AND days <@ '{1,2,3,4,5}' AND days <> '{}'
            OR frequency = 'monthly' AND 1 <= ALL (days) AND 31 >= ALL (days) AND days <> '{}'
            OR frequency NOT IN ('weekly', 'monthly') AND days = '{}')
        AND array_position(days, NULL) IS NULL)
);
COMMENT ON TABLE payout_schedules IS
    'When the worker pays out what is available, in each currency. An account without a row is paid out when it asks.';
COMMENT ON COLUMN payout_schedules.days IS
    'weekly: 1 is Monday and 5 is Friday. monthly: days of the month; in a shorter month, its last day.';
COMMENT ON COLUMN payout_schedules.since IS
    'The day of the change, by the account''s clock. No earlier day is made up for.';

INSERT INTO payout_schedules (account_id, livemode, frequency, since)
SELECT a.id, m.livemode, a.payout_schedule, (account_time(a.id, m.livemode) AT TIME ZONE 'UTC')::date
  FROM accounts a CROSS JOIN (VALUES (false), (true)) m (livemode)
 WHERE a.payout_schedule <> 'manual';
ALTER TABLE accounts DROP COLUMN payout_schedule;

GRANT SELECT ON payout_schedules TO ratchet_auditor;
GRANT SELECT, INSERT, UPDATE ON payout_schedules TO ratchet_api, ratchet_worker;
