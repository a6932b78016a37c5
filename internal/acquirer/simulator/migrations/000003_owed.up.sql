-- 000003: what is to be settled is a queue of its own. Found among all movements
-- by looking for those that are not settled, each settlement would read the whole
-- journal.

CREATE TABLE acquirer.owed (
    movement bigint NOT NULL CONSTRAINT owed_one_per_movement PRIMARY KEY
);
COMMENT ON TABLE acquirer.owed IS
    'Movements that have not been paid to the merchant''s side yet. A row is written with its movement and goes '
    'with its settlement.';

INSERT INTO acquirer.owed (movement)
SELECT number FROM acquirer.movements m
 WHERE kind NOT IN ('hold', 'release', 'payout', 'recall', 'none')
     AND NOT EXISTS (SELECT FROM acquirer.settled s WHERE s.movement = m.number);
