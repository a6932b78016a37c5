package idempotency

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/id"
)

const (
	// AliveFor and renewEvery decide how fast a death is noticed: within AliveFor.
	// Three renewals fit into it, so one slow round trip does not look like a death.
	AliveFor   = time.Second
	renewEvery = 300 * time.Millisecond
)

const renewWorker = `
	INSERT INTO workers (id, kind, host, pid, started_at, secrets, alive_until)
	VALUES (@id, @kind, @host, @pid, clock_timestamp(), @secrets, clock_timestamp() + @alive_for::interval)
	ON CONFLICT (id) DO UPDATE SET alive_until = clock_timestamp() + @alive_for::interval`

const deleteExpired = `DELETE FROM workers WHERE id = @id OR alive_until < clock_timestamp() - interval '1 hour'`

// Liveness is this process's row in workers. While the process renews it, others leave its
// requests alone. A second after it stops, any process may take them over.
type Liveness struct {
	ID      string // the owner of every request this process executes
	kind    string
	secrets [][]byte
	pool    *pgxpool.Pool
}

// NewLiveness announces a process of a kind ("serve", "work") to the others, with the
// digests of the secrets that it was given.
func NewLiveness(ctx context.Context, pool *pgxpool.Pool, kind string, secrets ...[]byte) (*Liveness, error) {
	l := &Liveness{ID: id.New("wk", time.Now()), kind: kind, secrets: append([][]byte{}, secrets...),
		pool: pool}
	if err := l.renew(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// Run renews the row until ctx ends, then removes it: what the process left
// unfinished is taken over at once, not after a second.
func (l *Liveness) Run(ctx context.Context) {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_, _ = l.pool.Exec(last, deleteExpired, pgx.StrictNamedArgs{"id": l.ID})
			return
		case <-tick.C:
			// A failure is no disaster: our requests may be taken over, and the
			// fence protects them from us.
			_ = l.renew(ctx)
		}
	}
}

// A renewal that takes as long as the row lasts is given up: on a connection that
// has gone silent it would wait for minutes, and a living process look dead.
func (l *Liveness) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, AliveFor)
	defer cancel()
	host, _ := os.Hostname()
	_, err := l.pool.Exec(ctx, renewWorker, pgx.StrictNamedArgs{
		"id": l.ID, "kind": l.kind, "host": host, "pid": os.Getpid(), "secrets": l.secrets,
		"alive_for": AliveFor})
	if err != nil {
		return fmt.Errorf("renew liveness: %w", err)
	}
	return nil
}
