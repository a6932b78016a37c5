package verify

// said are the bytes that the audit trail's digest commits to, of request q with its answer a and what is archived of
// it, c. Each value is made once, because OFFSET 0 keeps the subquery apart.
const said = `LATERAL (SELECT
		convert_to(q.account_id, 'UTF8') AS account_id, convert_to(q.id, 'UTF8') AS id,
		convert_to(q.livemode::text, 'UTF8') AS livemode, convert_to(q.key, 'UTF8') AS key,
		convert_to(q.key_generated::text, 'UTF8') AS key_generated, convert_to(q.method, 'UTF8') AS method,
		convert_to(q.path, 'UTF8') AS path, q.fingerprint AS fingerprint,
		convert_to(q.fingerprint_version::text, 'UTF8') AS fingerprint_version,
		convert_to(q.params::text, 'UTF8') AS params, convert_to(q.context::text, 'UTF8') AS context,
		convert_to(q.flow, 'UTF8') AS flow, convert_to(q.version::text, 'UTF8') AS version,
		convert_to(a.status::text, 'UTF8') AS status,
		convert_to(coalesce(a.headers, c.headers)::text, 'UTF8') AS headers, coalesce(a.body, c.body) AS body,
		convert_to(coalesce(a.object_id, ''), 'UTF8') AS object_id OFFSET 0) said`

// answered is their digest: every value that there is as its length in eight bytes, big end first, and its own bytes.
// It has no subquery, because there is a digest of every request.
const answered = `sha256(coalesce(int8send(octet_length(said.account_id)::bigint) || said.account_id, '')
	|| coalesce(int8send(octet_length(said.id)::bigint) || said.id, '')
	|| coalesce(int8send(octet_length(said.livemode)::bigint) || said.livemode, '')
	|| coalesce(int8send(octet_length(said.key)::bigint) || said.key, '')
	|| coalesce(int8send(octet_length(said.key_generated)::bigint) || said.key_generated, '')
	|| coalesce(int8send(octet_length(said.method)::bigint) || said.method, '')
	|| coalesce(int8send(octet_length(said.path)::bigint) || said.path, '')
	|| coalesce(int8send(octet_length(said.fingerprint)::bigint) || said.fingerprint, '')
	|| coalesce(int8send(octet_length(said.fingerprint_version)::bigint) || said.fingerprint_version, '')
	|| coalesce(int8send(octet_length(said.params)::bigint) || said.params, '')
	|| coalesce(int8send(octet_length(said.context)::bigint) || said.context, '')
	|| coalesce(int8send(octet_length(said.flow)::bigint) || said.flow, '')
	|| coalesce(int8send(octet_length(said.version)::bigint) || said.version, '')
	|| coalesce(int8send(octet_length(said.status)::bigint) || said.status, '')
	|| coalesce(int8send(octet_length(said.headers)::bigint) || said.headers, '')
	|| coalesce(int8send(octet_length(said.body)::bigint) || said.body, '')
	|| coalesce(int8send(octet_length(said.object_id)::bigint) || said.object_id, ''))`

// erased are the requests that erasures name. What a month took with it when it was
// detached is not known here.
const erased = `erased AS (
	SELECT e.account_id, n.request_id
	FROM audit_events e CROSS JOIN LATERAL json_array_elements_text(e.details::json->'requests') AS n (request_id)
	WHERE e.operation = 'data.erase' AND e.actor LIKE 'operator:%')`

