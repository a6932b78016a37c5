package simulator

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/golang-migrate/migrate/v4"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Two processes that start at once would both find the schema missing, and one would fail.
const createSchema = `
	SELECT pg_advisory_xact_lock(hashtext('acquirer'));
	CREATE SCHEMA IF NOT EXISTS acquirer`

// migrateSchema brings the acquirer's schema up to date. Its version is kept
// inside that schema: another program's migrations may live in the same database.
func migrateSchema(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, createSchema)
	if err != nil {
		return err
	}
	source, err := iofs.New(migrations, "migrations")
	if err != nil {
		return err
	}
	db := stdlib.OpenDBFromPool(pool)
	target, err := migratepgx.WithInstance(db, &migratepgx.Config{SchemaName: "acquirer"})
	if err != nil {
		return errors.Join(err, db.Close())
	}
	migrator, err := migrate.NewWithInstance("iofs", source, "acquirer", target)
	if err != nil {
		return errors.Join(err, target.Close())
	}
	err = migrator.Up()
	if errors.Is(err, migrate.ErrNoChange) {
		err = nil
	}
	sourceErr, targetErr := migrator.Close()
	err = errors.Join(err, sourceErr, targetErr)
	if err != nil {
		return fmt.Errorf("migrate the acquirer's schema: %w", err)
	}
	return nil
}
