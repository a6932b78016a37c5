package apikey

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// recordEvery is how often uses are written down.
const recordEvery = time.Minute

// use notes that a key opened something. The caller has the lock.
func (r *Cache) use(h *Credential, now time.Time) {
	if h.usable(now) == nil {
		r.used[h.KeyID] = now
	}
}

// Record stores which keys were used, about once a minute until ctx ends,
// and then once more. A process that is killed loses its last minute: a request
// must not wait for a disk only to say that it was there.
func (r *Cache) Record(ctx context.Context) {
	tick := time.NewTicker(recordEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = r.record(last)
			return
		case <-tick.C:
			_ = r.record(ctx) // what failed is forgotten: the next use is as good
		}
	}
}

// Another process may be writing about the same key: what it writes will do.
const recordUses = `
	UPDATE api_keys SET last_used_at = greatest(api_keys.last_used_at, clock_timestamp() - used.ago)
	FROM unnest(@ids::text[], @ago::interval[]) AS used (id, ago)
	WHERE api_keys.id = used.id
	  AND api_keys.id IN (SELECT id FROM api_keys WHERE id = ANY(@ids) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)`

func (r *Cache) record(ctx context.Context) error {
	r.mu.Lock()
	used := r.used
	r.used = map[string]time.Time{}
	r.mu.Unlock()
	if len(used) == 0 {
		return nil
	}
	var ids []string
	var ago []time.Duration
	for id, at := range used {
		ids, ago = append(ids, id), append(ago, time.Since(at))
	}
	err := pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL synchronous_commit = off`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, recordUses, postgres.Args{"ids": ids, "ago": ago})
		return err
	})
	if err != nil {
		return fmt.Errorf("record uses of API keys: %w", err)
	}
	return nil
}
