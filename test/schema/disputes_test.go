package schema_test

import "fmt"

func anotherDispute(like, changes string) string {
	return copyOf("disputes", like,
		`{"id": "du_new", "request_id": "req_new", "acquirer_reference": "dsp_new", `+changes+`}`)
}

var disputePromises = []promise{
	{"a dispute that is opened twice", "",
		copyOf("disputes", "du_1", `{"id": "du_new", "request_id": "req_new"}`), unique, "a_dispute_is_opened_once"},
	{"two disputes of one message", "",
		copyOf("disputes", "du_1", `{"id": "du_new", "acquirer_reference": "dsp_new"}`), unique,
		"a_message_opens_one_dispute"},
	{"two disputes with one id", "",
		copyOf("disputes", "du_1", `{"request_id": "req_new", "acquirer_reference": "dsp_new"}`), unique,
		"disputes_pkey"},
	{"a dispute of another merchant's charge", "",
		anotherDispute("du_1", `"account_id": "acct_2"`), foreignKey, "a_dispute_has_its_charge"},
	{"a dispute of nothing", "",
		anotherDispute("du_1", `"amount": 0`), check, "a_dispute_is_of_something"},
	{"a dispute in an unknown state", "",
		anotherDispute("du_1", `"status": "forgotten"`), check, "a_dispute_status_is_known"},
	{"a chargeback that took nothing", "",
		anotherDispute("du_1", `"withdrawal": null`), check, "only_a_chargeback_moves_money"},
	{"an inquiry that took money", "",
		anotherDispute("du_asks", `"withdrawal": "txn_new"`), check, "only_a_chargeback_moves_money"},
	{"a dispute that is won and gives nothing back", "",
		`UPDATE disputes SET status = 'won' WHERE id = 'du_1'`, check, "only_what_is_won_comes_back"},
	{"money given back of a dispute that is not won", "",
		`UPDATE disputes SET reinstatement = 'txn_new' WHERE id = 'du_1'`, check, "only_what_is_won_comes_back"},
	{"more charged back than was captured", "",
		`
			UPDATE charges SET disputed = true, amount_charged_back = 1001
			WHERE id = 'ch_1'`, check, "no_more_is_charged_back_than_captured"},
	{"more won back than was charged back", "",
		`
			UPDATE charges SET disputed = true, amount_charged_back = -1
			WHERE id = 'ch_1'`, check, "no_more_is_charged_back_than_captured"},
	{"money charged back of an undisputed charge", "",
		`UPDATE charges SET amount_charged_back = 1 WHERE id = 'ch_1'`, check, "what_is_charged_back_is_disputed"},
	{"a refund that comes back and has not failed", "",
		`
			UPDATE refunds SET status = 'succeeded', failure_reason = NULL
			WHERE id = 're_back'`, check, "only_a_failed_refund_comes_back"},
	{"two refunds of one refund at the acquirer", "",
		copyOf("refunds", "re_back", `{"id": "re_new", "request_id": "req_new"}`), unique,
		"the_acquirer_makes_one_refund"},
}

func another(table, changes string) string {
	return fmt.Sprintf(`
		INSERT INTO %s SELECT (jsonb_populate_record(original, '%s')).* FROM %[1]s original;`, table, changes)
}

