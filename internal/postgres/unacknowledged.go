package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrUnacknowledged means that a transaction is committed here, and that no synchronous
// standby has said that it has it, too: the wait for the standby was canceled. A
// failover may undo it. ConnectionLost is true of it: the outcome is unknown.
var ErrUnacknowledged = errors.New("the wait for the synchronous standby was canceled: the commit may be lost in a " +
	"failover")

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
