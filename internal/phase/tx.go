package phase

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// Reader is anything that reads the database: a pool or a Tx.
type Reader = idempotency.Reader

// Tx is permission to write, inside the fence. Only the engine can make one.
//
// Writes are queued and travel with the commit in one packet, so a phase that
// only writes costs one round trip however many rows it touches. Reads happen
// at once and see the database as it was before this phase's writes; the first
// read begins the transaction and, on a request that is already claimed, locks
// its row.
type Tx struct {
	Caller

	pool      *pgxpool.Pool
	committer *Committer // nil: every transaction goes alone
	roots     *secret.Roots
	now       time.Time
	fence     *idempotency.Statement // nil while the key is being claimed
	callKey   func(name string) string

	conn  *pgxpool.Conn // held from the first read on
	drop  *time.Timer   // closes it when the database does not answer
	open  pgx.BatchResults
	queue []idempotency.Statement
	ids   int // how many NewID has made
}

// Caller is on whose behalf a phase runs. The completer runs it on behalf of the
// original caller.
type Caller struct {
	AccountID string
	Livemode  bool
	RequestID string
	Key       string // the caller's idempotency key; "" if there was none
	idempotency.Caller
}

// Check is what a flow's check knows: who asks, and when.
type Check struct {
	Caller
	At    time.Time // when the request came in, by the database's clock
	roots *secret.Roots
}

// Keys are the installation's keys for one purpose, as Tx has them.
func (c Check) Keys(purpose string) secret.Keys { return c.roots.Keys(purpose) }

// Now is the database's time when this attempt began. Times and ids that are
// stored come from it, never from this machine's clock.
func (tx *Tx) Now() time.Time { return tx.now }

// NewID makes the id of something this transaction makes. Ids it has made sort
// in the order in which they were made: a list shows them so.
func (tx *Tx) NewID(prefix string) string {
	tx.ids++
	return id.Ordered(prefix, tx.now, tx.ids-1)
}

// CallKey is the derived key under which the named foreign phase of this request is
// called first. A retry of a request that this database has lost has the same one.
func (tx *Tx) CallKey(name string) string { return tx.callKey(name) }

// Write queues a statement. args is one value that names the statement's
// arguments strictly: pgx.StrictNamedArgs or pgx.StrictStructArgs.
func (tx *Tx) Write(sql string, args any) {
	tx.queue = append(tx.queue, idempotency.Statement{SQL: sql, Args: args})
}

// WriteOne queues an INSERT, UPDATE or DELETE that must touch exactly one row.
// Where it does not, the database itself ends the transaction.
func (tx *Tx) WriteOne(sql string, args any) {
	tx.Write(exactlyOne(sql), args)
}

func exactlyOne(sql string) string {
	return "WITH touched AS (" + sql +
		" RETURNING 1) SELECT CASE count(*) WHEN 1 THEN 1 ELSE assert_row_count(1, count(*), 'write') END FROM touched"
}

// Query reads.
func (tx *Tx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if tx.conn != nil {
		if err := tx.closeOpen(); err != nil {
			return nil, err
		}
		tx.drop.Reset(answerTimeout)
		return tx.conn.Query(ctx, sql, args...)
	}
	conn, err := acquire(ctx, tx.pool)
	if err != nil {
		return nil, fmt.Errorf("acquire connection: %w", err)
	}
	tx.conn, tx.drop = conn, dropLate(conn)
	// BEGIN, the fence and the read leave together.
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	if tx.fence != nil {
		batch.Queue(tx.fence.SQL, tx.fence.Args)
	}
	batch.Queue(sql, args...)
	tx.open = conn.SendBatch(ctx, batch)
	for range batch.Len() - 1 {
		if _, err := tx.open.Exec(); err != nil {
			return nil, fmt.Errorf("begin: %w", err)
		}
	}
	return tx.open.Query()
}

func (tx *Tx) closeOpen() error {
	if tx.open == nil {
		return nil
	}
	err := tx.open.Close()
	tx.open = nil
	return err
}

// commit sends everything queued behind the engine's own statements and commits.
// Without a read before it, the whole transaction is one packet, and goes together
// with others (see Committer): Postgres runs a pipeline up to its sync as one
// transaction, all or nothing.
func (tx *Tx) commit(ctx context.Context, key idempotency.Key, engine ...idempotency.Statement) error {
	statements := append(engine, tx.queue...)
	if tx.conn != nil {
		return tx.finish(ctx, statements)
	}
	if tx.committer != nil {
		err := tx.committer.commit(ctx, tx.commitTimeout(), &member{key: key, statements: statements})
		if !errors.Is(err, errAlone) {
			return err
		}
	}
	return send(ctx, tx.pool, statements)
}

// finish ends a transaction that has read.
func (tx *Tx) finish(ctx context.Context, statements []idempotency.Statement) error {
	defer tx.release()
	if err := tx.closeOpen(); err != nil {
		return err
	}
	batch := batchOf(statements)
	batch.Queue("COMMIT")
	tx.drop.Reset(answerTimeout)
	return postgres.SendBatch(ctx, tx.conn.Conn(), batch)
}

// commitTimeout is how long a transaction waits for others to be committed. A claim can be
// refused; what has begun waits for as long as the attempt lasts.
func (tx *Tx) commitTimeout() time.Duration {
	if tx.fence == nil {
		return queueTimeout
	}
	return executionTimeout
}

// send runs statements in one packet and one transaction.
func send(ctx context.Context, pool *pgxpool.Pool, statements []idempotency.Statement) error {
	conn, err := acquire(ctx, pool)
	if err != nil {
		return err
	}
	defer conn.Release()
	defer dropLate(conn).Stop()
	return postgres.SendBatch(ctx, conn.Conn(), batchOf(statements))
}

func acquire(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return pool.Acquire(ctx)
}

// dropLate closes a connection on which the database does not answer in time, unless it is
// stopped before. It closes the socket, so that pgx does not ask the server to cancel: a
// commit that waits for a synchronous standby would become visible without it.
func dropLate(conn *pgxpool.Conn) *time.Timer {
	socket := conn.Conn().PgConn().Conn() // conn itself is gone once it is released
	return time.AfterFunc(answerTimeout, func() { _ = socket.Close() })
}

func batchOf(statements []idempotency.Statement) *pgx.Batch {
	batch := &pgx.Batch{}
	for _, s := range statements {
		batch.Queue(s.SQL, s.Args)
	}
	return batch
}

// rollback forgets everything.
func (tx *Tx) rollback(ctx context.Context) {
	tx.queue = nil
	if tx.conn == nil {
		return
	}
	defer tx.release()
	if tx.closeOpen() == nil {
		_, _ = tx.conn.Exec(ctx, "ROLLBACK")
	}
}

// release returns the connection. The pool closes one that is still inside a
// transaction, which rolls it back.
func (tx *Tx) release() {
	tx.drop.Stop()
	tx.conn.Release()
	tx.conn = nil
}
