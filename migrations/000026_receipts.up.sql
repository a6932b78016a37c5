-- 000026: receipts. A charge that succeeds has a page that its cardholder may open.
ALTER TABLE charges ADD COLUMN receipt_url text;
COMMENT ON COLUMN charges.receipt_url IS
    'Where the receipt is. Whoever has the address may read it: the receipt names the card by its brand and last four '
    'digits, and nobody by name. Charges from before this column have none.';
