package audit

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// A backlog is what an earlier cluster has not sealed: this many rows, each in its own
// transaction, and after them one transaction with more rows than a block has room for.
const (
	rowsOfTheirOwn = 2 * sealAtOnce
	rowsTogether   = sealAtOnce + 50

	makeBacklog = `
		INSERT INTO audit_events (at, id, account_id, livemode, request_id, actor, operation, status, commitment,
			cluster, xid)
		SELECT now() - interval '1 minute' + n * interval '1 ms', 'aud_' || n, 'acct_1', false, 'req_' || n, 'key_1',
		       'charge.create', 200, sha256('{}'), 1, least(n, $1::int + 1)
		FROM generate_series(1, $1::int + $2::int) n`
)

// inOrder is how the index of a month's partition ends.
const inOrder = "_cluster_xid_idx"

func TestABacklogIsSealedBlockByBlock(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), makeBacklog, rowsOfTheirOwn, rowsTogether)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Pool.Exec(t.Context(), `ANALYZE audit_events`)
	if err != nil {
		t.Fatal(err)
	}

	t.Run("the end of a block is found without sorting the backlog", func(t *testing.T) {
		plan := db.Plan(t, blockEnd,
			pgx.StrictNamedArgs{"cluster": 1, "from_xid": 0, "horizon": 1 << 40, "at_once": sealAtOnce})
		if strings.Contains(plan, "Sort  (") || strings.Contains(plan, "Seq Scan") || !strings.Contains(plan, inOrder) {
			t.Errorf("more than a block is read:\n%s", plan)
		}
	})

	t.Run("the rows of a block are found without reading the backlog", func(t *testing.T) {
		plan := db.Plan(t, selectRows, pgx.StrictNamedArgs{"cluster": 1, "from_xid": 0, "to_xid": sealAtOnce})
		if !strings.Contains(plan, inOrder) {
			t.Errorf("more than a block is read:\n%s", plan)
		}
	})

	t.Run("a block is full, or holds one transaction", func(t *testing.T) {
		want := []int{sealAtOnce, sealAtOnce, rowsTogether}
		var sealed []int
		// A transaction of another test on this server may be older than the rows, and is waited for.
		for deadline := time.Now().Add(5 * time.Minute); len(sealed) < len(want) && time.Now().Before(deadline); {
			rows, err := Sealer{Pool: db.Pool, Keys: secret.OneKey([]byte("a key"))}.Seal(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if rows > 0 {
				sealed = append(sealed, rows)
			}
		}
		if !slices.Equal(sealed, want) {
			t.Errorf("blocks of %d rows, want %d", sealed, want)
		}
	})
}
