package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/golang-migrate/migrate/v4"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/ratchet-pay/ratchet/migrations"
)

// ddlLockTimeout is how long a migration may wait for a table. Every session that
// comes after a waiting ALTER TABLE waits behind it, so it gives up before the
// callers do; a migration that gave up changed nothing and can be run again.
const ddlLockTimeout = "10s"

// versionTable holds the number of the last chapter that was applied.
const versionTable = "schema_revision"

// ErrBeforeBaseline reports a database that a development version made before the first
// chapters were rewritten. Its version is a number of other chapters.
var ErrBeforeBaseline = errors.New("this database was made by an earlier development version and cannot be upgraded: " +
	"use a new database, or start the demo with ratchet demo --fresh (make demo ARGS=--fresh)")

// Status is the schema version of a database.
type Status struct {
	Version uint // the last chapter applied; 0: none
	Dirty   bool // another tool died in the middle of Version
	Latest  uint // the last chapter this binary knows
}

// querier is a pool or a connection.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Migrate applies every chapter that is missing. Each is one transaction
// together with its number: a crash, an error or a canceled context leaves
// the database exactly after some chapter. Any number of processes may call it
// at once, also for different databases of one cluster; they take turns.
//
// After the chapters come River's own migrations of the tables it keeps its jobs in.
// There is no way back: to undo a chapter, write another one.
//
// The URL must reach the server itself or a pooler that keeps sessions.
func Migrate(ctx context.Context, url string) error {
	if err := migrateUp(ctx, url, migrations.FS); err != nil {
		return err
	}
	return migrateRiver(ctx, url)
}

// MigrationStatus reads the schema version; it changes nothing.
func MigrationStatus(ctx context.Context, url string) (Status, error) {
	return migrationStatus(ctx, url, migrations.FS)
}

func migrateUp(ctx context.Context, url string, chapters fs.FS) error {
	status, err := migrationStatus(ctx, url, chapters)
	if err != nil {
		return err
	}
	if status.Version > status.Latest {
		return nil // a later program was here, and a rollback to this one must still run
	}
	return applyChapters(ctx, url, chapters)
}

func applyChapters(ctx context.Context, url string, chapters fs.FS) error {
	unlock, err := lockCluster(ctx, url)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer unlock()

	m, err := newMigrator(ctx, url, chapters)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer m.Close()

	// The library knows no context; it can be asked to end after the current chapter.
	stop := context.AfterFunc(ctx, func() { m.GracefulStop <- true })
	defer stop()

	err = m.Up()
	if err != nil && !errors.Is(err, migrate.ErrNoChange) {
		return fmt.Errorf("migrate: %w", err)
	}
	return ctx.Err()
}

func newMigrator(ctx context.Context, url string, chapters fs.FS) (*migrate.Migrate, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read database URL: %w", err)
	}
	limitConnecting(&config.Config)
	config.RuntimeParams["lock_timeout"] = ddlLockTimeout
	config.RuntimeParams["statement_timeout"] = "0" // building an index takes as long as the table is large

	db := stdlib.OpenDB(*config)
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, fmt.Errorf("reach database: %w", err)
	}
	driver, err := migratepgx.WithInstance(db, &migratepgx.Config{MigrationsTable: versionTable})
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("read schema version: %w", err)
	}
	source, err := iofs.New(chapters, ".")
	if err != nil {
		driver.Close()
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return migrate.NewWithInstance("embedded", source, config.Database, &atomicDriver{Driver: driver})
}

func migrationStatus(ctx context.Context, url string, chapters fs.FS) (Status, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return Status{}, fmt.Errorf("read database URL: %w", err)
	}
	limitConnecting(&config.Config)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return Status{}, fmt.Errorf("migration status: %w", err)
	}
	defer conn.Close(ctx)
	return schemaStatus(ctx, conn, chapters)
}

// SchemaStatus is MigrationStatus over a connection that the caller has already.
func SchemaStatus(ctx context.Context, db querier) (Status, error) {
	return schemaStatus(ctx, db, migrations.FS)
}

const (
	readVersion = `SELECT version, dirty FROM schema_revision LIMIT 1`
	// Development versions before the baseline kept their version in other tables: the name
	// of the table changes whenever the baseline is rewritten.
	isBeforeBaseline = `
		SELECT to_regclass('schema_migrations') IS NOT NULL OR to_regclass('schema_version') IS NOT NULL`
)

func schemaStatus(ctx context.Context, db querier, chapters fs.FS) (Status, error) {
	latest, err := latestChapter(chapters)
	if err != nil {
		return Status{}, fmt.Errorf("migration status: %w", err)
	}
	status := Status{Latest: latest}
	err = db.QueryRow(ctx, readVersion).Scan(&status.Version, &status.Dirty)
	if errors.Is(err, pgx.ErrNoRows) || Code(err) == undefinedTable {
		return status, refuseBeforeBaseline(ctx, db)
	}
	if err != nil {
		return Status{}, fmt.Errorf("migration status: %w", err)
	}
	return status, nil
}

// refuseBeforeBaseline is asked about a database to which none of our chapters was applied.
func refuseBeforeBaseline(ctx context.Context, db querier) error {
	var before bool
	err := db.QueryRow(ctx, isBeforeBaseline).Scan(&before)
	if err != nil {
		return fmt.Errorf("migration status: %w", err)
	}
	if before {
		return ErrBeforeBaseline
	}
	return nil
}

func latestChapter(chapters fs.FS) (uint, error) {
	source, err := iofs.New(chapters, ".")
	if err != nil {
		return 0, fmt.Errorf("read migrations: %w", err)
	}
	defer source.Close()

	last, err := source.First()
	for err == nil {
		var next uint
		next, err = source.Next(last)
		if err == nil {
			last = next
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("read migrations: %w", err)
	}
	return last, nil
}
