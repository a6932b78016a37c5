-- 000036: a payout's movements in the order of their list
--
-- The dashboard lists what a payout pays out, a page at a time. The index has the movements of a payout in the order of
-- the list, so a page of a large payout reads a page of rows.
DROP INDEX swept_into_a_payout;
CREATE INDEX swept_into_a_payout ON ledger_swept (payout, book_id, posting_id);
