package schema_test

import "fmt"

func posting(book int, id, source, kind string, legs int) string {
	return fmt.Sprintf(`INSERT INTO ledger_postings (book_id, id, source, kind, legs, available_on, created_at, request_id)
		VALUES (%d, '%s', '%s', '%s', %d, now(), now(), 'req_running');`, book, id, source, kind, legs)
}

func reversal(book int, id, of string) string {
	return fmt.Sprintf(`INSERT INTO ledger_postings (book_id, id, source, kind, reverses, legs, available_on, created_at, request_id)
		VALUES (%d, '%s', '%[2]s', 'reversal', '%[3]s', 1, now(), now(), 'req_running');`, book, id, of)
}

// leg is leg n of a posting that has so many.
func leg(book int, posting string, n, of int, debit, credit string, amount int) string {
	return fmt.Sprintf(`INSERT INTO ledger_legs (book_id, posting_id, leg, legs, purpose, debit, credit, amount)
		VALUES (%d, '%s', %d, %d, 'gross', '%s', '%s', %d);`, book, posting, n, of, debit, credit, amount)
}

func charged(posting string, n, of, amount int) string {
	return leg(1, posting, n, of, "processor_receivable", "merchant_balance", amount)
}

var ledgerPromises = []promise{
	{"the same thing posted twice", "",
		posting(1, "txn_new", "ch_1", "charge", 1), unique, "a_source_is_posted_once"},
	{"two postings with one id", "",
		posting(1, "txn_available", "ch_3", "charge", 1), unique, "ledger_postings_pkey"},
	{"a posting of no legs", "",
		posting(1, "txn_new", "ch_3", "charge", 0), check, "a_posting_has_legs"},
	{"a posting without the only leg it announced", posting(1, "txn_new", "ch_3", "charge", 1),
		atCommit, foreignKey, "all_legs_are_present"},
	{"a posting without its last leg", posting(1, "txn_new", "ch_3", "charge", 2) + charged("txn_new", 1, 2, 10),
		atCommit, foreignKey, "all_legs_are_present"},
	{"a posting without its first leg", posting(1, "txn_new", "ch_3", "charge", 2),
		charged("txn_new", 2, 2, 10), foreignKey, "legs_have_no_gap"},
	{"a posting of an unknown kind", "",
		posting(1, "txn_new", "ch_3", "gift", 1), check, "a_kind_is_known"},
	{"money that is available before it was posted", "",
		`INSERT INTO ledger_postings (book_id, id, source, kind, legs, available_on, created_at, request_id)
		 VALUES (1, 'txn_new', 'ch_3', 'charge', 1, now() - interval '1 second', now(), 'req_running')`,
		check, "money_is_not_available_before_it_is_posted"},

	{"a leg added to a finished posting", "",
		charged("txn_pending", 2, 1, 10), check, "a_posting_has_no_free_leg"},
	{"a leg zero", "",
		charged("txn_pending", 0, 1, 10), check, "a_posting_has_no_free_leg"},
	{"a leg of which its posting does not know", "",
		charged("txn_pending", 2, 2, 10), foreignKey, "a_leg_agrees_with_its_posting"},
	{"a leg posted twice", "",
		charged("txn_pending", 1, 1, 10), unique, "ledger_legs_pkey"},
	{"a leg in another book than its posting", "",
		leg(2, "txn_pending", 1, 1, "processor_receivable", "merchant_balance", 10), foreignKey, "a_leg_agrees_with_its_posting"},
	{"a leg of nothing", posting(1, "txn_new", "ch_3", "charge", 1),
		charged("txn_new", 1, 1, 0), check, "a_leg_moves_something"},
	{"a leg of less than nothing", posting(1, "txn_new", "ch_3", "charge", 1),
		charged("txn_new", 1, 1, -1), check, "a_leg_moves_something"},
	{"an account that pays itself", posting(1, "txn_new", "ch_3", "charge", 1),
		leg(1, "txn_new", 1, 1, "merchant_balance", "merchant_balance", 10), check, "nobody_pays_himself"},
	{"an account that is not in the chart", posting(1, "txn_new", "ch_3", "charge", 1),
		leg(1, "txn_new", 1, 1, "petty_cash", "merchant_balance", 10), invalidText, ""},

	{"a posting in a book that does not exist", "",
		posting(99, "txn_new", "ch_3", "charge", 1), foreignKey, "ledger_postings_book_id_fkey"},
	{"a second book for one merchant, mode and currency", "",
		`INSERT INTO ledger_books (account_id, livemode, currency) VALUES ('acct_1', false, 'usd')`,
		unique, "a_merchant_has_one_book_per_mode_and_currency"},
	{"two books with one number", "",
		`INSERT INTO ledger_books (id, account_id, livemode, currency) OVERRIDING SYSTEM VALUE VALUES (1, 'acct_2', false, 'usd')`,
		unique, "ledger_books_pkey"},
	{"a book of no merchant", "",
		`INSERT INTO ledger_books (account_id, livemode, currency) VALUES ('acct_none', false, 'usd')`,
		foreignKey, "ledger_books_account_id_fkey"},
	{"a currency spelled as another one would be", "",
		`INSERT INTO ledger_books (account_id, livemode, currency) VALUES ('acct_1', false, 'USD')`,
		check, "a_currency_is_three_small_letters"},

	{"a second reversal of one posting", "",
		reversal(1, "txn_again", "txn_wrong"), unique, "a_posting_is_reversed_once"},
	{"a reversal that names nothing", "",
		posting(1, "txn_new", "txn_pending", "reversal", 1), check, "a_reversal_names_what_it_reverses"},
	{"a reversal of a posting that does not exist", "",
		reversal(1, "txn_new", "txn_none"), foreignKey, "a_reversal_is_of_the_same_book"},
	{"a reversal of another book's posting", "",
		reversal(1, "txn_new", "txn_euro"), foreignKey, "a_reversal_is_of_the_same_book"},
}

