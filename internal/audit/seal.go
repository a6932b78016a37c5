package audit

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// A block covers all audit rows of the transactions from one id to another, in
// (xid, id) order, and the digest of the block before it. Transactions still
// under way are left to a later block: the horizon is the oldest of them, so no
// late commit can slip in behind a sealed block.
//
// Transaction ids belong to a cluster, and so does a block. After a dump is
// restored into another cluster, what the old one had not sealed comes first: all
// of it has been committed, or it would not be in the dump. Then the new one begins
// with a new block, which may be empty, chained to the last one like any other.

// Format is the version of the rule by which a block is hashed. Blocks of format 1 are
// hashed without a key, so an attacker with write access to the table could recompute them.
const Format = 2

// sealAtOnce bounds a block, so that sealing a backlog does not hold a snapshot long.
const sealAtOnce = 10_000

const lastBlock = `SELECT no, cluster, digest FROM audit_blocks ORDER BY no DESC LIMIT 1`

const horizon = `
	SELECT this_cluster() AS cluster,
	       coalesce((SELECT max(to_xid) FROM audit_blocks WHERE cluster = this_cluster()), 0) AS from_xid,
	       pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS to_xid`

// leftBehind is what another cluster had not sealed. It reads all of the trail, and
// is asked only until this cluster has its first block.
const leftBehind = `
	SELECT e.cluster, coalesce(max(b.head), 0) AS from_xid, max(e.xid) + 1 AS to_xid
	FROM audit_events e LEFT JOIN (SELECT cluster, max(to_xid) AS head FROM audit_blocks GROUP BY cluster) AS b
	    ON b.cluster = e.cluster
	WHERE e.cluster <> this_cluster() AND e.xid >= coalesce(b.head, 0)
	GROUP BY e.cluster
	ORDER BY min(e.at)
	LIMIT 1`

// The last transaction of a full block is sealed with the next one, unless it is
// the only one: a block ends between transactions. Only the index is read, and no
// more of it than a block has rows, however many wait behind them.
const blockEnd = `
	WITH first AS (
		SELECT xid FROM audit_events
		WHERE cluster = @cluster AND xid >= @from_xid AND xid < @horizon ORDER BY cluster, xid LIMIT 1
	), beyond AS (
		SELECT xid FROM audit_events
		WHERE cluster = @cluster AND xid >= @from_xid AND xid < @horizon ORDER BY cluster, xid OFFSET @at_once LIMIT 1
	)
	SELECT coalesce((SELECT greatest(beyond.xid, first.xid + 1) FROM first, beyond), @horizon)`

const selectRows = `
	SELECT cluster, xid, id, at, account_id, livemode, request_id, idempotency_key, actor, address, operation,
	       object_id, status, error_code, commitment, answer_digest
	FROM audit_events
	WHERE cluster = @cluster AND xid >= @from_xid AND xid < @to_xid
	ORDER BY cluster, xid, id`

const insertBlock = `
	INSERT INTO audit_blocks (no, cluster, from_xid, to_xid, rows, previous, digest, format,
		secret_version)
	VALUES (@no, @cluster, @from_xid, @to_xid, @rows, @previous, @digest, @format, @secret_version)
	ON CONFLICT DO NOTHING`

// Row is the part of an audit row that the chain covers: everything but the details,
// which the commitment represents.
type Row struct {
	Cluster        int64
	XID            int64
	ID             string
	At             time.Time
	AccountID      string
	Livemode       bool
	RequestID      string
	IdempotencyKey *string
	Actor          string
	Address        *string
	Operation      string
	ObjectID       *string
	Status         int16
	ErrorCode      *string
	Commitment     []byte
	AnswerDigest   []byte
}

// Block is one link of the chain.
type Block struct {
	No      int64
	Cluster int64
	Digest  []byte
}

// Span are transactions of a cluster, from the first to before the last.
type Span struct {
	Cluster        int64
	FromXID, ToXID int64
}

// Sealer adds blocks to the chain. Its keys are secret.Roots.Keys(secret.AuditChain),
// which are in no table as they are, so an attacker with access to the database alone cannot recompute
// a block. The sealer logs each new head of the chain, and the log is kept elsewhere.
type Sealer struct {
	Pool *pgxpool.Pool
	Keys secret.Keys
	Log  *slog.Logger // nil: heads are not logged
}

// Head names a block and its digest as one text: what the log says, what
// "ratchet verify" prints, and what its --head takes.
func Head(no int64, digest []byte) string { return fmt.Sprintf("%d:%x", no, digest) }

