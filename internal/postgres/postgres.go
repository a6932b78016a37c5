// Package postgres opens the database, migrates its schema, and classifies its errors.
//
// Finding or starting a server is the business of package local.
package postgres

import (
	"context"
	"fmt"
	"maps"
	"net"

	"github.com/jackc/pgx/v5/pgxpool"
)

// The limits of every session. They are sent with the connection's first
// message, so there is no statement that could run before they hold.
const (
	// No statement of ours needs a second. What runs longer has met a lock or a
	// lost index, and would hold its row locks against all others.
	statementTimeout = "3s"

	// A request waits this long for a row another one holds, then answers that
	// the object is busy. Far below statementTimeout, so that the caller can tell
	// "it is locked" from "it is slow".
	lockTimeout = "1s"

	// A process that stops between two statements of a transaction (a debugger,
	// a full machine, a lost network) holds its locks no longer than this.
	idleInTransactionTimeout = "5s"

	// A machine that vanishes in the middle of a packet leaves its row locks with
	// a session that waits for the rest, and no statement time-out ends that wait.
	// The server asks the machine after 5 s, and again, and closes the session after 15.
	keepaliveIdle     = "5"
	keepaliveInterval = "5"
	keepaliveCount    = "2"

	// The money rules stand on row locks, compare-and-set and unique
	// constraints; all of them are written for READ COMMITTED. A database whose
	// owner changed the default must not change what they mean.
	isolation = "read committed"

	// Days, months and fee periods are cut in UTC, regardless of the server's own
	// time zone is.
	timeZone = "UTC"
)

// Config says which database to open, and as whom.
type Config struct {
	// URL is a postgres:// address or a key=value connection string.
	URL string

	// Role is the role whose grants every statement runs with. The login named
	// in URL has to be a member of it. It is part of the session's start, so
	// RESET ROLE returns to it. Empty: the login's own grants.
	Role string

	// MaxConns limits the pool. 0: pgx's default, the larger of 4 and the number of CPUs.
	MaxConns int32

	// ApplicationName is what pg_stat_activity shows.
	ApplicationName string

	// Session are more settings of every session, and other values of the usual ones.
	Session map[string]string

	// NeverCancel lets a statement go on when its caller gives up. Otherwise the server
	// is asked to cancel it, and a commit that waits for a synchronous standby would
	// become visible without the standby.
	NeverCancel bool

	// Leader is shared by the pools of a process: if one of them sees a newer timeline, all
	// of them leave the older one. nil: the pool does not look.
	Leader *Leader

	// DialFunc opens the connections. nil: pgx's own way.
	DialFunc func(ctx context.Context, network, address string) (net.Conn, error)
}

// Open connects a pool and checks that the database answers. Statements are
// prepared once per connection and cached (pgx's default), so a pooler between
// the two has to keep sessions, or know prepared statements, and has to pass
// the startup parameters on.
//
// The error never contains the password. The caller closes the pool.
func Open(ctx context.Context, cfg Config) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("read database URL: %w", err)
	}
	if cfg.MaxConns > 0 {
		config.MaxConns = cfg.MaxConns
	}
	if cfg.DialFunc != nil {
		config.ConnConfig.DialFunc = cfg.DialFunc
	}

	limitConnecting(&config.ConnConfig.Config)
	config.PingTimeout = pingTimeout
	leaveReadOnly(&config.ConnConfig.Config)
	config.ConnConfig.OnNotice = noteUnacknowledged
	config.BeforeConnect = giveUp(cfg.NeverCancel, cfg.Leader)
	cfg.Leader.follow(&config.ConnConfig.Config)

	session := config.ConnConfig.RuntimeParams
	session["statement_timeout"] = statementTimeout
	session["lock_timeout"] = lockTimeout
	session["idle_in_transaction_session_timeout"] = idleInTransactionTimeout
	session["default_transaction_isolation"] = isolation
	session["timezone"] = timeZone
	// statements here are short; where the planner takes one for long, compiling it takes far longer than running it
	session["jit"] = "off"
	session["tcp_keepalives_idle"] = keepaliveIdle
	session["tcp_keepalives_interval"] = keepaliveInterval
	session["tcp_keepalives_count"] = keepaliveCount
	maps.Copy(session, cfg.Session)
	if cfg.Role != "" {
		session["role"] = cfg.Role
	}
	if cfg.ApplicationName != "" {
		session["application_name"] = cfg.ApplicationName
	}

	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach database: %w", err)
	}
	cfg.Leader.add(pool)
	return pool, nil
}
