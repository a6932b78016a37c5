package schema_test

import "fmt"

func anotherDispute(like, changes string) string {
	return copyOf("disputes", like,
		`{"id": "du_new", "request_id": "req_new", "acquirer_reference": "dsp_new", `+changes+`}`)
}

var disputePromises = []promise{
	{"a dispute that is opened twice", "",
		copyOf("disputes", "du_1", `{"id": "du_new", "request_id": "req_new"}`),
		unique, "disputes_one_per_acquirer_reference"},
	{"two disputes of one message", "",
		copyOf("disputes", "du_1", `{"id": "du_new", "acquirer_reference": "dsp_new"}`), unique,
		"disputes_one_per_request"},
	{"two disputes with one id", "",
		copyOf("disputes", "du_1", `{"request_id": "req_new", "acquirer_reference": "dsp_new"}`), unique,
		"disputes_pkey"},
	{"a dispute of another merchant's charge", "",
		anotherDispute("du_1", `"account_id": "acct_2"`), foreignKey, "disputes_charge_exists"},
	{"a dispute of nothing", "",
		anotherDispute("du_1", `"amount": 0`), check, "disputes_amount_is_positive"},
	{"a dispute in an unknown state", "",
		anotherDispute("du_1", `"status": "forgotten"`), check, "disputes_status_is_known"},
	{"a chargeback that took nothing", "",
		anotherDispute("du_1", `"withdrawal": null`), check, "disputes_only_chargebacks_withdraw"},
	{"an inquiry that took money", "",
		anotherDispute("du_asks", `"withdrawal": "txn_new"`), check, "disputes_only_chargebacks_withdraw"},
	{"a dispute that is won and gives nothing back", "",
		`UPDATE disputes SET status = 'won' WHERE id = 'du_1'`, check, "disputes_only_won_are_reinstated"},
	{"money given back of a dispute that is not won", "",
		`UPDATE disputes SET reinstatement = 'txn_new' WHERE id = 'du_1'`, check, "disputes_only_won_are_reinstated"},
	{"more charged back than was captured", "",
		`
			UPDATE charges SET disputed = true, amount_charged_back = 1001
			WHERE id = 'ch_1'`, check, "charges_charged_back_is_at_most_captured"},
	{"more won back than was charged back", "",
		`
			UPDATE charges SET disputed = true, amount_charged_back = -1
			WHERE id = 'ch_1'`, check, "charges_charged_back_is_at_most_captured"},
	{"money charged back of an undisputed charge", "",
		`UPDATE charges SET amount_charged_back = 1 WHERE id = 'ch_1'`, check, "charges_charged_back_are_disputed"},
	{"a refund that comes back and has not failed", "",
		`
			UPDATE refunds SET status = 'succeeded', failure_reason = NULL
			WHERE id = 're_back'`, check, "refunds_only_failed_are_returned"},
	{"two refunds of one refund at the acquirer", "",
		copyOf("refunds", "re_back", `{"id": "re_new", "request_id": "req_new"}`), unique,
		"refunds_one_per_acquirer_reference"},
}

func another(table, changes string) string {
	return fmt.Sprintf(`
		INSERT INTO %s SELECT (jsonb_populate_record(original, '%s')).* FROM %[1]s original;`, table, changes)
}

