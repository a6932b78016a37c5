package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/migrations"
)

// templateLock makes one of several processes build the template. Only a number
// no other program is likely to use ("template" in ASCII).
const templateLock int64 = 0x74656d706c617465

// ensureTemplate returns the name of a migrated database to copy. The name
// carries the sum of the migrations, so an edited one makes another template.
func (s *server) ensureTemplate(ctx context.Context) (string, error) {
	sum, err := migrationsSum(migrations.FS)
	if err != nil {
		return "", err
	}
	name := "ratchet_template_" + sum

	lock, err := s.admin.Acquire(ctx)
	if err != nil {
		return "", err
	}
	defer lock.Release()
	_, err = lock.Exec(ctx, `SELECT pg_advisory_lock($1)`, templateLock)
	if err != nil {
		return "", err
	}
	defer func() { _, _ = lock.Exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, templateLock) }()

	var ready bool
	const isReady = `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1 AND datistemplate)`
	err = lock.QueryRow(ctx, isReady, name).Scan(&ready)
	if err != nil || ready {
		return name, err
	}
	return name, s.buildTemplate(ctx, lock, name)
}

// buildTemplate marks the database as a template last: what is marked is whole.
// No session may connect to it from then on, because an open session prevents copies.
func (s *server) buildTemplate(ctx context.Context, lock *pgxpool.Conn, name string) error {
	quoted := pgx.Identifier{name}.Sanitize()
	for _, statement := range []string{
		`DROP DATABASE IF EXISTS ` + quoted,
		`CREATE DATABASE ` + quoted + ` TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'`,
	} {
		_, err := lock.Exec(ctx, statement)
		if err != nil {
			return err
		}
	}
	err := postgres.Migrate(ctx, withDatabase(s.url, name))
	if err != nil {
		return err
	}
	_, err = lock.Exec(ctx, `ALTER DATABASE `+quoted+` WITH IS_TEMPLATE true ALLOW_CONNECTIONS false`)
	return err
}

func migrationsSum(chapters fs.FS) (string, error) {
	files, err := fs.Glob(chapters, "*.sql") // sorted
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, file := range files {
		text, err := fs.ReadFile(chapters, file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", file, len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}
