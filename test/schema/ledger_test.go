package schema_test

import (
	"fmt"
	"slices"
	"strings"
)

// A leg of a posting, as text: what an attempt writes into the arrays.
type leg struct{ purpose, debit, credit, amount string }

var (
	gross = leg{"gross", "processor_receivable", "merchant_balance", "10"}
	fee   = leg{"stripe_fee", "merchant_balance", "fee_revenue", "1"}
)

// legs are the four arrays of a posting, as SQL.
func legs(all ...leg) string {
	var purposes, debits, credits, amounts []string
	for _, l := range all {
		purposes, debits = append(purposes, l.purpose), append(debits, l.debit)
		credits, amounts = append(credits, l.credit), append(amounts, l.amount)
	}
	return arrays(strings.Join(purposes, ","), strings.Join(debits, ","), strings.Join(credits, ","),
		strings.Join(amounts, ","))
}

func arrays(purposes, debits, credits, amounts string) string {
	return fmt.Sprintf("'{%s}', '{%s}', '{%s}', '{%s}'", purposes, debits, credits, amounts)
}

// post is a posting with the given arrays.
func post(book int, id, source, kind, arrays string) string {
	return fmt.Sprintf(`
		INSERT INTO ledger_postings (book_id, id, source, kind, purposes, debits, credits, amounts, available_on,
			created_at, request_id)
		VALUES (%d, '%s', '%s', '%s', %s, now(), now(), 'req_running');`, book, id, source, kind, arrays)
}

func posting(book int, id, source, kind string) string {
	return post(book, id, source, kind, legs(gross))
}

// withLegs is a charge's posting with the given arrays.
func withLegs(arrays string) string { return post(1, "txn_new", "ch_3", "charge", arrays) }

func reversal(book int, id, of string) string {
	return fmt.Sprintf(`
		INSERT INTO ledger_postings (book_id, id, source, kind, reverses, purposes, debits, credits, amounts,
			available_on, created_at, request_id)
		VALUES (%d, '%s', '%[2]s', 'reversal', '%[3]s', %[4]s, now(), now(),
			'req_running');`, book, id, of, legs(gross))
}

// of is the leg with something else in it.
func (l leg) of(amount string) leg { l.amount = amount; return l }

const twoAccounts, twoOthers = "processor_receivable,merchant_balance", "merchant_balance,fee_revenue"

