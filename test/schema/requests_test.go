package schema_test

import "fmt"

// begun inserts a request and its run in one statement, as a claim does. They are
// like those of req_running but for their names and for what is changed.
func begun(request, run string) string {
	return `WITH asked AS (
		INSERT INTO requests SELECT (jsonb_populate_record(q, '{"id": "req_new", "key": "new"}'::jsonb || '{` +
		request + `}')).* FROM requests q WHERE q.id = 'req_running'
		RETURNING id)
	INSERT INTO runs SELECT (jsonb_populate_record(r, '{"request_id": "req_new",
		"call_keys": ["key under req_new"]}'::jsonb || '{` + run + `}')).*
	FROM runs r, asked WHERE r.request_id = 'req_running';`
}

// answered inserts a request and its answer in one statement, like those of req_finished.
func answered(answer string) string {
	return `WITH asked AS (
		INSERT INTO requests SELECT (jsonb_populate_record(q, '{"id": "req_new", "key": "new"}')).* FROM requests q
			WHERE q.id = 'req_finished'
		RETURNING id)
	INSERT INTO answers SELECT (jsonb_populate_record(a,
		'{"request_id": "req_new", "call_keys": ["key under req_new"]}'::jsonb || '{` + answer + `}')).*
	FROM answers a, asked WHERE a.request_id = 'req_finished';`
}

// ended deletes a run and inserts the answer in one statement, as a finish does.
func ended(request, points string) string {
	return `WITH ended AS (DELETE FROM runs WHERE request_id = '` + request + `' RETURNING *)
	INSERT INTO answers (account_id, request_id, status, headers, body, recovery_points, reached_at, reached_epochs,
		call_phases, call_keys, call_generations, call_sent_at, call_attempts, finished_at, expires_at)
	SELECT account_id, request_id, 200, '{}', '{}', recovery_points || '` +
		points + `', reached_at || ARRAY[now(), now()], reached_epochs || '{2,2}',
		call_phases, call_keys, call_generations, call_sent_at, call_attempts, now(), now() FROM ended;`
}

// advanced adds points to a run.
func advanced(points string, times int) string {
	return fmt.Sprintf(`
		UPDATE runs SET recovery_points = recovery_points || '%s',
		reached_at = reached_at || array_fill(now(), ARRAY[%d]),
		reached_epochs = reached_epochs || array_fill(2, ARRAY[%[2]d])
		WHERE request_id = 'req_running';`, points, times)
}

const (
	born      = "runs_are_born_with_their_request"
	inOrder   = "runs_recovery_points_are_in_order"
	endsRun   = "answers_end_their_run"
	forward   = "runs_move_forward"
	untilDone = "runs_end_with_an_answer"
)

var accountPromises = []promise{
	{"a merchant without a name", "",
		`INSERT INTO accounts (id, name) VALUES ('acct_3', '')`, check, "accounts_name_is_not_empty"},
	{"two merchants with one id", "",
		`INSERT INTO accounts (id, name) VALUES ('acct_1', 'x')`, unique, "accounts_pkey"},
	{"a payout delay of years", "",
		`UPDATE accounts SET payout_delay_days = 91`, check, "accounts_payout_delay_is_at_most_90_days"},
	{"an API version without a day", "",
		`UPDATE accounts SET api_version = 'latest'`, check, "accounts_api_version_begins_with_a_date"},
	{"an API key of no merchant", "",
		copyOf("api_keys", "key_1", `{"id": "key_2", "account_id": "acct_none",
			"hash": "\\x0000000000000000000000000000000000000000000000000000000000000000"}`),
		foreignKey, "api_keys_account_id_fkey"},
	{"two API keys with one id", "",
		copyOf("api_keys", "key_1", `{"hash": "\\x0000000000000000000000000000000000000000000000000000000000000000"}`),
		unique, "api_keys_pkey"},
	{"two API keys with one hash", "",
		copyOf("api_keys", "key_1", `{"id": "key_2"}`), unique, "api_keys_hash_is_unique"},
	{"an API key of an unknown kind", "",
		`UPDATE api_keys SET kind = 'ephemeral'`, check, "api_keys_kind_is_known"},
	{"a restricted API key that may do everything", "",
		`UPDATE api_keys SET kind = 'restricted'`, check, "api_keys_only_restricted_have_permissions"},
	{"an API key that may do everything, and has permissions", "",
		`UPDATE api_keys SET permissions = '{"charges": "read"}'`, check, "api_keys_only_restricted_have_permissions"},
	{"a permission to do something else than to read or to write", "",
		`
			UPDATE api_keys SET kind = 'restricted',
			    permissions = '{"charges": "read", "refunds": "forge"}'`,
		check, "api_keys_permissions_are_read_or_write"},
	{"a permission that is no word", "",
		`
			UPDATE api_keys SET kind = 'restricted',
			    permissions = '{"charges": ["write"]}'`, check, "api_keys_permissions_are_read_or_write"},
	{"permissions that name no resource", "",
		`UPDATE api_keys SET kind = 'restricted', permissions = '[]'`, check, "api_keys_permissions_are_read_or_write"},
	{"an API key stored as it is", "",
		`UPDATE api_keys SET hash = 'sk_test_1'`, check, "api_keys_hash_is_sha256"},
}

