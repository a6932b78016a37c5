package schema_test

const (
	counted     = `INSERT INTO counted (account_id) VALUES ('acct_1');`
	chargeDay   = `INSERT INTO charge_days VALUES ('acct_1', false, 'usd', '2026-11-20', 5, 4, 3, 300);`
	attemptDay  = `INSERT INTO attempt_days VALUES ('acct_1', false, '2026-11-20', 5, 4);`
	openCharge  = `INSERT INTO charges_to_count VALUES ('acct_1', 'ch_open');`
	openAttempt = `INSERT INTO attempts_to_count VALUES ('acct_1', 'evt_1', 'we_1', 1);`
	opening     = `INSERT INTO swept_before VALUES (1, 'po_paid', now(), 100);`
)

var dayPromises = []promise{
	{"an account that is counted twice", counted, counted, unique, "counted_pkey"},
	{"an unknown account that is counted", "",
		`INSERT INTO counted (account_id) VALUES ('acct_none')`, foreignKey, "counted_account_id_fkey"},
	{"two sums of a day", counted + chargeDay, chargeDay, unique, "charge_days_pkey"},
	{"a sum of an account that is not counted", "", chargeDay, foreignKey, "charge_days_account_id_fkey"},
	{"more charges approved than tried", counted + chargeDay,
		`UPDATE charge_days SET approved = 6`, check, "charge_days_count_parts_of_each_other"},
	{"a charge that waits twice", counted + openCharge, openCharge, unique, "charges_to_count_pkey"},
	{"a charge waits in an account without sums", "", openCharge, foreignKey, "charges_to_count_account_id_fkey"},
	{"two sums of a day's attempts", counted + attemptDay, attemptDay, unique, "attempt_days_pkey"},
	{"attempts of an account that is not counted", "", attemptDay, foreignKey, "attempt_days_account_id_fkey"},
	{"more attempts acknowledged than made", counted + attemptDay,
		`UPDATE attempt_days SET acknowledged = 6`, check, "attempt_days_count_parts_of_each_other"},
	{"an attempt that waits twice", counted + openAttempt, openAttempt, unique, "attempts_to_count_pkey"},
	{"an attempt waits in an account without sums", "", openAttempt, foreignKey, "attempts_to_count_account_id_fkey"},
	{"a book whose past is taken twice", opening, opening, unique, "swept_before_pkey"},
	{"the past of a book that is not there", "",
		`INSERT INTO swept_before VALUES (99, 'po_paid', now(), 100)`, foreignKey, "swept_before_book_id_fkey"},
	{"a past that is altered", opening, `UPDATE swept_before SET amount = 1`, privilege, ""},
	{"a past that is forgotten", opening, `DELETE FROM swept_before`, privilege, ""},
	{"all pasts that are forgotten", opening, `TRUNCATE swept_before`, privilege, ""},
}
