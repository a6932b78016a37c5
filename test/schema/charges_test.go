package schema_test

func anotherCharge(like, changes string) string {
	return copyOf("charges", like, `{"id": "ch_new", "request_id": "req_new", `+changes+`}`)
}

func anotherRefund(like, changes string) string {
	return copyOf("refunds", like, `{"id": "re_new", "request_id": "req_new", `+changes+`}`)
}

var chargePromises = []promise{
	{"more captured than charged", "",
		`UPDATE charges SET amount_captured = 1001 WHERE id = 'ch_1'`, check, "no_more_is_captured_than_charged"},
	{"less than nothing captured", "",
		`
			UPDATE charges SET amount_captured = -1, captured = false, balance_transaction = NULL
			WHERE id = 'ch_1'`, check, "no_more_is_captured_than_charged"},
	{"more refunded than charged", "",
		`UPDATE charges SET amount_refunded = 1001 WHERE id = 'ch_1'`, check, "no_more_is_refunded_than_charged"},
	{"less than nothing refunded", "",
		`UPDATE charges SET amount_refunded = -1 WHERE id = 'ch_1'`, check, "no_more_is_refunded_than_charged"},
	{"a charge of nothing", "",
		anotherCharge("ch_failed", `"amount": 0`), check, "a_charge_is_of_something"},
	{"a charge in an unknown status", "",
		anotherCharge("ch_failed", `"status": "lost", "failure_code": null`), check, "a_charge_status_is_known"},
	{"success without an authorization", "",
		anotherCharge("ch_1", `"acquirer_reference": null`), check, "success_has_an_authorization"},
	{"failure without a code", "",
		anotherCharge("ch_failed", `"failure_code": null`), check, "failure_has_a_code"},
	{"a code without failure", "",
		`UPDATE charges SET failure_code = 'card_declined' WHERE id = 'ch_1'`, check, "failure_has_a_code"},
	{"captured money without a posting", "",
		`UPDATE charges SET balance_transaction = NULL WHERE id = 'ch_1'`, check, "captured_money_is_posted"},
	{"a posting of what was not captured", "",
		`UPDATE charges SET captured = false WHERE id = 'ch_1'`, check, "captured_money_is_posted"},
	{"money captured of a charge that is pending", "",
		`UPDATE charges SET status = 'pending' WHERE id = 'ch_1'`, check, "only_success_is_captured"},
	{"money settled that was never captured", "",
		`UPDATE charges SET settling = true WHERE id = 'ch_failed'`, check, "only_captured_money_settles"},
	{"two charges of one request", "",
		copyOf("charges", "ch_1", `{"id": "ch_new", "acquirer_reference": "auth_new"}`), unique,
		"a_request_makes_one_charge"},
	{"two charges of one authorization", "",
		anotherCharge("ch_1", `"acquirer_reference": "auth_1"`), unique, "an_authorization_belongs_to_one_charge"},
	{"two charges with one id", "",
		copyOf("charges", "ch_1", `{"request_id": "req_new", "acquirer_reference": "auth_new"}`), unique,
		"charges_pkey"},
	{"a settled charge dropped as superseded", "",
		`SELECT drop_superseded_charge('acct_1', 'ch_1')`, privilege, ""},
	{"a pending charge dropped as superseded that no adoption has superseded",
		anotherCharge("ch_failed", `"status": "pending", "failure_code": null`),
		`SELECT drop_superseded_charge('acct_1', 'ch_new')`, privilege, ""},
}

var refundPromises = []promise{
	{"a refund of a charge that does not exist", "",
		anotherRefund("re_1", `"charge_id": "ch_none"`), foreignKey, "a_refund_has_its_charge"},
	{"a refund of another merchant's charge", "",
		anotherRefund("re_1", `"account_id": "acct_2"`), foreignKey, "a_refund_has_its_charge"},
	{"a charge deleted under its refund", "",
		`DELETE FROM charges WHERE id = 'ch_1'`, foreignKey, "a_refund_has_its_charge"},
	{"a refund object of nothing", "",
		anotherRefund("re_1", `"amount": 0`), check, "a_refund_is_of_something"},
	{"a refund in an unknown status", "",
		anotherRefund("re_failed", `"status": "lost", "failure_reason": null`), check, "a_refund_status_is_known"},
	{"a refund of an unknown kind", "",
		anotherRefund("re_failed", `"kind": "gift"`), check, "a_refund_kind_is_known"},
	{"a succeeded refund without a posting", "",
		anotherRefund("re_1", `"balance_transaction": null`), check, "refunded_money_is_posted"},
	{"a posting of money that was never captured", "",
		anotherRefund("re_1", `"kind": "void"`), check, "refunded_money_is_posted"},
	{"a failed refund that does not say why", "",
		anotherRefund("re_failed", `"failure_reason": null`), check, "a_failed_refund_says_why"},
	{"two refunds of one request", "",
		copyOf("refunds", "re_1", `{"id": "re_new"}`), unique, "a_request_makes_one_refund"},
	{"two refunds with one id", "",
		copyOf("refunds", "re_1", `{"request_id": "req_new"}`), unique, "refunds_pkey"},
}

var customerPromises = []promise{
	{"two customers with one id", "",
		copyOf("customers", "cus_1", `{}`), unique, "customers_pkey"},
	{"two cards with one id", "",
		copyOf("cards", "card_1", `{}`), unique, "cards_pkey"},
	{"two tokens with one id", "",
		copyOf("tokens", "tok_1", `{}`), unique, "tokens_pkey"},
	{"two confirmation tokens with one id", "",
		copyOf("confirmation_tokens", "ctoken_1", `{}`), unique, "confirmation_tokens_pkey"},
	{"a confirmation token of no method", "",
		copyOf("confirmation_tokens", "ctoken_1", `{"id": "ctoken_2", "payment_method_id": "pm_none"}`), foreignKey,
		"a_confirmation_token_has_a_method"},
	{"a confirmation token that was used for no intent", "",
		`UPDATE confirmation_tokens SET used_by = 'req_finished'`, check,
		"a_used_confirmation_token_names_its_intent"},
	{"a customer of a clock that does not exist", "",
		`UPDATE customers SET test_clock = 'clock_none'`, foreignKey, "a_customer_has_its_clock"},
	{"an unknown tax status", "",
		`UPDATE customers SET tax_exempt = 'maybe'`, check, "a_tax_status_is_known"},
	{"a card of no customer", "",
		copyOf("cards", "card_1", `{"id": "card_2", "customer_id": "cus_none"}`), foreignKey,
		"a_card_belongs_to_a_customer"},
	{"a card with another merchant's customer", "",
		copyOf("cards", "card_1", `{"account_id": "acct_2"}`), foreignKey, "a_card_belongs_to_a_customer"},
}
