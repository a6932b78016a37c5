package design

import (
	"context"
	"embed"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed schema/*.sql
var schemas embed.FS

// tables are the files with the tables of each design, besides charges.sql. Each design
// and each form of one has its own schema, like a separate shop.
var tables = map[string][]string{
	"naive":           nil,
	"redis-1s":        nil,
	"redis-24h":       nil,
	"redis-unawaited": nil,
	"table":           {"table.sql"},
	"table-takeover":  {"table.sql"},
	"table-tx":        {"table.sql"},
	"manager":         {"manager.sql"},
	"points":          {"points.sql"},
	"queue-set":       {"queue.sql"},
	"queue-table":     {"queue.sql", "queue_table.sql"},
}

// Schema is the PostgreSQL schema of a design's tables, or "" if they are not ours.
func Schema(name string) string {
	if _, ours := tables[name]; !ours {
		return ""
	}
	return "lab_" + strings.ReplaceAll(name, "-", "_")
}

// SchemaURL is the address of a database for connections that work in the schema of a
// design.
func SchemaURL(databaseURL, name string) (string, error) {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return "", fmt.Errorf("read the database's address: %w", err)
	}
	query := u.Query()
	query.Set("search_path", Schema(name))
	u.RawQuery = query.Encode()
	return u.String(), nil
}

const enterSchema = `SELECT set_config('search_path', @schema, true)`

// CreateSchemas makes the schemas and tables of all designs, if they do not exist yet.
func CreateSchemas(ctx context.Context, db *pgxpool.Pool) error {
	for name, files := range tables {
		err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{Schema(name)}.Sanitize())
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, enterSchema, pgx.StrictNamedArgs{"schema": Schema(name)}); err != nil {
				return err
			}
			for _, file := range append([]string{"charges.sql"}, files...) {
				text, err := schemas.ReadFile("schema/" + file)
				if err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, string(text)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("create the schema of %s: %w", name, err)
		}
	}
	return nil
}

const countCharges = `SELECT count(*) FROM charges WHERE order_id = @order`

// Count is how many charges the design has booked for an order in whose schema db works.
func Count(ctx context.Context, db *pgxpool.Pool, orderID int64) (n int, err error) {
	err = db.QueryRow(ctx, countCharges, pgx.StrictNamedArgs{"order": orderID}).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the charges: %w", err)
	}
	return n, nil
}