var requestPromises = []promise{
	{"an empty key", "", begun(`"key": ""`, ``), check, "requests_key_has_a_length"},
	{"a key of 256 characters", "",
		`
			INSERT INTO requests SELECT (jsonb_populate_record(q,
				jsonb_build_object('id', 'req_new', 'key', repeat('k', 256)))).* FROM requests q
				WHERE id = 'req_running'`,
		check, "requests_key_has_a_length"},
	{"a second request for one key", "", begun(`"key": "key of req_running"`, ``), unique, "requests_key_is_used_once"},
	{"two requests with one id", "", begun(`"id": "req_running"`, ``), unique, "requests_pkey"},
	{"a request with neither a run nor an answer", "",
		copyOf("requests", "req_running", `{"id": "req_new", "key": "new"}`), privilege,
		"requests_have_a_run_or_an_answer"},
	{"a request with a run and an answer", "",
		`
			WITH asked AS (INSERT INTO requests SELECT (jsonb_populate_record(q, '{"id": "req_new", "key": "new"}')).*
			FROM requests q WHERE q.id = 'req_running' RETURNING id),
			answered AS (INSERT INTO answers SELECT (jsonb_populate_record(a, '{"request_id": "req_new"}')).*
			    FROM answers a, asked WHERE a.request_id = 'req_finished' RETURNING 1)
		INSERT INTO runs SELECT (jsonb_populate_record(r, '{"request_id": "req_new"}')).* FROM runs r, asked, answered
		WHERE r.request_id = 'req_running'`,
		privilege, "requests_have_a_run_or_an_answer"},

	{"a run in an unknown state", "", begun(``, `"state": "paused", "owner": null, "lease_until": null`), check,
		"runs_state_is_one_of_three"},
	{"a running request that no process owns", "", begun(``, `"owner": null`), check,
		"runs_running_has_an_owner_and_a_lease"},
	{"a running request without a lease", "", begun(``, `"lease_until": null`), check,
		"runs_running_has_an_owner_and_a_lease"},
	{"an owner of what does not run", "", begun(``, `"state": "parked", "due_at": "2030-01-01"`), check,
		"runs_running_has_an_owner_and_a_lease"},
	{"a parked request that is never due", "", begun(``, `"state": "parked", "owner": null, "lease_until": null`),
		check, "runs_parked_has_a_due_time"},
	{"a review without a reason", "", begun(``, `"state": "needs_review", "owner": null, "lease_until": null`), check,
		"runs_review_has_a_reason"},
	{"an epoch before the first", "", begun(``, `"epoch": 0`), check, "runs_epoch_counts_from_one"},
	{"a run that has reached nothing", "", begun(``, `"recovery_points": [], "reached_at": [], "reached_epochs": []`),
		check, "runs_path_is_whole"},
	{"a recovery point without its time", "", begun(``, `"reached_at": []`), check, "runs_path_is_whole"},
	{"a recovery point whose time is not known", "", begun(``, `"reached_at": [null]`), check, "runs_path_is_whole"},
	{"more epochs than recovery points", "", begun(``, `"reached_epochs": [1, 1]`), check, "runs_path_is_whole"},
	{"a call without its key", "", begun(``, `"call_keys": []`), check, "runs_calls_are_whole"},
	{"a call whose key is not known", "", begun(``, `"call_keys": [null]`), check, "runs_calls_are_whole"},
	{"a call without its time", "", begun(``, `"call_sent_at": []`), check, "runs_calls_are_whole"},
	{"a run that begins with a point its flow does not have", "", begun(``, `"recovery_points": ["elsewhere"]`), check,
		inOrder},
	{"a run that begins with a null", "", begun(``, `"recovery_points": [null]`), check, inOrder},
	{"a run of another flow than its request's", "", begun(``, `"flow": "payout"`), privilege, born},
	{"two runs of one request", begun(``, ``),
		`INSERT INTO runs SELECT (r).* FROM runs r WHERE request_id = 'req_new'`, unique, "runs_pkey"},
	{"a run of no request", "", copyOfRun("req_none"), privilege, born},
	{"a run of a request of an earlier transaction", "", copyOfRun("req_finished"), privilege, born},
	{"a run behind the answer of the same transaction", answered(``), copyOfRun("req_new"), privilege, born},

	{"a point that its flow does not have", "", advanced("{elsewhere}", 1), check, inOrder},
	{"an unknown point behind a known one", "", advanced("{authorized,elsewhere}", 2), check, inOrder},
	{"a point that is passed twice", "", advanced("{started}", 1), check, inOrder},
	{"a point that is passed twice at once", "", advanced("{authorized,authorized}", 2), check, inOrder},
	{"two points in another order", "", advanced("{captured,authorized}", 2), check, inOrder},
	{"a run that goes back to an earlier point", advanced("{authorized}", 1),
		`
			UPDATE runs SET recovery_points = '{started}', reached_at = reached_at[:1], reached_epochs = '{1}'
			WHERE request_id = 'req_running'`, privilege, forward},
	{"a point that was passed at another time", "", `
		UPDATE runs SET reached_at = ARRAY[now() - interval '1 day']`, privilege, forward},
	{"a point that was passed in another epoch", "", `UPDATE runs SET reached_epochs = '{2}'`, privilege, forward},
	{"an epoch that goes back", "", `UPDATE runs SET epoch = epoch - 1`, privilege, forward},
	{"a run given to another merchant", "", `UPDATE runs SET account_id = 'acct_2'`, privilege, forward},
	{"a run given to another request", "", `
		UPDATE runs SET request_id = 'req_new' WHERE request_id = 'req_running'`, privilege, forward},
	{"a run that ends without an answer", "", `DELETE FROM runs WHERE request_id = 'req_running'`, privilege,
		untilDone},
	{"a parked run that ends", "", ended("req_parked", "{authorized,captured}"), privilege, ""},
	{"a run under review that ends", "", ended("req_review", "{authorized,captured}"), privilege, ""},
	{"all runs emptied out", "", `TRUNCATE runs`, privilege, ""},

	{"an answer while the run goes on", "",
		`
			INSERT INTO answers (account_id, request_id, status, headers, body, recovery_points, reached_at,
				reached_epochs, finished_at, expires_at)
		VALUES ('acct_1', 'req_running', 200, '{}', '{}', '{started}', ARRAY[now()], '{1}', now(),
			now())`, privilege, endsRun},
	{"an answer to no request", "",
		`
			INSERT INTO answers (account_id, request_id, status, headers, body, recovery_points, reached_at,
				reached_epochs, finished_at, expires_at)
		VALUES ('acct_1', 'req_none', 200, '{}', '{}', '{started}', ARRAY[now()], '{1}', now(),
			now())`, privilege, endsRun},
	{"an answer to a request that has lost its run", `
		ALTER TABLE runs DISABLE TRIGGER runs_end_with_an_answer; DELETE FROM runs WHERE request_id = 'req_running'`,
		`
			INSERT INTO answers (account_id, request_id, status, headers, body, recovery_points, reached_at,
				reached_epochs, finished_at, expires_at)
		VALUES ('acct_1', 'req_running', 200, '{}', '{}', '{started}', ARRAY[now()], '{1}', now(),
			now())`, privilege, endsRun},
	{"another answer to a request that has one", "", copyOfAnswer(`"status": 201`), unique, "answers_pkey"},
	{"two answers at once", "",
		`
			WITH asked AS (INSERT INTO requests SELECT (jsonb_populate_record(q, '{"id": "req_new", "key": "new"}')).*
			    FROM requests q WHERE q.id = 'req_finished' RETURNING id)
		INSERT INTO answers SELECT (jsonb_populate_record(a, '{"request_id": "req_new"}')).*
		FROM answers a, asked, generate_series(1, 2) WHERE a.request_id = 'req_finished'`,
		unique, "answers_pkey"},
	{"a finish over a point that its flow does not have", "", ended("req_running", "{authorized,elsewhere}"), check,
		"answers_recovery_points_are_in_order"},
	{"a finish over a point twice", "", ended("req_running", "{authorized,started}"), check,
		"answers_recovery_points_are_in_order"},
	{"a finish that does not know what came of its call", "", ended("req_running", "{captured}"), check,
		"answers_calls_are_answered"},
	{"a finished request whose call has no answer", "", answered(`"call_phases": ["captured"]`), check,
		"answers_calls_are_answered"},
	{"a call in an answer without its key", "", answered(`"call_keys": []`), check, "answers_calls_are_answered"},
	{"a path in an answer without its times", "", answered(`"reached_at": []`), check, "answers_path_is_whole"},
	{"a finished request without its answer", "", answered(`"body": null`), check, "answers_bulk_is_here_or_archived"},
	{"a finished request without the headers of its answer", "", answered(`"headers": null`), check,
		"answers_bulk_is_here_or_archived"},
	{"a finished request without a status", "", answered(`"status": null`), notNull, ""},
	{"a finished request that never expires", "", answered(`"expires_at": null`), notNull, ""},
	{"a server's error kept as an outcome", "", answered(`"status": 500`), check, "answers_status_is_an_outcome"},

	{"a key that changes", "", `
		UPDATE requests SET key = 'another' WHERE id = 'req_running'`, privilege, "requests_are_final"},
	{"a fingerprint that changes", "", `
		UPDATE requests SET fingerprint = '\x02' WHERE id = 'req_running'`, privilege, "requests_are_final"},
	{"a request given to another merchant", "", `
		UPDATE requests SET account_id = 'acct_2' WHERE id = 'req_running'`, privilege, "requests_are_final"},
	{"an unfinished request that is redacted", "", `
		UPDATE requests SET params = redact_pii(params) WHERE id = 'req_running'`, privilege, "requests_are_final"},
	{"a finished answer that changes", "", `
		UPDATE answers SET body = 'another' WHERE request_id = 'req_finished'`, privilege, "answers_are_final"},
	{"a status that changes", "", `
		UPDATE answers SET status = 402 WHERE request_id = 'req_finished'`, privilege, "answers_are_final"},
	{"a path that changes behind an answer", "", `
		UPDATE answers SET reached_epochs = '{1,1}' WHERE request_id = 'req_finished'`, privilege, "answers_are_final"},
	{"an answer that leaves for the archive and is not there", "",
		`
			UPDATE answers SET archived_at = now(), headers = NULL, body = NULL
			WHERE request_id = 'req_finished'`, privilege, "answers_are_final"},
	{"an answer that leaves for the archive, where another one is", `
		INSERT INTO archived_answers (account_id, request_id, headers, body)
		VALUES ('acct_1', 'req_finished', '{}', 'x')`,
		`
			UPDATE answers SET archived_at = now(), headers = NULL, body = NULL
			WHERE request_id = 'req_finished'`, privilege, "answers_are_final"},
	{"a status that changes on the way to the archive", `
		INSERT INTO archived_answers (account_id, request_id, headers, body)
		VALUES ('acct_1', 'req_finished', '{}', '{}')`,
		`
			UPDATE answers SET archived_at = now(), headers = NULL, body = NULL, status = 402
			WHERE request_id = 'req_finished'`, privilege, "answers_are_final"},
	{"an archived answer that changes", "", `
		UPDATE answers SET status = 402 WHERE request_id = 'req_archived'`, privilege, "answers_are_final"},
	{"a finished answer that changes while triggers are silenced", `SET LOCAL session_replication_role = replica`,
		`UPDATE answers SET body = 'another' WHERE request_id = 'req_finished'`, privilege, "answers_are_final"},
	{"a run beside its answer while triggers are silenced", `SET LOCAL session_replication_role = replica`,
		copyOfRun("req_finished"), privilege, born},
	{"a run that ends without an answer while triggers are silenced", `SET LOCAL session_replication_role = replica`,
		`DELETE FROM runs WHERE request_id = 'req_running'`, privilege, untilDone},
	{"a request without a run while triggers are silenced", `SET LOCAL session_replication_role = replica`,
		copyOf("requests", "req_running", `{"id": "req_new", "key": "new"}`), privilege,
		"requests_have_a_run_or_an_answer"},

	{"a deploy that drops a recovery point", "", `DELETE FROM recovery_points WHERE name = 'authorized'`, privilege,
		""},
	{"a recovery point that moves under a request", "", `
		UPDATE recovery_points SET position = 7 WHERE name = 'authorized'`, privilege, ""},
	{"a recovery point of an unknown flow", "",
		`
			INSERT INTO recovery_points
			VALUES ('payout', 1, 'started', 0, 'atomic')`, foreignKey, "recovery_points_flow_version_fkey"},
	{"two recovery points with one name", "",
		`INSERT INTO recovery_points VALUES ('charge', 1, 'started', 7, 'atomic')`, unique, "recovery_points_pkey"},
	{"two recovery points in one place", "",
		`
			INSERT INTO recovery_points
			VALUES ('charge', 1, 'refunded', 1, 'atomic')`, unique, "recovery_points_position_is_taken_once"},
	{"a recovery point reached in an unknown way", "",
		`
			INSERT INTO recovery_points
			VALUES ('charge', 1, 'refunded', 7, 'magic')`, check, "recovery_points_kind_is_known"},
	{"one version of a flow with two digests", "",
		`INSERT INTO flows VALUES ('charge', 1, 'another digest')`, unique, "flows_pkey"},

	{"an epoch that begins twice", "",
		`
			INSERT INTO takeovers (account_id, request_id, epoch, was, point, owner)
			VALUES ('acct_1', 'req_running', 2, 'parked', 'started', 'worker_2')`,
		unique, "takeovers_one_per_epoch"},
	{"a takeover of no request", "",
		`
			INSERT INTO takeovers (account_id, request_id, epoch, was, point, owner)
			VALUES ('acct_1', 'req_none', 2, 'parked', 'started', 'worker_2')`,
		foreignKey, "takeovers_request_exists"},
	{"a takeover of what was finished", "",
		`
			INSERT INTO takeovers (account_id, request_id, epoch, was, point, owner)
			VALUES ('acct_1', 'req_running', 3, 'finished', 'started', 'worker_2')`,
		check, "takeovers_former_state_is_known"},
	{"a takeover of a running request without its former owner", "",
		`
			INSERT INTO takeovers (account_id, request_id, epoch, was, point, owner)
			VALUES ('acct_1', 'req_running', 3, 'running', 'started', 'worker_2')`,
		check, "takeovers_only_running_have_a_former_owner"},
	{"a process that is refused twice for one takeover", "",
		`INSERT INTO fence_refusals (account_id, request_id, epoch) VALUES ('acct_1', 'req_running', 2)`,
		unique, "fence_refusals_one_per_takeover"},
	{"a refusal without a takeover", "",
		`INSERT INTO fence_refusals (account_id, request_id, epoch) VALUES ('acct_1', 'req_running', 3)`,
		foreignKey, "fence_refusals_takeover_exists"},
	{"a worker that registers twice", `INSERT INTO workers VALUES ('worker_1', 'api', 'host', 1, now(), now())`,
		`INSERT INTO workers VALUES ('worker_1', 'api', 'host', 1, now(), now())`, unique, "workers_pkey"},
}

