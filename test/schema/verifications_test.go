package schema_test

const someVerification = `
	INSERT INTO verifications (scope, checked_from, checked_until, clean_until, rules, left_out, violations)
	VALUES ('recent', now(), now(), now(), 1, 1, 0);`

var verificationPromises = []promise{
	{"two last runs of one scope", someVerification, someVerification, unique, "verifications_pkey"},
	{"an unknown scope", someVerification, `UPDATE verifications SET scope = 'half'`, check,
		"verifications_scope_is_known"},
	{"recent data without a beginning", someVerification, `UPDATE verifications SET checked_from = NULL`, check,
		"verifications_only_recent_have_a_start"},
	{"a clean run in the future", someVerification, `UPDATE verifications SET clean_until = now() + interval '1 day'`,
		check, "verifications_clean_until_is_checked"},
	{"fewer than no violations", someVerification, `UPDATE verifications SET violations = -1`, check,
		"verifications_counts_are_not_negative"},
}
