package model

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// The sealer reads behind transactions that commit in another order than they
// began. A reader that took "everything up to the newest" would pass by the late ones.
func TestSeal(t *testing.T) {
	t.Parallel()

	t.Run("a transaction that commits late is in the chain, and the chain holds", func(t *testing.T) {
		t.Parallel()
		pool := pgtest.New(t).Pool
		late, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = late.Rollback(context.WithoutCancel(t.Context())) }() // if it did not come to its commit
		leaveTrace(t, late, "late")
		for n := range 3 {
			leaveTrace(t, pool, fmt.Sprintf("early-%d", n))
		}
		seal(t, pool)
		if err := late.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		leaveTrace(t, pool, "afterwards")

		// Another test's transaction on this server may be older than the last row,
		// and then it waits for a later block.
		sealed := map[string]int{}
		for deadline := time.Now().Add(time.Minute); sealed["afterwards"] == 0 &&
			time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			seal(t, pool)
			sealed = wholeChain(t, pool)
		}
		for _, id := range []string{"late", "early-0", "early-1", "early-2", "afterwards"} {
			if sealed[id] != 1 {
				t.Errorf("%s is in the chain %d times, want once", id, sealed[id])
			}
		}
	})
}

var (
	theKey   = []byte("the key of the chain")
	chainKey = secret.OneKey(theKey)
)

type execer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func leaveTrace(t *testing.T, db execer, id string) {
	t.Helper()
	rows, err := db.Query(t.Context(), `
		INSERT INTO audit_events (at, id, account_id, livemode, request_id, actor, operation, status, commitment)
		VALUES (clock_timestamp(), $1, 'acct_test', false, 'req_test', 'key_test', 'charge.create', 200,
			$2)`, id, make([]byte, sha256.Size))
	if err != nil {
		t.Fatal(err)
	}
	rows.Close()
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
}

func seal(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	if _, err := (audit.Sealer{Pool: pool, Keys: chainKey}).Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// wholeChain checks every block against the rows it covers now, and returns how
// often each row is covered.
func wholeChain(t *testing.T, pool *pgxpool.Pool) map[string]int {
	t.Helper()
	type block struct {
		audit.Span
		Previous, Digest []byte
	}
	found, _ := pool.Query(t.Context(),
		"SELECT cluster, from_xid, to_xid, previous, digest FROM audit_blocks ORDER BY no")
	blocks, err := pgx.CollectRows(found, pgx.RowToStructByName[block])
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]int{}
	previous := make([]byte, sha256.Size)
	for n, b := range blocks {
		rows, err := audit.Rows(t.Context(), pool, b.Span)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Previous, previous) || !bytes.Equal(b.Digest, audit.Digest(theKey, previous, rows)) {
			t.Errorf("block %d does not fit what it covers", n+1)
		}
		previous = b.Digest
		for _, r := range rows {
			covered[r.ID]++
		}
	}
	return covered
}
