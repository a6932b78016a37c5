package verify

// peopleRules prove who may use the dashboard, with what the audit trail says of each change. A change made in a month
// that has been detached since is not known here.
var peopleRules = []rule{
	{
		since: inFull, hidden: true,
		name: "every user matches the audit trail", counted: "users",
		count: `SELECT count(*) FROM users`,
		sql: `
			WITH said AS (
				SELECT DISTINCT ON (object_id) object_id AS id, details::jsonb AS says
				FROM audit_events
				WHERE operation LIKE 'user.%' AND actor LIKE 'operator:%'
				ORDER BY object_id, at DESC, xid DESC, id DESC
			), present AS (
				SELECT id, created_at, jsonb_build_object('email', email, 'role', role,
					'disabled', disabled_at IS NOT NULL,
					'password', encode(sha256(convert_to(password_hash, 'UTF8')), 'hex'),
					'initial', password_initial,
					'totp', coalesce(encode(sha256(convert_to(totp_secret, 'UTF8')), 'hex'), ''),
					'recovery', encode(sha256(convert_to(array_to_string(recovery_codes, ','), 'UTF8')), 'hex')) AS is
				FROM users)
			SELECT coalesce(u.id, s.id), CASE WHEN u.id IS NULL THEN 'was created, and no longer exists'
				WHEN s.id IS NULL THEN 'may log in, and the audit trail does not say who created it'
				ELSE 'is not as the audit trail says: it has ' || (
					SELECT string_agg('another ' || key, ', ') FROM jsonb_each(u.is) AS field (key, value)
					WHERE s.says->key IS DISTINCT FROM value) END
			FROM present u FULL JOIN said s ON s.id = u.id
			WHERE u.is IS DISTINCT FROM s.says
			  AND (s.id IS NOT NULL OR date_trunc('month', u.created_at AT TIME ZONE 'UTC')::date
			      NOT IN (SELECT month FROM audit_detachments))`,
	},
	{
		// A password that was right, and a second factor that is still missing, opens nothing and has no row.
		hidden: true,
		name:   "every session of the dashboard began with a login", counted: "sessions",
		count: `SELECT count(*) FROM user_sessions`,
		sql: `
			SELECT s.id, 'opens the dashboard, and no login of this user began it'
			FROM user_sessions s LEFT JOIN users u ON u.id = s.user_id
			WHERE s.complete AND NOT EXISTS (
				SELECT FROM audit_events e
				WHERE e.operation = 'dashboard.login' AND e.object_id = s.id AND e.status = 200
				  AND e.actor = 'operator:' || coalesce(u.email, 'dashboard'))
			  AND date_trunc('month', s.began_at AT TIME ZONE 'UTC')::date
			      NOT IN (SELECT month FROM audit_detachments)
			UNION ALL
			SELECT s.id, 'lasts longer than twelve hours'
			FROM user_sessions s WHERE s.expires_at > s.began_at + interval '12 hours'`,
	},
}
