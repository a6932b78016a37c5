package schema_test

import "fmt"

func anotherEndpoint(changes string) string {
	return copyOf("webhook_endpoints", "we_1", `{"id": "we_2", "slot": 2, `+changes+`}`)
}

func delivery(event, endpoint string) string {
	return fmt.Sprintf(`
		INSERT INTO webhook_deliveries (account_id, event_id, endpoint_id, due_at, created_at)
		VALUES ('acct_1', '%s', '%s', now(), now())`, event, endpoint)
}

func cliSession(id, feature string, connection int) string {
	return fmt.Sprintf(`
		INSERT INTO cli_sessions (account_id, id, livemode, request_id, feature, key_id, device_name, default_version,
			connection, created_at, seen_at)
		VALUES ('acct_1', '%s', false, 'req_1', '%s', 'key_1', 'laptop', '2026-08-26.dahlia', %d, now(), now())`,
		id, feature, connection)
}

const logLine = `
	INSERT INTO cli_log_lines (account_id, session_id, number, line, created_at) OVERRIDING SYSTEM VALUE
	VALUES ('acct_1', 'wh_1', 1, '{}', now())`

func deliverySet(change string) string { return `UPDATE webhook_deliveries SET ` + change }

var webhookPromises = []promise{
	{"two endpoints with one id", "",
		copyOf("webhook_endpoints", "we_1", `{"slot": 2}`), unique, "webhook_endpoints_pkey"},
	{"two endpoints in one slot", "",
		anotherEndpoint(`"slot": 1`), unique, "webhook_endpoints_one_per_slot"},
	{"a seventeenth endpoint", "",
		anotherEndpoint(`"slot": 17`), check, "webhook_endpoints_have_16_slots"},
	{"a listener in a slot of the endpoints", "",
		anotherEndpoint(`"listener": true, "slot": 2`), check, "webhook_endpoints_have_16_slots"},
	{"a seventeenth listener", "",
		anotherEndpoint(`"listener": true, "slot": 33`), check, "webhook_endpoints_have_16_slots"},
	{"a session of the Stripe CLI with another feature", "",
		cliSession("wh_1", "dashboards", 0), check, "cli_sessions_feature_is_known"},
	{"fewer connections than none", "",
		cliSession("wh_1", "webhooks", -1), check, "cli_sessions_connection_is_not_negative"},
	{"two sessions with one ID", "",
		cliSession("wh_1", "webhooks", 0) + ";" + cliSession("wh_1", "webhooks", 0), unique, "cli_sessions_pkey"},
	{"two log lines with one number", "",
		logLine + ";" + logLine, unique, "cli_log_lines_pkey"},
	{"an endpoint in an unknown status", "",
		anotherEndpoint(`"status": "asleep"`), check, "webhook_endpoints_status_is_known"},
	{"an endpoint for nothing", "",
		anotherEndpoint(`"enabled_events": []`), check, "webhook_endpoints_events_are_not_empty"},
	{"a secret before the first", "",
		anotherEndpoint(`"secret_generation": 0`), check, "webhook_endpoints_secret_generation_is_positive"},

	{"a delivery of an event that does not exist", "",
		delivery("evt_none", "we_1"), foreignKey, "webhook_deliveries_event_exists"},
	{"two deliveries of an event to one endpoint", "",
		delivery("evt_1", "we_1"), unique, "webhook_deliveries_default_pkey"},
	{"a delivery in an unknown state", "",
		deliverySet(`state = 'lost', due_at = NULL, ended_at = now()`), check, "webhook_deliveries_state_is_known"},
	{"a delivery that is pending and never due", "",
		deliverySet(`due_at = NULL`), check, "webhook_deliveries_pending_have_a_due_time"},
	{"a delivery that has ended and is due", "",
		deliverySet(`state = 'succeeded', ended_at = now()`), check, "webhook_deliveries_pending_have_a_due_time"},
	{"a claim without a lease", "",
		deliverySet(`claimed_by = 'worker_1'`), check, "webhook_deliveries_claim_has_a_lease"},
	{"a claim on what has ended", "",
		deliverySet(`state = 'failed', due_at = NULL, ended_at = now(), claimed_by = 'worker_1',
			claimed_until = now()`), check, "webhook_deliveries_only_pending_are_claimed"},
	{"a resend behind an attempt that nobody makes", "",
		deliverySet(`resent = true`), check, "webhook_deliveries_only_claimed_are_resent"},
	{"more failures than attempts", "",
		deliverySet(`failures = 2`), check, "webhook_deliveries_failures_are_at_most_attempts"},

	{"an attempt at no delivery", "",
		`
			INSERT INTO webhook_attempts (account_id, event_id, endpoint_id, attempt, started_at)
			VALUES ('acct_1', 'evt_1', 'we_none', 1, now())`,
		foreignKey, "webhook_attempts_delivery_exists"},
	{"one attempt twice", "",
		`INSERT INTO webhook_attempts SELECT * FROM webhook_attempts`, unique, "webhook_attempts_default_pkey"},
	{"an attempt that ended and does not say how", "",
		`UPDATE webhook_attempts SET ended_at = now()`, check, "webhook_attempts_ended_have_a_result"},
	{"an answer without an end", "",
		`UPDATE webhook_attempts SET status = 200`, check, "webhook_attempts_ended_have_a_result"},
	{"an answer that fills the disk", "",
		`
			UPDATE webhook_attempts SET body = convert_to(repeat('x', 16385),
			    'UTF8')`, check, "webhook_attempts_body_is_at_most_16_kib"},
}
