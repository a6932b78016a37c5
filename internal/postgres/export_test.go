package postgres

// The tests migrate with their own chapters.
var (
	MigrateUpFrom       = migrateUp
	MigrationStatusFrom = migrationStatus
)
