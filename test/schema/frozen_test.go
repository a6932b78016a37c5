package schema_test

import "fmt"

// A frozenTable only grows.
type frozenTable struct {
	name   string
	change string // what an UPDATE would set
	rule   string // what refuses it, where that has a name
}

var frozenTables = []frozenTable{
	{"ledger_books", `currency = 'gbp'`, ""},
	{"ledger_postings", `available_on = available_on + interval '1 day'`, ""},
	{"ledger_refund_chain", `amount = amount - 1`, ""},
	{"requests", `key = 'another'`, "requests_are_final"},
	{"answers", `status = 402`, "answers_are_final"},
	{"foreign_calls", `proof = 'another'`, ""},
	{"recovery_points", `position = position + 7`, ""},
	{"settlements", `amount = amount + 1`, ""},
	{"settlement_parts", `paid = paid + 1`, ""},
	{"movements_set_aside", `amount = amount + 1`, ""},
	{"setup_attempts", `usage = 'on_session'`, ""},
	{"inbox_contradictions", `body = 'another'`, ""},
	{"takeovers", `owner_pid = 1`, ""},
	{"fence_refusals", `at = at + interval '1 day'`, ""},
	{"events", `data = '{"amount": 1}'`, ""},
	{"audit_events", `actor = 'nobody'`, ""},
	{"audit_blocks", `digest = previous`, ""},
	{"audit_detachments", `rows = rows + 1`, ""},
	{"archived_answers", `body = 'another'`, ""},
	{"detached_months", `rows = rows + 1`, ""},
}

// frozenPromises are tried twice: a restore or a replica silences
// ordinary triggers, and these must not fall silent.
func frozenPromises() []promise {
	var promises []promise
	for _, mode := range []struct{ words, set string }{
		{"", ""},
		{" while triggers are silenced", `SET LOCAL session_replication_role = replica`},
	} {
		for _, table := range frozenTables {
			promises = append(promises,
				promise{"an update of " + table.name + mode.words, mode.set,
					fmt.Sprintf(`UPDATE %s SET %s`, table.name, table.change), privilege, table.rule},
				promise{"a deletion from " + table.name + mode.words, mode.set, `DELETE FROM ` + table.name, privilege,
					""},
				promise{"a truncation of " + table.name + mode.words, mode.set, `TRUNCATE ` + table.name + ` CASCADE`,
					privilege, ""})
		}
	}
	return promises
}

