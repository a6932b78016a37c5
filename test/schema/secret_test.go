package schema_test

const someSecret = `INSERT INTO root_secrets (digest) VALUES (sha256('1'));`

var secretPromises = []promise{
	{"two root secrets at once", someSecret, `INSERT INTO root_secrets (digest) VALUES (sha256('2'))`, unique,
		"root_secrets_pkey"},
	{"a root secret before the first", "", `INSERT INTO root_secrets (version, digest) VALUES (0, sha256('1'))`, check,
		"root_secrets_version_is_positive"},
	{"one root secret as two versions", someSecret,
		`INSERT INTO root_secrets (version, digest) VALUES (2, sha256('1'))`, unique, "root_secrets_one_per_digest"},
	{"a root secret retired before it was used", "",
		`INSERT INTO root_secrets (digest, active_at, retired_at) VALUES (sha256('1'), NULL, now())`, check,
		"root_secrets_retired_were_active"},
	{"a key kept of no root secret", "",
		`INSERT INTO kept_keys (version, purpose, sealed_by, sealed) VALUES (1, 'tea', 2, 'x')`, foreignKey,
		"kept_keys_root_secret_exists"},
	{"a key kept under its own root secret", someSecret,
		`INSERT INTO kept_keys (version, purpose, sealed_by, sealed) VALUES (1, 'tea', 1, 'x')`, check,
		"kept_keys_sealed_by_newer"},
	{"a key of a purpose kept twice", someSecret + `
		INSERT INTO kept_keys (version, purpose, sealed_by, sealed) VALUES (1, 'tea', 2, 'x');`,
		`INSERT INTO kept_keys (version, purpose, sealed_by, sealed) VALUES (1, 'tea', 2, 'y')`, unique,
		"kept_keys_one_per_purpose"},
	{"a root secret stored as it is", "", `INSERT INTO root_secrets (digest) VALUES ('kettle')`, check,
		"root_secrets_digest_is_sha256"},
}
