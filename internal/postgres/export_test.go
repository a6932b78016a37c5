package postgres

// The tests migrate with chapters of their own.
var (
	MigrateUpFrom       = migrateUp
	MigrateDownFrom     = migrateDown
	MigrationStatusFrom = migrationStatus
)