var settlementPromises = []promise{
	{"a movement that is settled twice", "",
		another("settlements", `{"request_id": "req_new", "posting_id": "txn_new"}`), unique,
		"a_movement_is_settled_once"},
	{"a settlement of another merchant's charge", "",
		another("settlements", `{"account_id": "acct_2"}`), foreignKey, "a_settlement_has_its_charge"},
	{"a settlement of nothing", "",
		another("settlements", `{"acquirer_reference": "auth_new", "amount": 0}`), check,
		"a_settlement_is_of_something"},
	{"a settlement of something that is no movement", "",
		another("settlements", `{"movement": "gift"}`), check, "a_settled_movement_is_known"},
	{"a settlement without a posting", "",
		another("settlements", `{"acquirer_reference": "auth_new", "posting_id": null}`), notNull, ""},
	{"two parts with one id", "",
		another("settlement_parts", `{"request_id": "req_new"}`), unique, "settlement_parts_pkey"},
	{"two parts of one message", "",
		another("settlement_parts", `{"id": "stl_new"}`), unique, "a_message_reports_one_part"},
	{"a part beyond the last of its batch", "",
		another("settlement_parts", `{"id": "stl_new", "request_id": "req_new", "part": 2}`), check,
		"a_part_is_one_of_its_batch"},
	{"a part of no movements", "",
		another("settlement_parts", `{"id": "stl_new", "request_id": "req_new", "movements": 0}`), check,
		"a_part_has_a_size"},
	{"a part of more movements than one statement should book", "",
		another("settlement_parts", `{"id": "stl_new", "request_id": "req_new", "movements": 1001}`), check,
		"a_part_has_a_size"},
	{"a part with a negative sum", "",
		another("settlement_parts", `{"id": "stl_new", "request_id": "req_new", "taken": -1}`), check,
		"a_part_has_sums"},
	{"a movement that waits twice", "",
		another("movements_waiting", `{"batch": "batch_2", "amount": 1}`), unique, "a_movement_waits_once"},
	{"a movement of nothing that waits", "",
		another("movements_waiting", `{"acquirer_reference": "auth_new", "amount": 0}`), check,
		"a_waiting_movement_is_of_something"},
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
		another("movements_set_aside", `{"amount": 1}`), unique, "a_movement_is_set_aside_once_by_a_request"},
	{"a charge that is to be shown twice", "",
		another("charges_to_show", `{}`), unique, "a_charge_is_shown_once"},
}

// acknowledged is an operator's word about the contradictions there are.
func acknowledged(because string) string {
	return `INSERT INTO inbox_acknowledgments (source, event_id, digest, acknowledged_by, because)
		SELECT source, event_id, digest, 'ops', '` + because + `' FROM inbox_contradictions;`
}

var inboxPromises = []promise{
	{"a message that is taken twice", "",
		`INSERT INTO inbox SELECT * FROM inbox WHERE event_id = 'note_applied'`, unique, "a_message_is_taken_once"},
	{"a message in an unknown state", "",
		`
			UPDATE inbox SET state = 'lost', due_at = NULL
			WHERE event_id = 'note_waiting'`, check, "a_message_state_is_known"},
	{"a message applied by nobody", "",
		`
			UPDATE inbox SET state = 'applied', reason = NULL, due_at = NULL
			WHERE event_id = 'note_waiting'`, check, "applied_names_its_request"},
	{"a message that waits for ever", "",
		`UPDATE inbox SET due_at = NULL WHERE event_id = 'note_waiting'`, check, "waiting_has_a_due_time_too"},
	{"a message that waits for no reason", "",
		`UPDATE inbox SET reason = NULL WHERE event_id = 'note_waiting'`, check, "what_is_not_applied_says_why"},
	{"a digest of another length than sha256", "",
		`
			INSERT INTO inbox (source, event_id, kind, digest, body, state, reason, due_at)
			VALUES ('acquirer', 'note_new', 'x', 'short', 'x', 'waiting', 'x', now())`,
		check, "a_message_digest_is_sha256"},
	{"an applied message that is applied again", "",
		`UPDATE inbox SET request_id = 'req_new' WHERE event_id = 'note_applied'`, privilege, ""},
	{"a message that says something else", "",
		`UPDATE inbox SET body = 'another' WHERE event_id = 'note_waiting'`, privilege, ""},
	{"a contradiction acknowledged twice", acknowledged("known"), acknowledged("known"), unique,
		"a_contradiction_is_acknowledged_once"},
	{"a contradiction acknowledged without a reason", "", acknowledged(""), check, "an_acknowledgment_has_a_reason"},
	{"an acknowledgment of a message that contradicts nothing", "",
		`
			INSERT INTO inbox_acknowledgments (source, event_id, digest, acknowledged_by, because)
			VALUES ('acquirer', 'note_applied', sha256('another'), 'ops', 'known')`,
		foreignKey, "what_is_acknowledged_is_there"},
	{"a message deleted", "", `DELETE FROM inbox WHERE event_id = 'note_waiting'`, privilege, ""},
	{"the inbox emptied", "", `TRUNCATE inbox CASCADE`, privilege, ""},
	{"a contradiction kept twice", "",
		`INSERT INTO inbox_contradictions SELECT * FROM inbox_contradictions`, unique, "a_contradiction_is_kept_once"},
	{"a contradiction of nothing", "",
		`
			INSERT INTO inbox_contradictions (source, event_id, digest, body)
			VALUES ('acquirer', 'note_nobody', sha256('x'), 'x')`, foreignKey, "a_contradiction_has_its_message"},
}
