package postgres

// The tests migrate with their own chapters.
var (
	MigrateUpFrom       = migrateUp
	MigrateDownFrom     = migrateDown
	MigrationStatusFrom = migrationStatus
)
