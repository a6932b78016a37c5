-- 000026: receipts. A charge that succeeds has a page that its cardholder may open.
ALTER TABLE charges ADD COLUMN receipt_url text;
COMMENT ON COLUMN charges.receipt_url IS
    'The address of the receipt; null until the charge has succeeded. Anyone with the address can read it. The receipt '
    'names the card by its brand and last four digits, and no person.';
