package verify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/secret"
)

type sealed struct {
	No               int64
	Cluster          int64
	FromXID, ToXID   int64
	Rows             int64
	Previous, Digest []byte
	Format           int16
	SecretVersion    int16
	Detached         int64 // rows that went away with their months
}

const selectBlocks = `
	SELECT no, cluster, from_xid, to_xid, rows, previous, digest, format, secret_version, coalesce(d.detached, 0)
	FROM audit_blocks LEFT JOIN (SELECT block, sum(rows)::bigint AS detached FROM audit_detachments GROUP BY block) AS d
	    ON d.block = no
	ORDER BY no`

const selectSealed = `
	SELECT cluster, xid, id, at, account_id, livemode, request_id, idempotency_key, actor, address, operation,
	       object_id, status, error_code, commitment, answer_digest
	FROM audit_events ORDER BY cluster, xid, id`

// trail is what the audit trail's chain is checked with.
type trail struct {
	keys secret.Keys // of blocks of format 2; none: they cannot be computed again
	head string      // "12:5f…", as printed or logged before; "": not given
}

// The formats of a block.
const (
	unkeyed = 1 // SHA-256, without a key
	keyed   = 2 // HMAC-SHA-256, over the digests of answers, too
)

const chainRuleName = "the audit trail's chain is unbroken"

// chain recomputes the audit trail's chain from its documented format, in code that the
// sealer does not share. A changed, added, removed or moved row shows in its block's
// digest. A block cannot be recomputed without the key; and if a head of the chain is kept
// elsewhere, even the holder of the key cannot replace the blocks before it unnoticed.
func (t trail) chain(ctx context.Context, db reader) (c Check) {
	c = Check{Rule: chainRuleName, Counted: "blocks"}
	rows, err := db.Query(ctx, selectBlocks)
	if err != nil {
		c.Unchecked = err.Error()
		return c
	}
	blocks, err := pgx.CollectRows(rows, pgx.RowToStructByPos[sealed])
	if err != nil {
		c.Unchecked = err.Error()
		return c
	}
	c.Count = int64(len(blocks))
	c.Violations, err = read[Violation](ctx, db, selectUnsealed)
	if err != nil {
		c.Unchecked = err.Error()
		return c
	}
	if t.head != "" && !slices.ContainsFunc(blocks, func(b sealed) bool { return b.head() == t.head }) {
		c.Violations = append(c.Violations,
			Violation{"block " + strings.Split(t.head, ":")[0], "is not the one whose head is " + t.head})
	}
	if len(blocks) == 0 {
		return c // nothing has been sealed yet, and nothing should have been
	}
	c.Head = blocks[len(blocks)-1].head()
	c.links(blocks)
	digests, counts, err := t.digestAll(ctx, db, blocks)
	if err != nil {
		c.Unchecked = err.Error()
		return c
	}
	t.compare(&c, blocks, digests, counts)
	return c
}

// wrong adds what is wrong with a block.
func (c *Check) wrong(no int64, format string, args ...any) {
	c.Violations = append(c.Violations,
		Violation{"block " + strconv.FormatInt(no, 10), fmt.Sprintf(format, args...)})
}

// links checks that each block follows the one before it, and that a newer block is not sealed more weakly. It reads no
// rows of the audit trail.
func (c *Check) links(blocks []sealed) {
	if blocks[len(blocks)-1].Format == unkeyed {
		c.wrong(int64(len(blocks)), "is the last one and has no key, so any program could have computed it")
	}
	previous, end, format := make([]byte, sha256.Size), map[int64]int64{}, int16(unkeyed)
	version := int16(0)
	for i, b := range blocks {
		if b.No != int64(i+1) || b.FromXID != end[b.Cluster] || !bytes.Equal(b.Previous, previous) {
			c.wrong(b.No, "does not follow the block before it")
		}
		if b.Format < format {
			c.wrong(b.No, "has no key, and the block before it has one")
		}
		if b.SecretVersion < version {
			c.wrong(b.No, "was sealed under an older secret than the block before it")
		}
		version = b.SecretVersion
		format, previous, end[b.Cluster] = b.Format, b.Digest, b.ToXID
	}
}

// compare checks that the rows of each block are those that were sealed.
func (t trail) compare(c *Check, blocks []sealed, digests [][]byte, counts []int64) {
	detached := 0
	for i, b := range blocks {
		switch {
		case b.Format != unkeyed && b.Format != keyed:
			c.wrong(b.No, "has format %d, which this program does not know", b.Format)
		case b.Detached > 0 && counts[i]+b.Detached == b.Rows:
			detached++ // provable with the detached month's rows
		case counts[i] != b.Rows:
			c.wrong(b.No, "was sealed over %d rows, there are %d", b.Rows, counts[i])
		case b.Format == keyed && t.keys.None():
			c.Unchecked = "without RATCHET_SECRET the digests of blocks cannot be computed"
		case b.Format == keyed && t.key(b) == nil:
			c.wrong(b.No, "is of version %d of the root secret, which there is not", b.SecretVersion)
		case !bytes.Equal(digests[i], b.Digest):
			c.wrong(b.No, "its rows are not what was sealed, or another key sealed them")
		}
	}
	if detached > 0 {
		c.Counted = fmt.Sprintf("blocks, %d of them over rows in detached months", detached)
	}
}

