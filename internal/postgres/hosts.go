package postgres

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/jackc/pgx/v5/pgconn"
)

// A database URL may name several servers, one of which takes writes at a time. A server
// that has failed does not always say so: it may have stalled, or the network may lose its
// packets. Then every wait for it needs a limit.
const (
	// hostTimeout is how long a connection to one of several hosts may take before the next
	// host is tried, and onlyHostTimeout how long one to the only host may take before it is
	// tried again. connect_timeout in the URL takes precedence.
	hostTimeout     = 2 * time.Second
	onlyHostTimeout = 5 * time.Second

	// pingTimeout is how long a connection that was idle for a second may take to show
	// that its server answers. The pool replaces one that does not.
	pingTimeout = 2 * time.Second

	// goodbyeTimeout is how long a connection that was given up takes its place in the pool. pgx
	// would ask the server to cancel the statement, and wait 15 s for an answer.
	goodbyeTimeout = 2 * time.Second
)

// severalHosts reports whether an address names more than one server.
func severalHosts(config *pgconn.Config) bool {
	return slices.ContainsFunc(config.Fallbacks, func(f *pgconn.FallbackConfig) bool {
		return f.Host != config.Host || f.Port != config.Port // the others try the same one without encryption
	})
}

// limitConnecting limits the time for a connection to a host. Over a link that loses packets
// the kernel would wait for minutes, and go on waiting after the link is whole again.
func limitConnecting(config *pgconn.Config) {
	if config.ConnectTimeout != 0 {
		return
	}
	config.ConnectTimeout = onlyHostTimeout
	if severalHosts(config) {
		config.ConnectTimeout = hostTimeout
	}
}

// leaveReadOnly closes a connection on which the server refused to write: another server
// leads, or will soon.
func leaveReadOnly(config *pgconn.Config) {
	others := config.OnPgError // it closes the connections that the server ends
	config.OnPgError = func(conn *pgconn.PgConn, answer *pgconn.PgError) (keep bool) {
		return answer.Code != readOnly && others(conn, answer)
	}
}

// giveUp bounds what pgx does with a connection that breaks, or whose caller gives up: it
// asks the server, on a separate connection, to cancel the statement. never keeps it from
// asking.
func giveUp(never bool, leader *Leader) func(context.Context, *pgx.ConnConfig) error {
	return func(ctx context.Context, config *pgx.ConnConfig) error {
		leader.first(ctx, &config.Config)
		var connected atomic.Bool
		dial, after := config.DialFunc, config.AfterConnect
		config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			if !connected.Load() {
				conn, err := dial(ctx, network, address)
				if err != nil {
					return nil, err
				}
				leader.opened(conn)
				return hasty{conn, leader}, nil
			}
			if never {
				return nil, errors.New("statements of this connection are not canceled")
			}
			ctx, cancel := context.WithTimeout(ctx, goodbyeTimeout)
			defer cancel()
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return conn, conn.SetDeadline(time.Now().Add(goodbyeTimeout))
		}
		config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
			connected.Store(true)
			if after == nil {
				return nil
			}
			return after(ctx, conn)
		}
		return nil
	}
}

// hasty is a connection that waits for nothing longer than goodbyeTimeout once it has a
// deadline. pgx sets deadlines to end a wait at once, and for a goodbye.
type hasty struct {
	net.Conn
	leader *Leader
}

// Close closes the connection, and the leader forgets it.
func (c hasty) Close() error {
	c.leader.closed(c.Conn)
	return c.Conn.Close()
}

// SetDeadline shortens a deadline to goodbyeTimeout, so that a server that stalls can't hold up the close.
func (c hasty) SetDeadline(t time.Time) error {
	if latest := time.Now().Add(goodbyeTimeout); t.After(latest) {
		t = latest
	}
	return c.Conn.SetDeadline(t)
}
