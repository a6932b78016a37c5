package schema_test

const someSecret = `INSERT INTO root_secrets (digest) VALUES (sha256('1'));`

var secretPromises = []promise{
	{"two root secrets at once", someSecret, `INSERT INTO root_secrets (digest) VALUES (sha256('2'))`, unique,
		"root_secrets_pkey"},
	{"a second version of the root secret", someSecret,
		`INSERT INTO root_secrets (version, digest) VALUES (2, sha256('2'))`, check,
		"root_secrets_one_per_installation"},
	{"a root secret stored as it is", "", `INSERT INTO root_secrets (digest) VALUES ('kettle')`, check,
		"root_secrets_digest_is_sha256"},
}
