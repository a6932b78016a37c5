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
		unique, "a_user_is_known_by_the_email"},
	{"an email in capitals", someUser, `UPDATE users SET email = 'Ann@example.com'`, check, "an_email_is_lower_case"},
	{"an unknown role", someUser, `UPDATE users SET role = 'owner'`, check, "a_role_is_known"},
	{"a password stored as it is", someUser, `UPDATE users SET password_hash = 'kettle'`, check,
		"a_password_is_hashed_with_argon2id"},
	{"recovery codes without a second factor", someUser, `UPDATE users SET recovery_codes = '{1}'`, check,
		"recovery_codes_belong_to_a_second_factor"},
	{"two sessions with one ID", someSession,
		copyOf("user_sessions", "uses_1",
			`{"hash": "\\x0000000000000000000000000000000000000000000000000000000000000000"}`),
		unique, "user_sessions_pkey"},
	{"two sessions with one cookie", someSession, copyOf("user_sessions", "uses_1", `{"id": "uses_2"}`), unique,
		"a_session_is_known_by_its_hash"},
	{"a cookie stored as it is", someSession, `UPDATE user_sessions SET hash = 'cookie'`, check,
		"a_session_hash_is_sha256"},
	{"a session of a week", someSession, `UPDATE user_sessions SET expires_at = now() + interval '7 days'`, check,
		"a_session_lasts_twelve_hours"},
	{"a session of an unknown user", someSession, `UPDATE user_sessions SET user_id = 'usr_2'`, foreignKey,
		"user_sessions_user_id_fkey"},
}
