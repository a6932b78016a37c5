package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const (
	// The chapters create roles, and roles belong to the whole cluster, while an
	// advisory lock belongs to one database. All of us know this one.
	maintenanceDatabase = "postgres"

	// migrationLock is only a number no other program is likely to use ("ratchet" in ASCII).
	migrationLock int64 = 0x72617463686574
)

// lockCluster waits until no other process migrates any database of this
// cluster. The lock ends with unlock, or with the process.
func lockCluster(ctx context.Context, url string) (unlock func(), err error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read database URL: %w", err)
	}
	limitConnecting(&config.Config)
	config.RuntimeParams["lock_timeout"] = "0"      // ctx says how long to wait
	config.RuntimeParams["statement_timeout"] = "0" // the same: waiting is one long statement
	config.RuntimeParams["idle_session_timeout"] = "0"

	shared := config.Copy()
	shared.Database = maintenanceDatabase
	conn, err := pgx.ConnectConfig(ctx, shared)
	if err != nil {
		// Not every login may enter it. Then at least those that migrate this database take turns.
		conn, err = pgx.ConnectConfig(ctx, config)
	}
	if err != nil {
		return nil, fmt.Errorf("reach database: %w", err)
	}

	unlock = func() { _ = conn.Close(context.WithoutCancel(ctx)) }
	_, err = conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, migrationLock)
	if err != nil {
		unlock()
		return nil, fmt.Errorf("wait for other migrations: %w", err)
	}
	return unlock, nil
}