var ledgerPromises = []promise{
	{"the same thing posted twice", "",
		posting(1, "txn_new", "ch_1", "charge"), unique, "ledger_postings_source_is_posted_once"},
	{"two postings with one id", "",
		posting(1, "txn_available", "ch_3", "charge"), unique, "ledger_postings_pkey"},
	{"a posting of an unknown kind", "",
		posting(1, "txn_new", "ch_3", "gift"), check, "ledger_postings_kind_is_known"},
	{"money that is available before it was posted", "",
		`
			INSERT INTO ledger_postings (book_id, id, source, kind, purposes, debits, credits, amounts, available_on,
				created_at, request_id)
		 VALUES (1, 'txn_new', 'ch_3',
		 	'charge', ` + legs(gross) + `, now() - interval '1 second', now(), 'req_running')`,
		check, "ledger_postings_are_not_available_before_created"},

	{"a posting of no legs", "",
		withLegs(arrays("", "", "", "")), check, "ledger_postings_have_1_to_16_legs"},
	{"a posting of more legs than anything here makes", "",
		withLegs(legs(slices.Repeat([]leg{gross}, 17)...)), check, "ledger_postings_have_1_to_16_legs"},
	{"a leg without an amount", "",
		withLegs(arrays("gross,stripe_fee", twoAccounts, twoOthers, "10")), check, "ledger_postings_legs_are_complete"},
	{"an amount without a leg", "",
		withLegs(arrays("gross", "processor_receivable", "merchant_balance", "10,1")),
		check, "ledger_postings_legs_are_complete"},
	{"a leg without a purpose", "",
		withLegs(arrays("gross", twoAccounts, twoOthers, "10,1")), check, "ledger_postings_legs_are_complete"},
	{"a leg that is debited nowhere", "",
		withLegs(arrays("gross,stripe_fee", "processor_receivable", twoOthers, "10,1")),
		check, "ledger_postings_legs_are_complete"},
	{"a leg that is credited nowhere", "",
		withLegs(arrays("gross,stripe_fee", twoAccounts, "merchant_balance", "10,1")),
		check, "ledger_postings_legs_are_complete"},
	{"legs in two dimensions", "",
		withLegs(arrays("{gross,gross},{gross,gross}",
			"{processor_receivable,processor_receivable},{processor_receivable,processor_receivable}",
			"{merchant_balance,merchant_balance},{merchant_balance,merchant_balance}", "{1,2},{3,4}")), check,
		"ledger_postings_legs_are_complete"},
	{"legs that are counted from zero", "",
		withLegs("'[0:0]={gross}', '[0:0]={processor_receivable}', '[0:0]={merchant_balance}', '[0:0]={10}'"), check,
		"ledger_postings_legs_are_complete"},
	{"a leg whose amount is null", "",
		withLegs(legs(gross, fee.of("NULL"))), check, "ledger_postings_legs_have_no_nulls"},
	{"a leg whose purpose is null", "",
		withLegs(arrays("gross,NULL", twoAccounts, twoOthers, "10,1")), check, "ledger_postings_legs_have_no_nulls"},
	{"a leg whose debit is null", "",
		withLegs(arrays("gross,stripe_fee", "processor_receivable,NULL", twoOthers, "10,1")), check,
		"ledger_postings_legs_have_no_nulls"},
	{"a leg whose credit is null", "",
		withLegs(arrays("gross,stripe_fee", twoAccounts, "merchant_balance,NULL", "10,1")), check,
		"ledger_postings_legs_have_no_nulls"},
	{"a posting without amounts", "",
		withLegs("'{gross}', '{processor_receivable}', '{merchant_balance}', NULL"), notNull, ""},
	{"a leg of nothing", "",
		withLegs(legs(gross, fee.of("0"))), check, "ledger_postings_amounts_are_positive"},
	{"a leg of less than nothing", "",
		withLegs(legs(gross.of("-1"))), check, "ledger_postings_amounts_are_positive"},
	{"an account that pays itself", "",
		withLegs(legs(gross, leg{"gross", "merchant_balance", "merchant_balance", "10"})), check,
		"ledger_postings_debit_differs_from_credit"},
	{"an account that is not in the chart", "",
		withLegs(legs(leg{"gross", "petty_cash", "merchant_balance", "10"})), invalidText, ""},
	{"a leg added to a finished posting", "",
		`
			UPDATE ledger_postings SET purposes = purposes || purposes, debits = debits || debits,
			    credits = credits || credits, amounts = amounts || amounts
		 WHERE id = 'txn_pending'`, privilege, ""},
	{"a leg written into the view", "",
		`INSERT INTO ledger_legs (book_id, posting_id, leg, legs, purpose, debit, credit, amount)
		 VALUES (1, 'txn_pending', 2, 2, 'gross', 'processor_receivable', 'merchant_balance', 10)`, notUpdatable, ""},

	{"a posting in a book that does not exist", "",
		posting(99, "txn_new", "ch_3", "charge"), foreignKey, "ledger_postings_have_a_book"},
	{"a posting in no book while triggers are silenced", `SET LOCAL session_replication_role = replica`,
		posting(99, "txn_new", "ch_3", "charge"), foreignKey, "ledger_postings_have_a_book"},
	{"a second book for one merchant, mode and currency", "",
		`INSERT INTO ledger_books (account_id, livemode, currency) VALUES ('acct_1', false, 'usd')`,
		unique, "ledger_books_one_per_account_mode_and_currency"},
	{"two books with one number", "",
		`
			INSERT INTO ledger_books (id, account_id, livemode, currency) OVERRIDING SYSTEM VALUE
			VALUES (1, 'acct_2', false, 'usd')`,
		unique, "ledger_books_pkey"},
	{"a book of no merchant", "",
		`INSERT INTO ledger_books (account_id, livemode, currency) VALUES ('acct_none', false, 'usd')`,
		foreignKey, "ledger_books_account_id_fkey"},
	{"a currency spelled as another one would be", "",
		`INSERT INTO ledger_books (account_id, livemode, currency) VALUES ('acct_1', false, 'USD')`,
		check, "ledger_books_currency_is_three_lower_case_letters"},

	{"a second reversal of one posting", "",
		reversal(1, "txn_again", "txn_wrong"), unique, "ledger_postings_one_reversal_per_posting"},
	{"a reversal that names nothing", "",
		posting(1, "txn_new", "txn_pending", "reversal"), check, "ledger_postings_reversals_name_their_original"},
	{"a reversal of a posting that does not exist", "",
		reversal(1, "txn_new", "txn_none"), foreignKey, "ledger_postings_reversal_is_in_the_same_book"},
	{"a reversal of another book's posting", "",
		reversal(1, "txn_new", "txn_euro"), foreignKey, "ledger_postings_reversal_is_in_the_same_book"},
	{"a reversal of nothing while triggers are silenced", `SET LOCAL session_replication_role = replica`,
		reversal(1, "txn_new", "txn_none"), foreignKey, "ledger_postings_reversal_is_in_the_same_book"},
}

