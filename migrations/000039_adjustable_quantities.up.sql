-- 000039: quantities that customers can change
--
-- An item with limits has a quantity between them, which the customer chooses. A quantity of 0 removes the item: lists
-- leave it out, and the page shows it until the session is over.
ALTER TABLE checkout_items
    ADD COLUMN quantity_minimum bigint,
    ADD COLUMN quantity_maximum bigint,
    DROP CONSTRAINT checkout_items_quantity_is_positive,
    ADD CONSTRAINT checkout_items_quantity_is_positive CHECK (
        quantity >= least(quantity_minimum, 1) AND amount >= 0),
    ADD CONSTRAINT checkout_items_quantity_is_within_its_limits CHECK (
        (quantity_minimum IS NULL) = (quantity_maximum IS NULL)
        AND (quantity_minimum IS NULL OR quantity_minimum >= 0
            AND quantity BETWEEN quantity_minimum AND quantity_maximum));
COMMENT ON COLUMN checkout_items.quantity_minimum IS
    'The smallest quantity that the customer can choose; null: the customer cannot change the quantity.';
COMMENT ON COLUMN checkout_items.quantity_maximum IS 'The largest quantity that the customer can choose.';
GRANT UPDATE (quantity, amount) ON checkout_items TO ratchet_api, ratchet_worker;

ALTER TABLE payment_link_items
    ADD COLUMN quantity_minimum bigint,
    ADD COLUMN quantity_maximum bigint,
    ADD CONSTRAINT payment_link_items_quantity_is_within_its_limits CHECK (
        (quantity_minimum IS NULL) = (quantity_maximum IS NULL)
        AND (quantity_minimum IS NULL OR quantity_minimum >= 0
            AND quantity BETWEEN quantity_minimum AND quantity_maximum));
COMMENT ON COLUMN payment_link_items.quantity_minimum IS
    'The smallest quantity that a customer of the link can choose; null: no customer can change the quantity.';
COMMENT ON COLUMN payment_link_items.quantity_maximum IS 'The largest quantity that a customer can choose.';
