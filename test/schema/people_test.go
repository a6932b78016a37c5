package schema_test

const someUser = `
	INSERT INTO users (id, email, role, password_hash) VALUES ('usr_1', 'ann@example.com', 'view', '$argon2id$1');`

const someSession = someUser + `
	INSERT INTO user_sessions (id, user_id, hash, complete, address, browser, expires_at)
	VALUES ('uses_1', 'usr_1', sha256('1'), true, '', '', now());`

var peoplePromises = []promise{
	{"two users with one ID", someUser, `
		INSERT INTO users (id, email, role, password_hash) VALUES ('usr_1', 'ben@example.com', 'view', '$argon2id$1')`,
		unique, "users_pkey"},
	{"two users with one email", someUser, `
		INSERT INTO users (id, email, role, password_hash) VALUES ('usr_2', 'ann@example.com', 'view', '$argon2id$1')`,
		unique, "users_email_is_unique"},
	{"an email in capitals", someUser, `UPDATE users SET email = 'Ann@example.com'`,
		check, "users_email_is_lower_case"},
	{"an unknown role", someUser, `UPDATE users SET role = 'owner'`, check, "users_role_is_known"},
	{"a password stored as it is", someUser, `UPDATE users SET password_hash = 'kettle'`, check,
		"users_password_hash_is_argon2id"},
	{"recovery codes without a second factor", someUser, `UPDATE users SET recovery_codes = '{1}'`, check,
		"users_recovery_codes_need_totp"},
	{"two sessions with one ID", someSession,
		copyOf("user_sessions", "uses_1",
			`{"hash": "\\x0000000000000000000000000000000000000000000000000000000000000000"}`),
		unique, "user_sessions_pkey"},
	{"two sessions with one cookie", someSession, copyOf("user_sessions", "uses_1", `{"id": "uses_2"}`), unique,
		"user_sessions_hash_is_unique"},
	{"a cookie stored as it is", someSession, `UPDATE user_sessions SET hash = 'cookie'`, check,
		"user_sessions_hash_is_sha256"},
	{"a session of a week", someSession, `UPDATE user_sessions SET expires_at = now() + interval '7 days'`, check,
		"user_sessions_last_at_most_12_hours"},
	{"a session of an unknown user", someSession, `UPDATE user_sessions SET user_id = 'usr_2'`, foreignKey,
		"user_sessions_user_id_fkey"},
}
