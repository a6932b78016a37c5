package postgres

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrUnacknowledged means that a transaction is committed here, and that no synchronous
// standby has said that it has it, too: the wait for the standby was canceled. A
// fail-over may undo it. ConnectionLost is true of it: the outcome is unknown.
var ErrUnacknowledged = errors.New("the wait for the synchronous standby was canceled: the commit may be lost in a " +
	"fail-over")

// SendBatch runs statements in one packet, and so in one transaction unless conn is in
// one already. It fails with ErrUnacknowledged where the server reports success with a
// warning that no standby has the transaction.
func SendBatch(ctx context.Context, conn *pgx.Conn, batch *pgx.Batch) error {
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	if conn.PgConn().CustomData()[unacknowledged] != nil {
		delete(conn.PgConn().CustomData(), unacknowledged)
		return ErrUnacknowledged
	}
	return nil
}

const unacknowledged = "unacknowledged"

// noteUnacknowledged remembers the server's warning that a commit did not wait for its
// standby. The text is translated; the name of the server's function is not.
func noteUnacknowledged(conn *pgconn.PgConn, notice *pgconn.Notice) {
	if notice.Routine == "SyncRepWaitForLSN" {
		conn.CustomData()[unacknowledged] = true
	}
}

// neverCancel keeps pgx from asking the server to cancel what a connection is doing.
// pgx does so on a separate connection, whenever one breaks or a caller gives up.
func neverCancel(_ context.Context, config *pgx.ConnConfig) error {
	var connected atomic.Bool
	dial, after := config.DialFunc, config.AfterConnect
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if connected.Load() {
			return nil, errors.New("statements of this connection are not canceled")
		}
		return dial(ctx, network, address)
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