// The sealer follows the commits in seconds, unless a transaction stays open. A
// tail that stays loose for longer can be cut off, and perhaps was.
const sealedWithin = `interval '10 minutes'`

const selectUnsealed = `
	SELECT 'the trail behind ' || coalesce('block ' || max(head.no), 'its beginning') AS object,
	       count(*) || ' rows are not sealed, the oldest for ' || date_trunc('second', now() - min(at)) AS wrong
	FROM audit_events e LEFT JOIN (SELECT cluster, max(to_xid) AS to_xid, max(no) AS no FROM audit_blocks
	    GROUP BY cluster) AS head ON head.cluster = e.cluster
	WHERE e.xid >= coalesce(head.to_xid, 0)
	GROUP BY e.cluster
	HAVING min(at) < now() - ` + sealedWithin

// digestAll hashes the rows of every block in one pass over the trail.
func (t trail) digestAll(
	ctx context.Context, db reader, blocks []sealed,
) (digests [][]byte, counts []int64, err error) {
	rows, err := db.Query(ctx, selectSealed)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	digests, counts = make([][]byte, len(blocks)), make([]int64, len(blocks))
	order := asRead(blocks)
	at, sum := 0, t.link(blocks[order[0]])
	closeBlock := func() {
		digests[order[at]] = sum.Sum(nil)
		if at++; at < len(order) {
			sum = t.link(blocks[order[at]])
		}
	}
	for rows.Next() {
		cluster, xid, line, answer, err := scanLine(rows)
		if err != nil {
			return nil, nil, err
		}
		for at < len(order) && blocks[order[at]].endsBefore(cluster, xid) {
			closeBlock()
		}
		if at < len(order) && blocks[order[at]].Cluster == cluster { // or it is not sealed yet
			sum.Write(line)
			if blocks[order[at]].Format == keyed {
				sum.Write(blob(nil, answer))
			}
			counts[order[at]]++
		}
	}
	for at < len(order) {
		closeBlock()
	}
	return digests, counts, rows.Err()
}

// asRead are the places of blocks in the order in which the trail is read.
func asRead(blocks []sealed) []int {
	order := make([]int, len(blocks))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(blocks[i].Cluster, blocks[j].Cluster), cmp.Compare(blocks[i].ToXID, blocks[j].ToXID))
	})
	return order
}

func (b sealed) endsBefore(cluster, xid int64) bool {
	return b.Cluster < cluster || b.Cluster == cluster && b.ToXID <= xid
}

// head names the block in public.
func (b sealed) head() string { return fmt.Sprintf("%d:%x", b.No, b.Digest) }

// key is what a block was sealed with, or nil if it is not known.
func (t trail) key(b sealed) []byte {
	key, _ := t.keys.Version(b.SecretVersion) // an error says that it is not known
	return key
}

func (t trail) link(b sealed) hash.Hash {
	sum := sha256.New()
	if b.Format == keyed {
		sum = hmac.New(sha256.New, t.key(b))
	}
	sum.Write(b.Previous)
	return sum
}

// scanLine writes a row in format 1, and returns apart what format 2 adds: each value as its length in eight bytes and
// its own bytes; an absent one as the length of all ones; integers in eight bytes,
// big end first; times as microseconds since 1970.
func scanLine(rows pgx.Rows) (cluster, xid int64, line, answer []byte, err error) {
	var id, account, request, actor, operation string
	var at time.Time
	var livemode bool
	var key, address, object, code *string
	var status int16
	var commitment []byte
	err = rows.Scan(&cluster, &xid, &id, &at, &account, &livemode, &request, &key, &actor, &address, &operation,
		&object, &status, &code, &commitment, &answer)
	if err != nil {
		return 0, 0, nil, nil, err
	}
	line = integer(line, cluster)
	line = integer(line, xid)
	line = text(line, &id)
	line = integer(line, at.UnixMicro())
	line = text(line, &account)
	mode := strconv.FormatBool(livemode)
	for _, value := range []*string{&mode, &request, key, &actor, address, &operation, object} {
		line = text(line, value)
	}
	line = integer(line, int64(status))
	line = text(line, code)
	return cluster, xid, blob(line, commitment), answer, nil
}

func blob(line, value []byte) []byte {
	if value == nil {
		return binary.BigEndian.AppendUint64(line, ^uint64(0))
	}
	return append(binary.BigEndian.AppendUint64(line, uint64(len(value))), value...)
}

func integer(line []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(line, 8), uint64(n))
}

func text(line []byte, value *string) []byte {
	if value == nil {
		return binary.BigEndian.AppendUint64(line, ^uint64(0))
	}
	return append(binary.BigEndian.AppendUint64(line, uint64(len(*value))), *value...)
}
