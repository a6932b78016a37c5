package postgres

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// RiverSchema is where River keeps its jobs. Our chapters make the schema and say
// who may do what in it; River's own migrations fill it.
const RiverSchema = "river"

// migrateRiver brings River's tables to what the linked version of it wants. Each
// of its migrations is a transaction with its number, as our chapters are.
func migrateRiver(ctx context.Context, url string) error {
	unlock, err := lockCluster(ctx, url)
	if err != nil {
		return fmt.Errorf("migrate river: %w", err)
	}
	defer unlock()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("read database URL: %w", err)
	}
	limitConnecting(&config.ConnConfig.Config)
	config.MaxConns = 1
	config.ConnConfig.RuntimeParams["lock_timeout"] = ddlLockTimeout
	config.ConnConfig.RuntimeParams["statement_timeout"] = "0"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("migrate river: %w", err)
	}
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool),
		&rivermigrate.Config{Schema: RiverSchema, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("migrate river: %w", err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate river: %w", err)
	}
	return nil
}
