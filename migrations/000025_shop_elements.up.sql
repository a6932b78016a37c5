-- 000025: the demo's shop can ask for the card on its own page, with Stripe.js. An order is paid on one
-- of the two pages: if the customer chooses the other one, the shop expires the first session and places another order.
ALTER TABLE shop.orders
    ADD COLUMN ui_mode text NOT NULL DEFAULT 'hosted_page',
    ADD CONSTRAINT orders_ui_mode_is_known CHECK (ui_mode IN ('hosted_page', 'elements'));
COMMENT ON COLUMN shop.orders.ui_mode IS
    'Which page the order is paid on: hosted_page is the API''s, elements the shop''s own. '
    'The order''s session has the same ui_mode.';