func chained(charge string, chargeAmount, place int, refund string, prior, amount int) string {
	return fmt.Sprintf(`INSERT INTO ledger_refund_chain (book_id, charge, charge_amount, place, refund, prior, amount)
		VALUES (1, '%s', %d, %d, '%s', %d, %d);`, charge, chargeAmount, place, refund, prior, amount)
}

// Of the 1000 of ch_1, re_1 has given back 300.
var refundChainPromises = []promise{
	{"a refund of more than is left of its charge", "",
		chained("ch_1", 1000, 2, "re_2", 300, 701), check, "ledger_refund_chain_total_is_at_most_the_charge"},
	{"a first refund above its charge", "",
		chained("ch_2", 500, 1, "re_2", 0, 501), check, "ledger_refund_chain_total_is_at_most_the_charge"},
	{"a refund of nothing", "",
		chained("ch_1", 1000, 2, "re_2", 300, 0), check, "ledger_refund_chain_total_is_at_most_the_charge"},
	{"a refund that starts below zero", "",
		chained("ch_1", 1000, 2, "re_2", -1, 1000), check, "ledger_refund_chain_total_is_at_most_the_charge"},
	{"more coming back than was refunded", "",
		chained("ch_1", 1000, 2, "re_1", 300, -301), check, "ledger_refund_chain_total_is_at_most_the_charge"},
	{"a first refund that starts at something", "",
		chained("ch_2", 500, 1, "re_2", 100, 100), check, "ledger_refund_chain_first_starts_at_zero"},
	{"two refunds at one place", "",
		chained("ch_1", 1000, 1, "re_2", 0, 700), unique, "ledger_refund_chain_one_refund_per_place"},
	{"a refund that starts elsewhere than the last one ended", "",
		chained("ch_1", 1000, 2, "re_2", 400, 100), foreignKey, "ledger_refund_chain_starts_at_the_previous_total"},
	{"a refund that leaves a place out", "",
		chained("ch_1", 1000, 3, "re_2", 300, 100), foreignKey, "ledger_refund_chain_starts_at_the_previous_total"},
	{"a refund that claims a larger charge than the one before it", "",
		chained("ch_1", 100000, 2, "re_2", 300, 50000), foreignKey, "ledger_refund_chain_starts_at_the_previous_total"},
	{"a refund that is counted twice", "",
		chained("ch_1", 1000, 2, "re_1", 300, 100), unique, "ledger_refund_chain_one_link_per_refund"},
	{"a refund that comes back twice", chained("ch_1", 1000, 2, "re_1", 300, -100),
		chained("ch_1", 1000, 3, "re_1", 200, -100), unique, "ledger_refund_chain_one_link_per_refund"},
	{"a refund chained in a book that does not exist", "",
		`
			INSERT INTO ledger_refund_chain (book_id, charge, charge_amount, place, refund, prior, amount)
			VALUES (99, 'ch_1', 1000, 1, 're_2', 0, 100)`,
		foreignKey, "ledger_refund_chain_book_exists"},
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
		payOut(1, 0), check, "ledger_postings_amounts_are_positive"},
	{"a payout that brings money", "",
		payOut(1, -1), check, "ledger_postings_amounts_are_positive"},
	{"a payout of no amount", "",
		`SELECT ledger_pay_out(1, 'txn_payout', 'po_1', NULL, 'req_running')`,
		check, "ledger_postings_legs_have_no_nulls"},
	{"a payout that is booked twice", payOut(1, 100),
		`SELECT ledger_pay_out(1, 'txn_payout_2', 'po_1', 100, 'req_running')`,
		unique, "ledger_postings_source_is_posted_once"},
}