// evidenceRules prove what was said, to whom, and who may ask: with what the audit
// trail says of it, which its chain protects.
var evidenceRules = []rule{
	{
		since: ofRequests,
		name:  "every stored answer matches the audit trail", counted: "answers",
		count: `SELECT count(*) FROM answers`,
		sql: `
			SELECT q.id, 'its request or its answer is not what it was when it was answered'
			FROM requests q
			JOIN answers a ON a.account_id = q.account_id AND a.request_id = q.id
			LEFT JOIN archived_answers c ON c.account_id = q.account_id AND c.request_id = q.id
			JOIN audit_events e ON e.account_id = q.account_id AND e.request_id = q.id AND e.operation = q.flow
			CROSS JOIN ` + said + `
			WHERE a.redacted_at IS NULL AND e.answer_digest <> ` + answered + `
			  AND NOT (a.body IS NULL AND c.body IS NULL AND ` + responseOf + `q.id` + isAway + `)
			UNION ALL
			SELECT a.request_id, 'was answered at ' || a.finished_at || ', and its answer expires at ' || a.expires_at
			FROM answers a WHERE a.expires_at < a.finished_at + interval '24 hours'`,
	},
	{
		name: "audit details are missing only where an erasure names them", counted: "erased requests",
		count: `WITH ` + erased + ` SELECT count(*) FROM erased`,
		sql: `
			WITH ` + erased + `
			SELECT e.id, 'has lost its details, and no erasure names ' || e.request_id
			FROM audit_events e LEFT JOIN answers a ON a.account_id = e.account_id AND a.request_id = e.request_id
			WHERE e.details IS NULL
			  AND NOT EXISTS (SELECT FROM erased x WHERE x.account_id = e.account_id AND x.request_id = e.request_id)
			  AND date_trunc('month', a.redacted_at AT TIME ZONE 'UTC')::date
			      NOT IN (SELECT month FROM audit_detachments)
			   OR e.details IS NULL AND (e.actor LIKE 'operator:%' AND e.answer_digest IS NULL OR a.redacted_at IS NULL)
			UNION ALL
			SELECT a.request_id, 'its answer was redacted, and no erasure names it'
			FROM answers a
			WHERE a.redacted_at IS NOT NULL
			  AND NOT EXISTS (SELECT FROM erased x WHERE x.account_id = a.account_id AND x.request_id = a.request_id)
			  AND date_trunc('month', a.redacted_at AT TIME ZONE 'UTC')::date
			      NOT IN (SELECT month FROM audit_detachments)`,
	},
	{
		// The last thing that its merchant was answered about an endpoint says where it is.
		// A listener of the Stripe CLI has no URL. Its ID says what it is, because no update changes an ID.
		name: "every webhook endpoint has the URL that its merchant set", counted: "endpoints",
		count: `SELECT count(*) FROM webhook_endpoints WHERE id NOT LIKE 'wh\_%'`,
		sql: `
			WITH said AS (
				SELECT DISTINCT ON (a.account_id, a.object_id) a.account_id, a.object_id AS id, a.request_id,
					convert_from(coalesce(a.body, c.body), 'UTF8')::json AS endpoint
				FROM requests q
				JOIN answers a ON a.account_id = q.account_id AND a.request_id = q.id
				LEFT JOIN archived_answers c ON c.account_id = q.account_id AND c.request_id = q.id
				WHERE q.flow IN ('webhook_endpoint.create', 'webhook_endpoint.update') AND a.status = 200
				ORDER BY a.account_id, a.object_id, a.finished_at DESC)
			SELECT w.id, 'has the URL ' || w.url || ', and the response to its merchant said '
				|| coalesce(s.endpoint->>'url', 'nothing')
			FROM webhook_endpoints w LEFT JOIN said s ON s.account_id = w.account_id AND s.id = w.id
			WHERE w.deleted_at IS NULL AND w.id NOT LIKE 'wh\_%' AND s.endpoint->>'url' IS DISTINCT FROM w.url
			  AND NOT (s.request_id IS NOT NULL AND s.endpoint IS NULL AND ` + responseOf + `s.request_id` + isAway + `)
			UNION ALL
			SELECT w.id, 'is ' || w.status || ', and its merchant was answered '
				|| coalesce(s.endpoint->>'status', 'nothing')
			FROM webhook_endpoints w JOIN said s ON s.account_id = w.account_id AND s.id = w.id
			WHERE w.deleted_at IS NULL AND s.endpoint->>'status' IS DISTINCT FROM w.status
			  AND NOT (s.endpoint IS NULL AND ` + responseOf + `s.request_id` + isAway + `)
			  AND NOT EXISTS (SELECT FROM audit_events e WHERE e.operation = 'webhook_endpoint.disable'
			      AND e.account_id = w.account_id AND e.object_id = w.id)`,
	},
	{
		// For a key made in a month that has been detached since, the audit trail has no row.
		since: inFull,
		name:  "every API key matches the audit trail", counted: "API keys",
		count: `SELECT count(*) FROM api_keys`,
		sql: `
			WITH act AS (
				SELECT e.object_id AS id, e.operation, e.account_id, e.livemode, e.details::jsonb AS says, e.at
				FROM audit_events e
				WHERE e.operation IN ('key.create', 'key.record', 'key.roll', 'key.revoke')
					AND e.actor LIKE 'operator:%'
			), made AS (
				SELECT * FROM act WHERE operation IN ('key.create', 'key.record')
			), known AS (
				SELECT k.* FROM api_keys k
				WHERE date_trunc('month', k.created_at AT TIME ZONE 'UTC')::date
					NOT IN (SELECT month FROM audit_detachments))
			SELECT k.id, 'opens ' || k.account_id || ', and the audit trail does not say who made it'
			FROM known k WHERE k.id NOT IN (SELECT id FROM made)
			UNION ALL
			SELECT coalesce(k.id, m.id), CASE WHEN k.id IS NULL THEN 'was made, and no longer exists'
				ELSE 'is not as it was made' END
			FROM made m LEFT JOIN api_keys k ON k.id = m.id
			WHERE k.id IS NULL OR (k.account_id, k.livemode) IS DISTINCT FROM (m.account_id, m.livemode)
			   OR m.says ? 'hash' AND (k.kind, coalesce(k.permissions, 'null'), encode(k.hash, 'hex'), k.demo)
			      IS DISTINCT FROM (m.says->>'kind', coalesce(m.says->'permissions', 'null'), m.says->>'hash',
			          (m.says->>'demo')::boolean)
			UNION ALL
			SELECT k.id, 'ends ' || coalesce('at ' || k.expires_at, 'never') || ', and by the audit trail '
				|| coalesce('at ' || e.ends_at, 'never')
			FROM known k
			LEFT JOIN (SELECT id, min((says->>'ends_at')::timestamptz) AS ends_at FROM act GROUP BY id) e ON e.id = k.id
			WHERE k.expires_at IS DISTINCT FROM e.ends_at`,
	},
}
