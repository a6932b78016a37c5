package ui

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Querier is a pool or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Read runs a statement and collects its rows. PostgreSQL plans it for its arguments each time: a page names few of
// the filters that its statement has, and a plan for any arguments would read the whole table.
func Read[T any](ctx context.Context, pool *pgxpool.Pool, sql string, args postgres.Args) ([]T, error) {
	return ReadIn[T](ctx, pool, sql, args)
}

// ReadIn is Read in a pool or a transaction.
func ReadIn[T any](ctx context.Context, db Querier, sql string, args postgres.Args) ([]T, error) {
	given := []any{pgx.QueryExecModeCacheDescribe}
	if args != nil {
		given = append(given, args)
	}
	rows, err := db.Query(ctx, sql, given...)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return found, nil
}

// ReadOne runs a statement and returns its first row, or nil if it has none.
func ReadOne[T any](ctx context.Context, pool *pgxpool.Pool, sql string, args postgres.Args) (*T, error) {
	rows, err := Read[T](ctx, pool, sql, args)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// Sorted returns the keys of a map in alphabetical order.
func Sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