// Seal adds a block for what has been committed since the last one. It returns
// the number of rows sealed. Of two sealers at once one wins and the other does
// nothing.
func (s Sealer) Seal(ctx context.Context) (int, error) {
	pool := s.Pool
	last := Block{Digest: make([]byte, sha256.Size)}
	err := pool.QueryRow(ctx, lastBlock).Scan(&last.No, &last.Cluster, &last.Digest)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("read last block: %w", err)
	}
	span, begins, err := next(ctx, pool, last)
	if err != nil {
		return 0, err
	}
	rows, err := Rows(ctx, pool, span)
	if err != nil || span.ToXID <= span.FromXID || len(rows) == 0 && !begins {
		return 0, err
	}
	version, key := s.Keys.Newest()
	sum := Digest(key, last.Digest, rows)
	added, err := pool.Exec(ctx, insertBlock, postgres.Args{
		"no": last.No + 1, "cluster": span.Cluster, "from_xid": span.FromXID, "to_xid": span.ToXID, "rows": len(rows),
		"previous": last.Digest, "digest": sum, "format": Format,
		"secret_version": version})
	if err != nil {
		return 0, fmt.Errorf("insert block: %w", err)
	}
	if s.Log != nil && added.RowsAffected() == 1 {
		s.Log.InfoContext(ctx, "audit trail sealed", "head", Head(last.No+1, sum), "rows", len(rows))
	}
	return len(rows), nil
}

// next is what the next block covers. begins says that it is the first of this
// cluster behind another's, and links them even if there is nothing in it.
func next(ctx context.Context, pool *pgxpool.Pool, last Block) (span Span, begins bool, err error) {
	if err := pool.QueryRow(ctx, horizon).Scan(&span.Cluster, &span.FromXID, &span.ToXID); err != nil {
		return Span{}, false, fmt.Errorf("read horizon: %w", err)
	}
	if last.Cluster != span.Cluster {
		begins = last.No > 0
		var left Span
		err := pool.QueryRow(ctx, leftBehind).Scan(&left.Cluster, &left.FromXID, &left.ToXID)
		switch {
		case err == nil:
			span, begins = left, false
		case !errors.Is(err, pgx.ErrNoRows):
			return Span{}, false, fmt.Errorf("look for what another cluster left: %w", err)
		}
	}
	args := postgres.Args{
		"cluster":  span.Cluster,
		"from_xid": span.FromXID,
		"horizon":  span.ToXID,
		"at_once":  sealAtOnce,
	}
	if err := pool.QueryRow(ctx, blockEnd, args).Scan(&span.ToXID); err != nil {
		return Span{}, false, fmt.Errorf("find the end of the block: %w", err)
	}
	return span, begins, nil
}

// Rows reads the rows that a block over these transactions covers.
func Rows(ctx context.Context, pool *pgxpool.Pool, span Span) ([]Row, error) {
	found, err := pool.Query(ctx, selectRows,
		postgres.Args{"cluster": span.Cluster, "from_xid": span.FromXID, "to_xid": span.ToXID})
	if err != nil {
		return nil, fmt.Errorf("read audit rows: %w", err)
	}
	rows, err := pgx.CollectRows(found, pgx.RowToStructByName[Row])
	if err != nil {
		return nil, fmt.Errorf("read audit rows: %w", err)
	}
	return rows, nil
}

// Digest chains rows behind a previous digest: HMAC-SHA-256 over both. Every value
// is written as its length and its bytes, absent ones as length 2^64-1, times as
// microseconds, so that an auditor can write this function again from this sentence.
func Digest(key, previous []byte, rows []Row) []byte {
	sum := hmac.New(sha256.New, key)
	sum.Write(previous)
	var number [8]byte
	put := func(value []byte, absent bool) {
		length := uint64(len(value))
		if absent {
			length = ^uint64(0)
		}
		binary.BigEndian.PutUint64(number[:], length)
		sum.Write(number[:])
		sum.Write(value)
	}
	text := func(s string) { put([]byte(s), false) }
	maybe := func(s *string) {
		if s == nil {
			put(nil, true)
			return
		}
		text(*s)
	}
	integer := func(n int64) { put(binary.BigEndian.AppendUint64(nil, uint64(n)), false) }
	for _, r := range rows {
		integer(r.Cluster)
		integer(r.XID)
		text(r.ID)
		integer(r.At.UnixMicro())
		text(r.AccountID)
		text(fmt.Sprint(r.Livemode))
		text(r.RequestID)
		maybe(r.IdempotencyKey)
		text(r.Actor)
		maybe(r.Address)
		text(r.Operation)
		maybe(r.ObjectID)
		integer(int64(r.Status))
		maybe(r.ErrorCode)
		put(r.Commitment, false)
		put(r.AnswerDigest, r.AnswerDigest == nil)
	}
	return sum.Sum(nil)
}

const ensurePartitions = `SELECT ensure_audit_partitions(@months_ahead)`

// PreparePartitions makes the partitions of this month and the next ones.
func PreparePartitions(ctx context.Context, pool *pgxpool.Pool, monthsAhead int) error {
	if _, err := pool.Exec(ctx, ensurePartitions, postgres.Args{"months_ahead": monthsAhead}); err != nil {
		return fmt.Errorf("prepare audit partitions: %w", err)
	}
	return nil
}
