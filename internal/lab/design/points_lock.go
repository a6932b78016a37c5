package design

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	lockKey   = `SELECT pg_try_advisory_lock(hashtextextended(@key, 0))`
	unlockKey = `SELECT pg_advisory_unlock(hashtextextended(@key, 0))`
)

// lock locks a key, or returns errInProgress. The lock belongs to the session of the
// connection: PostgreSQL releases it when the process dies.
func (p *points) lock(ctx context.Context, key string) (conn *pgxpool.Conn, unlock func(), err error) {
	if conn, err = p.db.Acquire(ctx); err != nil {
		return nil, nil, err
	}
	var locked bool
	err = conn.QueryRow(ctx, lockKey, pgx.StrictNamedArgs{"key": key}).Scan(&locked)
	if err == nil && !locked {
		err = errInProgress
	}
	if err != nil {
		conn.Release()
		return nil, nil, err
	}
	return conn, func() {
		_, _ = conn.Exec(ctx, unlockKey, pgx.StrictNamedArgs{"key": key}) // a connection that breaks releases it, too
		conn.Release()
	}, nil
}
