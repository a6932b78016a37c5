package schema_test

import "fmt"

func period(since, until string) string {
	return fmt.Sprintf(`
		INSERT INTO ledger_periods (book_id, since, until, postings, maturing, matures_from, matures_until)
		VALUES (1, '%s', '%s', 0, 0, '-infinity', '-infinity');`, since, until)
}

const sumUp = `INSERT INTO ledger_period_sums VALUES (1, 'merchant_balance', '2020-01-01', 0, 0, 0, 0);`

var periodPromises = []promise{
	{"a posting that is dated back", "",
		`
			INSERT INTO ledger_postings (book_id, id, source, kind, purposes, debits, credits, amounts, available_on,
				created_at, request_id)
		 VALUES (1, 'txn_new', 'ch_3', 'charge', '{gross}', '{processor_receivable}', '{merchant_balance}', '{10}',
		 	now(), now() - interval '2 minutes', 'req_running')`, privilege, ""},
	{"two periods that begin at one time", period("-infinity", "2020-01-01"),
		period("-infinity", "2020-01-02"), unique, "ledger_periods_one_begins_at_a_time"},
	{"two periods that end at one time", period("-infinity", "2020-01-01"),
		period("2019-01-01", "2020-01-01"), unique, "ledger_periods_one_ends_at_a_time"},
	{"a period that ends before it begins", period("-infinity", "2020-01-01"),
		period("2020-01-01", "2019-01-01"), check, "ledger_periods_since_is_before_until"},
	{"a period that leaves a gap", period("-infinity", "2020-01-01"),
		period("2020-01-02", "2020-01-03"), foreignKey, "ledger_periods_begin_where_the_previous_ends"},
	{"a period without an end", "",
		period("-infinity", "infinity"), check, "ledger_periods_since_is_before_until"},
	{"a period of a book that is not there", "",
		`
			INSERT INTO ledger_periods
			VALUES (99, '-infinity', '2020-01-01', 0, 0, '-infinity',
				'-infinity')`, foreignKey, "ledger_periods_book_id_fkey"},
	{"less than nothing that matures", "",
		`
			INSERT INTO ledger_periods
			VALUES (1, '-infinity', '2020-01-01', 1, -1, now(), now())`,
		check, "ledger_periods_maturing_is_not_negative"},
	{"a sum of no period", "",
		sumUp, foreignKey, "ledger_period_sums_period_exists"},
	{"an account added up twice", period("-infinity", "2020-01-01") + sumUp,
		sumUp, unique, "ledger_period_sums_one_per_account"},
	{"a period that is altered", period("-infinity", "2020-01-01"),
		`UPDATE ledger_periods SET postings = 1`, privilege, ""},
	{"a sum that is altered", period("-infinity", "2020-01-01") + sumUp,
		`UPDATE ledger_period_sums SET debit = 1`, privilege, ""},
	{"a period that is taken out of the middle", period("-infinity", "2020-01-01") + period("2020-01-01", "2020-01-02"),
		`DELETE FROM ledger_periods WHERE until = '2020-01-01'`, foreignKey,
		"ledger_periods_begin_where_the_previous_ends"},
}