var settlementPromises = []promise{
	{"a movement that is settled twice", "",
		another("settlements", `{"request_id": "req_new", "posting_id": "txn_new"}`), unique,
		"settlements_one_per_movement"},
	{"a settlement of another merchant's charge", "",
		another("settlements", `{"account_id": "acct_2"}`), foreignKey, "settlements_charge_exists"},
	{"a settlement of nothing", "",
		another("settlements", `{"acquirer_reference": "auth_new", "amount": 0}`), check,
		"settlements_amount_is_positive"},
	{"a settlement of something that is no movement", "",
		another("settlements", `{"movement": "gift"}`), check, "settlements_movement_is_known"},
	{"a settlement without a posting", "",
		another("settlements", `{"acquirer_reference": "auth_new", "posting_id": null}`), notNull, ""},
	{"two parts with one id", "",
		another("settlement_parts", `{"request_id": "req_new"}`), unique, "settlement_parts_pkey"},
	{"two parts of one message", "",
		another("settlement_parts", `{"id": "stl_new"}`), unique, "settlement_parts_one_per_request"},
	{"a part beyond the last of its batch", "",
		another("settlement_parts", `{"id": "stl_new", "request_id": "req_new", "part": 2}`), check,
		"settlement_parts_part_is_in_its_batch"},
	{"a part of no movements", "",
		another("settlement_parts", `{"id": "stl_new", "request_id": "req_new", "movements": 0}`), check,
		"settlement_parts_have_1_to_1000_movements"},
	{"a part of more movements than one statement should book", "",
		another("settlement_parts", `{"id": "stl_new", "request_id": "req_new", "movements": 1001}`), check,
		"settlement_parts_have_1_to_1000_movements"},
	{"a part with a negative sum", "",
		another("settlement_parts", `{"id": "stl_new", "request_id": "req_new", "taken": -1}`), check,
		"settlement_parts_sums_are_not_negative"},
	{"a movement that waits twice", "",
		another("movements_waiting", `{"batch": "batch_2", "amount": 1}`),
		unique, "movements_waiting_one_per_movement"},
	{"a movement of nothing that waits", "",
		another("movements_waiting", `{"acquirer_reference": "auth_new", "amount": 0}`), check,
		"movements_waiting_amount_is_positive"},
	{"a waiting movement that changes its amount", "",
		`UPDATE movements_waiting SET amount = 1`, privilege, ""},
	{"a waiting movement that changes its amount while triggers are silenced",
		`SET LOCAL session_replication_role = replica`,
		`UPDATE movements_waiting SET amount = 1`, privilege, ""},
	{"a waiting movement that leaves and is not settled", "",
		`DELETE FROM movements_waiting`, privilege, ""},
	{"a waiting movement that leaves unsettled while triggers are silenced",
		`SET LOCAL session_replication_role = replica`,
		`DELETE FROM movements_waiting`, privilege, ""},
	{"the waiting movements emptied", "", `TRUNCATE movements_waiting`, privilege, ""},
	{"a movement set aside twice by one request", "",
		another("movements_set_aside", `{"amount": 1}`), unique, "movements_set_aside_one_per_movement"},
	{"a charge that is to be shown twice", "",
		another("charges_to_show", `{}`), unique, "charges_to_show_one_per_charge"},
}

// acknowledged is an operator's word about the contradictions there are.
func acknowledged(because string) string {
	return `INSERT INTO inbox_acknowledgments (source, event_id, digest, acknowledged_by, because)
		SELECT source, event_id, digest, 'ops', '` + because + `' FROM inbox_contradictions;`
}

var inboxPromises = []promise{
	{"a message that is taken twice", "",
		`INSERT INTO inbox SELECT * FROM inbox WHERE event_id = 'note_applied'`, unique, "inbox_one_per_event"},
	{"a message in an unknown state", "",
		`
			UPDATE inbox SET state = 'lost', due_at = NULL
			WHERE event_id = 'note_waiting'`, check, "inbox_state_is_known"},
	{"a message applied by nobody", "",
		`
			UPDATE inbox SET state = 'applied', reason = NULL, due_at = NULL
			WHERE event_id = 'note_waiting'`, check, "inbox_applied_have_a_request"},
	{"a message that waits for ever", "",
		`UPDATE inbox SET due_at = NULL WHERE event_id = 'note_waiting'`, check, "inbox_waiting_have_a_due_time"},
	{"a message that waits for no reason", "",
		`UPDATE inbox SET reason = NULL WHERE event_id = 'note_waiting'`, check, "inbox_not_applied_have_a_reason"},
	{"a digest of another length than sha256", "",
		`
			INSERT INTO inbox (source, event_id, kind, digest, body, state, reason, due_at)
			VALUES ('acquirer', 'note_new', 'x', 'short', 'x', 'waiting', 'x', now())`,
		check, "inbox_digest_is_sha256"},
	{"an applied message that is applied again", "",
		`UPDATE inbox SET request_id = 'req_new' WHERE event_id = 'note_applied'`, privilege, ""},
	{"a message that says something else", "",
		`UPDATE inbox SET body = 'another' WHERE event_id = 'note_waiting'`, privilege, ""},
	{"a contradiction acknowledged twice", acknowledged("known"), acknowledged("known"), unique,
		"inbox_acknowledgments_one_per_contradiction"},
	{"a contradiction acknowledged without a reason", "", acknowledged(""),
		check, "inbox_acknowledgments_have_a_reason"},
	{"an acknowledgment of a message that contradicts nothing", "",
		`
			INSERT INTO inbox_acknowledgments (source, event_id, digest, acknowledged_by, because)
			VALUES ('acquirer', 'note_applied', sha256('another'), 'ops', 'known')`,
		foreignKey, "inbox_acknowledgments_contradiction_exists"},
	{"a message deleted", "", `DELETE FROM inbox WHERE event_id = 'note_waiting'`, privilege, ""},
	{"the inbox emptied", "", `TRUNCATE inbox CASCADE`, privilege, ""},
	{"a contradiction kept twice", "",
		`INSERT INTO inbox_contradictions SELECT * FROM inbox_contradictions`,
		unique, "inbox_contradictions_one_per_digest"},
	{"a contradiction of nothing", "",
		`
			INSERT INTO inbox_contradictions (source, event_id, digest, body)
			VALUES ('acquirer', 'note_nobody', sha256('x'), 'x')`, foreignKey, "inbox_contradictions_message_exists"},
}
