package postgres

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// patienceAtMost is the longest time that a connection to a host may take.
const patienceAtMost = 20 * time.Second

// patience is how long a pool waits for a connection to a host. If no host answers, the machines may be too busy to
// answer in the usual time. Then each try would be cut off and begin again, and the tries would keep the machines busy.
// So the longer no host has answered, the longer a try may take. A nil patience changes nothing.
type patience struct {
	least  time.Duration
	silent atomic.Int64 // Unix nanoseconds of the first try since the last answer of a host; 0: there is none
}

// newPatience notes when a host of config answers. It returns nil if connect_timeout in the URL says how long to wait.
// Otherwise it begins with the time that limitConnecting allows.
func newPatience(config *pgconn.Config) *patience {
	if config.ConnectTimeout != 0 {
		return nil
	}
	limitConnecting(config)
	p := &patience{least: config.ConnectTimeout}
	validate, others := config.ValidateConnect, config.OnPgError
	config.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		p.silent.Store(0)
		if validate == nil {
			return nil
		}
		return validate(ctx, conn)
	}
	config.OnPgError = func(conn *pgconn.PgConn, answer *pgconn.PgError) (keep bool) {
		p.silent.Store(0)
		return others(conn, answer)
	}
	return p
}

// limit bounds the time for each host of a connection that is about to be made.
func (p *patience) limit(config *pgx.ConnConfig) {
	if p == nil {
		return
	}
	now := time.Now()
	since := p.silent.Load()
	if since == 0 {
		since = now.UnixNano()
		p.silent.CompareAndSwap(0, since)
	}
	config.ConnectTimeout = min(max(p.least, now.Sub(time.Unix(0, since))/2), patienceAtMost)
}

// failed looks at the error of a dial. A host that refuses a connection has answered.
func (p *patience) failed(err error) {
	timeout, isNet := errors.AsType[net.Error](err)
	if p == nil || isNet && timeout.Timeout() || errors.Is(err, context.Canceled) {
		return
	}
	p.silent.Store(0)
}
