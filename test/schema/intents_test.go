package schema_test

func anotherIntent(like, changes string) string {
	return copyOf("payment_intents", like, `{"id": "pi_new", `+changes+`}`)
}

func anotherSetup(changes string) string {
	return copyOf("setup_intents", "seti_1", `{"id": "seti_new", "checkout_session": null, `+changes+`}`)
}

// anotherAttempt is one at seti_1, which has failed and waits.
func anotherAttempt(changes string) string {
	return copyOf("setup_attempts", "setatt_1", `{"id": "setatt_new", "request_id": "req_new", `+changes+`}`)
}

const aChallenge = `"challenge": "3ds_1", "next_action": {"type": "redirect_to_url"}, "status": "requires_action"`

var intentPromises = []promise{
	{"a second charge that pays an intent", "",
		copyOf("charges", "ch_intent", `{"id": "ch_new", "request_id": "req_new", "acquirer_reference": "auth_new"}`),
		unique, "charges_intent_is_paid_once"},
	{"a second attempt at an intent that is paid", "",
		copyOf("charges", "ch_failed",
			`{"id": "ch_new", "request_id": "req_new", "payment_intent_id": "pi_1", "status": "pending",
				"failure_code": null}`), unique, "charges_intent_is_paid_once"},
	{"an intent of nothing", "",
		anotherIntent("pi_open", `"amount": 0`), check, "payment_intents_amount_is_positive"},
	{"an intent in an unknown state", "",
		anotherIntent("pi_open", `"status": "lost"`), check, "payment_intents_status_is_known"},
	{"an intent that is asked about by nobody", "",
		anotherIntent("pi_open", `"status": "processing"`), check, "payment_intents_processing_are_locked"},
	{"success that received nothing", "",
		anotherIntent("pi_1", `"amount_received": 0`), check, "payment_intents_only_succeeded_have_received"},
	{"more received than asked for", "",
		anotherIntent("pi_1", `"amount_received": 1001`), check, "payment_intents_only_succeeded_have_received"},
	{"money received without success", "",
		anotherIntent("pi_open", `"amount_received": 1`), check, "payment_intents_only_succeeded_have_received"},
	{"a paid intent that still holds money", "",
		anotherIntent("pi_1", `"amount_capturable": 1`), check, "payment_intents_only_authorized_are_capturable"},
	{"a held intent that holds nothing", "",
		anotherIntent("pi_1", `"status": "requires_capture", "amount_received": 0`), check,
		"payment_intents_only_authorized_are_capturable"},
	{"success without a charge", "",
		anotherIntent("pi_1", `"latest_charge": null`), check, "payment_intents_authorized_have_a_charge"},
	{"an action nobody can take", "",
		anotherIntent("pi_open", `"status": "requires_action"`), check, "payment_intents_next_action_is_required"},
	{"an action without a challenge", "",
		anotherIntent("pi_open", `"status": "requires_action", "next_action": {}`), check,
		"payment_intents_next_action_is_required"},
	{"a canceled intent that does not say when", "",
		anotherIntent("pi_open", `"status": "canceled"`), check, "payment_intents_canceled_have_a_time"},
	{"one challenge of two intents", anotherIntent("pi_open", aChallenge),
		copyOf("payment_intents", "pi_open", `{"id": "pi_other", `+aChallenge+`}`), unique,
		"payment_intents_one_per_challenge"},
	{"two intents with one id", "",
		copyOf("payment_intents", "pi_1", `{}`), unique, "payment_intents_pkey"},

	{"two methods with one id", "",
		copyOf("payment_methods", "pm_1", `{}`), unique, "payment_methods_pkey"},
	{"a method of no customer that exists", "",
		copyOf("payment_methods", "pm_1", `{"id": "pm_new", "customer_id": "cus_none"}`), foreignKey,
		"payment_methods_customer_exists"},
	{"a method with another merchant's customer", "",
		copyOf("payment_methods", "pm_1", `{"id": "pm_new", "account_id": "acct_2"}`), foreignKey,
		"payment_methods_customer_exists"},
	{"a customer's method that is used up", "",
		`UPDATE payment_methods SET spent_by = 'req_finished'`, check, "payment_methods_spent_have_no_customer"},
	{"two unused methods of one test id",
		"UPDATE payment_methods SET customer_id = NULL, retrieved_as = 'pm_card_visa'",
		copyOf("payment_methods", "pm_1", `{"id": "pm_new"}`), unique, "payment_methods_one_unused_per_test_id"},

	{"a setup in an unknown state", "",
		anotherSetup(`"status": "requires_capture"`), check, "setup_intents_status_is_known"},
	{"a setup that is asked about by nobody", "",
		anotherSetup(`"status": "processing"`), check, "setup_intents_processing_are_locked"},
	{"a finished setup without a method", "",
		anotherSetup(`"status": "succeeded"`), check, "setup_intents_succeeded_have_a_method"},
	{"a setup with an action nobody can take", "",
		anotherSetup(`"status": "requires_action"`), check, "setup_intents_next_action_is_required"},
	{"one challenge of two setups", anotherSetup(aChallenge),
		copyOf("setup_intents", "seti_1", `{"id": "seti_other", `+aChallenge+`}`), unique,
		"setup_intents_one_per_challenge"},
	{"two setups with one id", "",
		copyOf("setup_intents", "seti_1", `{}`), unique, "setup_intents_pkey"},

	{"two attempts of one confirmation", "",
		anotherAttempt(`"request_id": "req_failed"`), unique, "setup_attempts_one_per_request"},
	{"an attempt at no setup that exists", "",
		anotherAttempt(`"setup_intent_id": "seti_none"`), foreignKey, "setup_attempts_setup_intent_exists"},
	{"an attempt at another merchant's setup", "",
		anotherAttempt(`"account_id": "acct_2"`), foreignKey, "setup_attempts_setup_intent_exists"},
	{"an attempt in an unknown state", "",
		anotherAttempt(`"status": "lost", "setup_error": null`), check, "setup_attempts_status_is_known"},
	{"an attempt that failed without a reason", "",
		anotherAttempt(`"setup_error": null`), check, "setup_attempts_failed_have_an_error"},
	{"an attempt that succeeded and says why it failed", "",
		anotherAttempt(`"status": "abandoned"`), check, "setup_attempts_failed_have_an_error"},
	{"a second attempt while the cardholder is asked", "",
		anotherAttempt(`"status": "requires_action", "setup_error": null`),
		unique, "setup_attempts_one_open_or_succeeded_per_setup"},
	{"a setup that succeeds twice", `UPDATE setup_attempts SET status = 'succeeded' WHERE id = 'setatt_open'`,
		anotherAttempt(`"status": "succeeded", "setup_error": null`),
		unique, "setup_attempts_one_open_or_succeeded_per_setup"},
	{"two attempts with one id", "",
		copyOf("setup_attempts", "setatt_1", `{"request_id": "req_new"}`), unique, "setup_attempts_pkey"},
	{"a setup whose latest attempt is not there", "",
		anotherSetup(`"latest_attempt": "setatt_none"`), foreignKey, "setup_intents_latest_attempt_exists"},
	{"an attempt that has ended and goes on", `UPDATE setup_attempts SET status = 'abandoned' WHERE id = 'setatt_open'`,
		`UPDATE setup_attempts SET status = 'succeeded' WHERE id = 'setatt_open'`, privilege, ""},
	{"a failed attempt that is explained anew", "",
		`
			UPDATE setup_attempts SET setup_error = '{"message": "It was declined."}'
			WHERE id = 'setatt_1'`, privilege, ""},
	{"an open attempt that becomes another request's", "",
		`UPDATE setup_attempts SET request_id = 'req_new' WHERE id = 'setatt_open'`, privilege, ""},
}