// copyOfRun inserts a run like req_running's.
func copyOfRun(request string) string {
	return `
		INSERT INTO runs SELECT (jsonb_populate_record(r, '{"request_id": "` +
		request + `"}')).* FROM runs r WHERE request_id = 'req_running'`
}

func copyOfAnswer(changes string) string {
	return `INSERT INTO answers SELECT (jsonb_populate_record(a, '{` +
		changes + `}')).* FROM answers a WHERE request_id = 'req_finished'`
}

// retired writes down that the open call of a run did nothing.
func retired(request string, generation int, key string) string {
	return fmt.Sprintf(`
		INSERT INTO foreign_calls (account_id, request_id, phase, generation, derived_key, sent_at, attempts, proof)
		VALUES ('acct_1', '%s', 'authorized', %d, '%s', now(), 1, 'no such charge');`, request, generation, key)
}

// announced adds a call to a run.
func announced(request string, generation int, key string) string {
	return fmt.Sprintf(`
		UPDATE runs SET call_phases = call_phases || 'authorized'::text, call_keys = call_keys || '%s'::text,
		call_generations = call_generations || %d::smallint, call_sent_at = call_sent_at || now(),
		call_attempts = call_attempts || 0 WHERE request_id = '%s';`, key, generation, request)
}

const (
	noCalls = `
		UPDATE runs SET call_phases = '{}', call_keys = '{}', call_generations = '{}', call_sent_at = '{}',
		    call_attempts = '{}' WHERE request_id = 'req_running';`
	waits       = "runs_next_key_waits_for_proof"
	wereOpen    = "foreign_calls_were_open"
	keptOrProof = "runs_calls_are_kept_until_retired"
)

