package schema_test

const someVerification = `
	INSERT INTO verifications (scope, checked_from, checked_until, clean_until, rules, left_out, violations)
	VALUES ('recent', now(), now(), now(), 1, 1, 0);`

var verificationPromises = []promise{
	{"two last runs of one scope", someVerification, someVerification, unique, "verifications_pkey"},
	{"an unknown scope", someVerification, `UPDATE verifications SET scope = 'half'`, check,
		"a_verification_is_of_recent_data_or_all"},
	{"recent data without a beginning", someVerification, `UPDATE verifications SET checked_from = NULL`, check,
		"only_recent_data_begins_somewhere"},
	{"a clean run in the future", someVerification, `UPDATE verifications SET clean_until = now() + interval '1 day'`,
		check, "a_clean_run_was_a_run"},
	{"fewer than no violations", someVerification, `UPDATE verifications SET violations = -1`, check,
		"a_verification_counts"},
}
