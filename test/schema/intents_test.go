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
		unique, "an_intent_is_paid_once"},
	{"a second attempt at an intent that is paid", "",
		copyOf("charges", "ch_failed",
			`{"id": "ch_new", "request_id": "req_new", "payment_intent_id": "pi_1", "status": "pending",
				"failure_code": null}`), unique, "an_intent_is_paid_once"},
	{"an intent of nothing", "",
		anotherIntent("pi_open", `"amount": 0`), check, "an_intent_is_of_something"},
	{"an intent in an unknown state", "",
		anotherIntent("pi_open", `"status": "lost"`), check, "an_intent_status_is_known"},
	{"an intent that is asked about by nobody", "",
		anotherIntent("pi_open", `"status": "processing"`), check, "only_one_request_works_on_an_intent"},
	{"success that received nothing", "",
		anotherIntent("pi_1", `"amount_received": 0`), check, "a_paid_intent_received_something"},
	{"more received than asked for", "",
		anotherIntent("pi_1", `"amount_received": 1001`), check, "a_paid_intent_received_something"},
	{"money received without success", "",
		anotherIntent("pi_open", `"amount_received": 1`), check, "a_paid_intent_received_something"},
	{"a paid intent that still holds money", "",
		anotherIntent("pi_1", `"amount_capturable": 1`), check, "only_a_held_intent_is_capturable"},
	{"a held intent that holds nothing", "",
		anotherIntent("pi_1", `"status": "requires_capture", "amount_received": 0`), check,
		"only_a_held_intent_is_capturable"},
	{"success without a charge", "",
		anotherIntent("pi_1", `"latest_charge": null`), check, "money_on_an_intent_has_a_charge"},
	{"an action nobody can take", "",
		anotherIntent("pi_open", `"status": "requires_action"`), check, "an_action_is_what_is_required"},
	{"an action without a challenge", "",
		anotherIntent("pi_open", `"status": "requires_action", "next_action": {}`), check,
		"an_action_is_what_is_required"},
	{"a canceled intent that does not say when", "",
		anotherIntent("pi_open", `"status": "canceled"`), check, "a_canceled_intent_says_when"},
	{"one challenge of two intents", anotherIntent("pi_open", aChallenge),
		copyOf("payment_intents", "pi_open", `{"id": "pi_other", `+aChallenge+`}`), unique,
		"a_challenge_is_of_one_intent"},
	{"two intents with one id", "",
		copyOf("payment_intents", "pi_1", `{}`), unique, "payment_intents_pkey"},

	{"two methods with one id", "",
		copyOf("payment_methods", "pm_1", `{}`), unique, "payment_methods_pkey"},
	{"a method of no customer that exists", "",
		copyOf("payment_methods", "pm_1", `{"id": "pm_new", "customer_id": "cus_none"}`), foreignKey,
		"a_method_belongs_to_a_customer"},
	{"a method with another merchant's customer", "",
		copyOf("payment_methods", "pm_1", `{"id": "pm_new", "account_id": "acct_2"}`), foreignKey,
		"a_method_belongs_to_a_customer"},
	{"a customer's method that is used up", "",
		`UPDATE payment_methods SET spent_by = 'req_finished'`, check, "a_spent_method_is_nobodys"},
	{"two unused methods of one test id",
		"UPDATE payment_methods SET customer_id = NULL, retrieved_as = 'pm_card_visa'",
		copyOf("payment_methods", "pm_1", `{"id": "pm_new"}`), unique, "one_unused_method_per_test_id"},

	{"a setup in an unknown state", "",
		anotherSetup(`"status": "requires_capture"`), check, "a_setup_status_is_known"},
	{"a setup that is asked about by nobody", "",
		anotherSetup(`"status": "processing"`), check, "only_one_request_works_on_a_setup"},
	{"a finished setup without a method", "",
		anotherSetup(`"status": "succeeded"`), check, "a_finished_setup_has_a_method"},
	{"a setup with an action nobody can take", "",
		anotherSetup(`"status": "requires_action"`), check, "a_setup_action_is_what_is_required"},
	{"one challenge of two setups", anotherSetup(aChallenge),
		copyOf("setup_intents", "seti_1", `{"id": "seti_other", `+aChallenge+`}`), unique,
		"a_challenge_is_of_one_setup"},
	{"two setups with one id", "",
		copyOf("setup_intents", "seti_1", `{}`), unique, "setup_intents_pkey"},

	{"two attempts of one confirmation", "",
		anotherAttempt(`"request_id": "req_failed"`), unique, "a_confirmation_makes_one_attempt"},
	{"an attempt at no setup that exists", "",
		anotherAttempt(`"setup_intent_id": "seti_none"`), foreignKey, "an_attempt_has_its_setup"},
	{"an attempt at another merchant's setup", "",
		anotherAttempt(`"account_id": "acct_2"`), foreignKey, "an_attempt_has_its_setup"},
	{"an attempt in an unknown state", "",
		anotherAttempt(`"status": "lost", "setup_error": null`), check, "an_attempt_status_is_known"},
	{"an attempt that failed without a reason", "",
		anotherAttempt(`"setup_error": null`), check, "a_failed_attempt_says_why"},
	{"an attempt that succeeded and says why it failed", "",
		anotherAttempt(`"status": "abandoned"`), check, "a_failed_attempt_says_why"},
	{"a second attempt while the cardholder is asked", "",
		anotherAttempt(`"status": "requires_action", "setup_error": null`), unique, "a_setup_is_done_once"},
	{"a setup that succeeds twice", `UPDATE setup_attempts SET status = 'succeeded' WHERE id = 'setatt_open'`,
		anotherAttempt(`"status": "succeeded", "setup_error": null`), unique, "a_setup_is_done_once"},
	{"two attempts with one id", "",
		copyOf("setup_attempts", "setatt_1", `{"request_id": "req_new"}`), unique, "setup_attempts_pkey"},
	{"a setup whose latest attempt is not there", "",
		anotherSetup(`"latest_attempt": "setatt_none"`), foreignKey, "the_latest_attempt_is_kept"},
	{"an attempt that has ended and goes on", `UPDATE setup_attempts SET status = 'abandoned' WHERE id = 'setatt_open'`,
		`UPDATE setup_attempts SET status = 'succeeded' WHERE id = 'setatt_open'`, privilege, ""},
	{"a failed attempt that is explained anew", "",
		`
			UPDATE setup_attempts SET setup_error = '{"message": "It was declined."}'
			WHERE id = 'setatt_1'`, privilege, ""},
	{"an open attempt that becomes another request's", "",
		`UPDATE setup_attempts SET request_id = 'req_new' WHERE id = 'setatt_open'`, privilege, ""},
}
