package postgres

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Leader is what the pools of a process know together of the server that takes writes. A
// server that is promoted begins a new timeline. One that led before, stalled, and wakes
// still takes connections, and shows the rows of before, until it is restarted as a
// standby. A process that has seen the newer timeline leaves the older one for good, and
// waits for no answer from there.
type Leader struct {
	mu      sync.Mutex
	newest  uint64
	address string // of the server that was last seen to lead
	pools   []*pgxpool.Pool
	open    map[net.Conn]bool // connections of the pools, to any of the hosts
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
		return fmt.Errorf("the server is on timeline %d, and another server has started timeline %d", seen, l.newest)
	}
	if seen > l.newest {
		l.newest = seen
		l.leave(conn.Conn().RemoteAddr().String())
	}
	return nil
}

// leave has the pools make new connections, and ends those to other servers than the one at
// address. A statement that waits for an answer from there fails now.
func (l *Leader) leave(address string) {
	l.address = address
	for _, pool := range l.pools {
		pool.Reset()
	}
	for conn := range l.open {
		if conn.RemoteAddr().String() != address {
			delete(l.open, conn)
			go func() { _ = conn.Close() }() // it may wait for what its owner is writing
		}
	}
}

// opened keeps a connection in mind until it is closed.
func (l *Leader) opened(conn net.Conn) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[net.Conn]bool{}
	}
	l.open[conn] = true
}

func (l *Leader) closed(conn net.Conn) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, conn)
}

// first has a connection try the server that was last seen to lead before the others. One
// that stalls, and that the URL names before it, would cost every new connection hostTimeout.
func (l *Leader) first(ctx context.Context, config *pgconn.Config) {
	if l == nil || !severalHosts(config) {
		return
	}
	l.mu.Lock()
	leads := l.address
	l.mu.Unlock()
	var first, others []*pgconn.FallbackConfig
	for _, host := range append([]*pgconn.FallbackConfig{
		{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}, config.Fallbacks...) {
		if leads != "" && hasAddress(ctx, config, host, leads) {
			first = append(first, host)
		} else {
			others = append(others, host)
		}
	}
	all := append(first, others...)
	config.Host, config.Port, config.TLSConfig = all[0].Host, all[0].Port, all[0].TLSConfig
	config.Fallbacks = all[1:]
}

// hasAddress says whether a host's name leads to an address. If the name can't be looked up,
// pgx reports it when it connects.
func hasAddress(ctx context.Context, config *pgconn.Config, host *pgconn.FallbackConfig, address string) bool {
	found, _ := config.LookupFunc(ctx, host.Host)
	return slices.ContainsFunc(found, func(ip string) bool {
		return net.JoinHostPort(ip, strconv.Itoa(int(host.Port))) == address
	})
}

func (l *Leader) add(pool *pgxpool.Pool) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pools = append(l.pools, pool)
}