var callPromises = []promise{
	{"a second key while the first may have acted", "", announced("req_running", 2, "another"), check, waits},
	{"a second key in the place of the first", "",
		`
			UPDATE runs SET call_keys = '{another}', call_generations = '{2}'
			WHERE request_id = 'req_running'`, privilege, keptOrProof},
	{"one key in the place of another", "", `
		UPDATE runs SET call_keys = '{another}' WHERE request_id = 'req_running'`, privilege, keptOrProof},
	{"a call that was sent at another time", "", `
		UPDATE runs SET call_sent_at = ARRAY[now() - interval '1 day']
		WHERE request_id = 'req_running'`, privilege, keptOrProof},
	{"a call that goes without a proof", "", noCalls, privilege, keptOrProof},
	{"the third key after the first is retired", "", announced("req_review", 3, "another"), check, waits},
	{"the first key again after it is retired", "", announced("req_review", 1, "another"), check, waits},
	{"a retired call that is still announced", retired("req_running", 1, "key under req_running"),
		announced("req_running", 2, "another"), check, waits},
	{"a run that begins with a second key", "", begun(``, `"call_generations": [2]`), check, waits},
	{"a run that begins with a phase twice", "", begun(``,
		`"call_phases": ["authorized", "authorized"], "call_keys": ["a", "b"], "call_generations": [1, 1],
			"call_sent_at": ["2030-01-01", "2030-01-01"], "call_attempts": [0, 0]`), check, waits},
	{"a proof about another key than the run has announced", "", retired("req_running", 1, "another"), privilege,
		wereOpen},
	{"a proof about a generation that the run has not announced", "",
		retired("req_running", 2, "key under req_running"), privilege, wereOpen},
	{"a proof about a call that was answered", advanced("{authorized}", 1),
		retired("req_running", 1, "key under req_running"), privilege, wereOpen},
	{"a proof about a call of a finished request", "", retired("req_finished", 1, "key under req_finished"), privilege,
		wereOpen},
	{"a proof that says nothing", "",
		`INSERT INTO foreign_calls (account_id, request_id, phase, generation, derived_key, sent_at, attempts, proof)
		VALUES ('acct_1', 'req_running', 'authorized', 1, 'key under req_running', now(), 1,
			'')`, check, "foreign_calls_proof_is_given"},
	{"a call that is retired twice", `ALTER TABLE foreign_calls DISABLE TRIGGER foreign_calls_were_open`,
		retired("req_review", 1, "another"), unique, "foreign_calls_pkey"},
	{"a key that is retired for two requests", begun(``, `"call_keys": ["key under req_review"]`),
		retired("req_new", 1, "key under req_review"), unique, "foreign_calls_key_is_retired_once"},
	{"a retired call of no request", `
		ALTER TABLE runs DISABLE TRIGGER runs_are_born_with_their_request; ` + copyOfRun("req_none"),
		retired("req_none", 1, "key under req_running"), foreignKey, "foreign_calls_request_exists"},
}
