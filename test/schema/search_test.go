package schema_test

const (
	searchBlock  = `INSERT INTO search_blocks VALUES ('acct_1', 'charges', '', 'ch_z', '{1}');`
	searchChange = `INSERT INTO search_changes (account_id, kind, id, number) OVERRIDING SYSTEM VALUE
		VALUES ('acct_1', 'charges', 'ch_z', 99);`
)

var searchPromises = []promise{
	{"two blocks that end with the same row", searchBlock, searchBlock, unique, "search_blocks_pkey"},
	{"a block of an unknown account", "",
		`INSERT INTO search_blocks VALUES ('acct_none', 'charges', '', 'ch_z', '{1}')`,
		foreignKey, "search_blocks_account_id_fkey"},
	{"a block of what is not searched", "",
		`INSERT INTO search_blocks VALUES ('acct_1', 'refunds', '', 're_z', '{1}')`,
		check, "search_blocks_kind_is_searched"},
	{"a block without rows", "", `INSERT INTO search_blocks VALUES ('acct_1', 'charges', 'ch_z', 'ch_z', '{1}')`,
		check, "search_blocks_have_rows"},
	{"two changes with one number", searchChange, searchChange, unique, "search_changes_pkey"},
}
