package postgres

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Leader is what the pools of a process know together of the server that takes writes. A
// server that is promoted begins a new timeline. One that led before, stalled, and wakes
// still takes connections, and shows the rows of before, until it is restarted as a
// standby. A process that has seen the newer timeline leaves the older one for good.
type Leader struct {
	mu     sync.Mutex
	newest uint64
	pools  []*pgxpool.Pool
}

// timeline is 0 on a standby.
const timeline = `SELECT CASE WHEN pg_is_in_recovery() THEN '0' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END`

// follow has a pool's connections lead to the newest timeline alone, if the address names
// several hosts.
func (l *Leader) follow(config *pgconn.Config) {
	if l == nil || !severalHosts(config) {
		return
	}
	others := config.ValidateConnect
	config.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if others != nil {
			if err := others(ctx, conn); err != nil {
				return err
			}
		}
		return l.check(ctx, conn)
	}
}

func (l *Leader) check(ctx context.Context, conn *pgconn.PgConn) error {
	result := conn.ExecParams(ctx, timeline, nil, nil, nil, nil).Read()
	if result.Err != nil {
		return fmt.Errorf("read the timeline: %w", result.Err)
	}
	seen, err := strconv.ParseUint(string(result.Rows[0][0]), 16, 32)
	if err != nil {
		return fmt.Errorf("read the timeline: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if seen > 0 && seen < l.newest {
		return fmt.Errorf("the server is on timeline %d, and another has begun timeline %d", seen, l.newest)
	}
	if seen > l.newest {
		l.newest = seen
		for _, pool := range l.pools {
			pool.Reset()
		}
	}
	return nil
}

func (l *Leader) add(pool *pgxpool.Pool) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pools = append(l.pools, pool)
}