func chained(charge string, chargeAmount, place int, refund string, prior, amount int) string {
	return fmt.Sprintf(`INSERT INTO ledger_refund_chain (book_id, charge, charge_amount, place, refund, prior, amount)
		VALUES (1, '%s', %d, %d, '%s', %d, %d);`, charge, chargeAmount, place, refund, prior, amount)
}

// Of the 1000 of ch_1, re_1 has given back 300.
var refundChainPromises = []promise{
	{"a refund of more than is left of its charge", "",
		chained("ch_1", 1000, 2, "re_2", 300, 701), check, "refunds_do_not_exceed_the_charge"},
	{"a first refund above its charge", "",
		chained("ch_2", 500, 1, "re_2", 0, 501), check, "refunds_do_not_exceed_the_charge"},
	{"a refund of nothing", "",
		chained("ch_1", 1000, 2, "re_2", 300, 0), check, "refunds_do_not_exceed_the_charge"},
	{"a refund that starts below zero", "",
		chained("ch_1", 1000, 2, "re_2", -1, 1000), check, "refunds_do_not_exceed_the_charge"},
	{"more coming back than was refunded", "",
		chained("ch_1", 1000, 2, "re_1", 300, -301), check, "refunds_do_not_exceed_the_charge"},
	{"a first refund that starts at something", "",
		chained("ch_2", 500, 1, "re_2", 100, 100), check, "the_first_refund_starts_at_nothing"},
	{"two refunds at one place", "",
		chained("ch_1", 1000, 1, "re_2", 0, 700), unique, "one_refund_stands_at_each_place"},
	{"a refund that starts elsewhere than the last one ended", "",
		chained("ch_1", 1000, 2, "re_2", 400, 100), foreignKey, "a_refund_starts_where_the_last_one_ended"},
	{"a refund that leaves a place out", "",
		chained("ch_1", 1000, 3, "re_2", 300, 100), foreignKey, "a_refund_starts_where_the_last_one_ended"},
	{"a refund that claims a larger charge than the one before it", "",
		chained("ch_1", 100000, 2, "re_2", 300, 50000), foreignKey, "a_refund_starts_where_the_last_one_ended"},
	{"a refund that is counted twice", "",
		chained("ch_1", 1000, 2, "re_1", 300, 100), unique, "a_refund_is_chained_once"},
	{"a refund that comes back twice", chained("ch_1", 1000, 2, "re_1", 300, -100),
		chained("ch_1", 1000, 3, "re_1", 200, -100), unique, "a_refund_is_chained_once"},
	{"a refund chained in a book that does not exist", "",
		`INSERT INTO ledger_refund_chain (book_id, charge, charge_amount, place, refund, prior, amount) VALUES (99, 'ch_1', 1000, 1, 're_2', 0, 100)`,
		foreignKey, "ledger_refund_chain_book_id_fkey"},
}

func payOut(book, amount int) string {
	return fmt.Sprintf(`SELECT ledger_pay_out(%d, 'txn_payout', 'po_1', %d, 'req_running');`, book, amount)
}

// Book 1 has 941 available and 500 pending.
var payoutPromises = []promise{
	{"a payout of one unit more than is available", "",
		payOut(1, 942), notAvailable, ""},
	{"a payout of money that is pending", payOut(1, 941),
		`SELECT ledger_pay_out(1, 'txn_payout_2', 'po_2', 500, 'req_running')`, notAvailable, ""},
	{"a payout out of a book that does not exist", "",
		payOut(99, 1), notAvailable, ""},
	{"a payout of nothing", "",
		payOut(1, 0), check, "a_leg_moves_something"},
	{"a payout that brings money", "",
		payOut(1, -1), check, "a_leg_moves_something"},
	{"a payout of no amount", "",
		`SELECT ledger_pay_out(1, 'txn_payout', 'po_1', NULL, 'req_running')`, notNull, ""},
	{"a payout that is booked twice", payOut(1, 100),
		`SELECT ledger_pay_out(1, 'txn_payout_2', 'po_1', 100, 'req_running')`, unique, "a_source_is_posted_once"},
}