var auditPromises = []promise{
	{"an answer changed and called erased", "",
		`
			UPDATE answers SET body = '{"amount":1}', redacted_at = now()
			WHERE request_id = 'req_finished'`, privilege, "answers_are_final"},
	{"parameters changed and called erased", `
		UPDATE answers SET body = redact_pii(body), redacted_at = now() WHERE request_id = 'req_finished'`,
		`UPDATE requests SET params = '{"amount":1}' WHERE id = 'req_finished'`, privilege, "requests_are_final"},
	{"an answer erased without saying so", "",
		`UPDATE answers SET body = redact_pii(body) WHERE request_id = 'req_finished'`, privilege, "answers_are_final"},
	{"another fact changed while an answer is erased", "",
		`
			UPDATE answers SET body = redact_pii(body), redacted_at = now(), object_id = 'ch_2'
			WHERE request_id = 'req_finished'`, privilege, "answers_are_final"},
	{"another fact changed while an event is erased", "",
		`UPDATE events SET data = redact_pii(data), object_id = 'ch_2'`, privilege, ""},
	{"an archived answer replaced by another", "",
		`UPDATE archived_answers SET body = '{"amount":1}'`, privilege, ""},
	{"a posting described anew", "",
		`UPDATE ledger_postings SET description = 'another'`, privilege, ""},
	{"an event told twice", "",
		copyOf("events", "evt_1", `{"id": "evt_2"}`), unique, "events_are_told_once"},
	{"two events with one id", "",
		copyOf("events", "evt_1", `{"type": "charge.failed"}`), unique, "events_default_pkey"},
	{"an answer archived twice", "",
		`INSERT INTO archived_answers SELECT * FROM archived_answers`, unique, "archived_answers_default_pkey"},

	{"two audit rows with one time and id", "",
		copyOf("audit_events", "aud_unprepared_month", `{"actor": "nobody"}`), unique, "audit_events_default_pkey"},
	{"personal details erased without their salt", "",
		`UPDATE audit_events SET details = NULL`, privilege, ""},
	{"personal details erased and rewritten", `UPDATE audit_events SET details = NULL, salt = NULL`,
		`UPDATE audit_events SET details = 'another', salt = 'salt'`, privilege, ""},
	{"another fact changed while details are erased", "",
		`UPDATE audit_events SET details = NULL, salt = NULL, actor = 'nobody'`, privilege, ""},
	{"an audit row changed in its partition while triggers are silenced",
		`SET LOCAL session_replication_role = replica`,
		`UPDATE audit_events_default SET actor = 'nobody'`, privilege, ""},
	{"an audit row deleted from its partition while triggers are silenced",
		`SET LOCAL session_replication_role = replica`,
		`DELETE FROM audit_events_default`, privilege, ""},
	{"an audit row deleted from a partition made later",
		`SELECT ensure_audit_partitions(12);
		 INSERT INTO audit_events (at, id, account_id, livemode, request_id, idempotency_key, actor, address,
		        operation, object_id, status, error_code, commitment, salt, details)
		 SELECT at + interval '11 months', id, account_id, livemode, request_id, idempotency_key, actor, address,
		        operation, object_id, status, error_code, commitment, salt, details FROM audit_events
		    WHERE id = 'aud_1';
		 SET LOCAL session_replication_role = replica`,
		`DELETE FROM audit_events WHERE at > now() + interval '10 months'`, privilege, ""},
	{"audit details without a salt", "",
		`
			INSERT INTO audit_events (at, id, account_id, livemode, request_id, actor, operation, status, commitment,
				details)
		 VALUES (now(), 'aud_2', 'acct_1', false, 'req_finished', 'key_1', 'x', 200, sha256('1'), 'details')`,
		check, "audit_events_details_have_a_salt"},
	{"a commitment of another length", "",
		`INSERT INTO audit_events (at, id, account_id, livemode, request_id, actor, operation, status, commitment)
		 VALUES (now(), 'aud_2', 'acct_1', false, 'req_finished', 'key_1', 'x', 200, 'short')`,
		check, "audit_events_commitment_is_sha256"},
	{"a digest of an answer that is too short", "",
		`
			INSERT INTO audit_events (at, id, account_id, livemode, request_id, actor, operation, status, commitment,
				answer_digest)
		 VALUES (now(), 'aud_2', 'acct_1', false, 'req_finished', 'key_1', 'x', 200, sha256('x'), 'short')`,
		check, "audit_events_answer_digest_is_sha256"},

	{"two blocks with one number", "",
		`
			INSERT INTO audit_blocks (no, from_xid, to_xid, rows, previous, digest)
			VALUES (1, 2, 3, 0, sha256('1'), sha256('2'))`,
		unique, "audit_blocks_pkey"},
	{"a block with two successors", "",
		`
			INSERT INTO audit_blocks (no, from_xid, to_xid, rows, previous, digest)
			VALUES (2, 2, 3, 0, sha256('0'), sha256('2'))`,
		unique, "audit_blocks_have_one_successor"},
	{"a transaction sealed by two blocks", "",
		`
			INSERT INTO audit_blocks (no, from_xid, to_xid, rows, previous, digest)
			VALUES (2, 1, 2, 0, sha256('1'), sha256('2'))`,
		unique, "audit_blocks_seal_a_transaction_once"},
	{"a month detached twice", "",
		`
			INSERT INTO audit_detachments (month, block, rows)
			VALUES ('2019-12-01', 1, 1)`, unique, "audit_detachments_pkey"},
	{"a month detached that is not over", "",
		`SELECT detach_audit_month(date_trunc('month', now())::date)`, "22023", ""},
	{"a month detached that is not sealed", `
		CREATE TABLE audit_events_2020_01 PARTITION OF audit_events FOR VALUES FROM ('2020-01-01 00:00+0') TO
		    ('2020-02-01 00:00+0');
		INSERT INTO audit_events (at, id, account_id, livemode, request_id, actor, operation, status, commitment)
		VALUES ('2020-01-15', 'aud_2', 'acct_1', false, 'req_finished', 'key_1', 'x', 200, sha256('1'))`,
		`SELECT detach_audit_month('2020-01-01')`, "55000", ""},
	{"a digest of another length", "",
		`
			INSERT INTO audit_blocks (no, from_xid, to_xid, rows, previous, digest)
			VALUES (2, 2, 3, 0, sha256('1'), 'short')`,
		check, "audit_blocks_digests_are_sha256"},
	{"a block of no transaction", "",
		`
			INSERT INTO audit_blocks (no, from_xid, to_xid, rows, previous, digest)
			VALUES (2, 2, 2, 0, sha256('1'), sha256('2'))`,
		check, "audit_blocks_span_transactions"},
}
