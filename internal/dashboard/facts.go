package dashboard

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/daysum"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// proof holds the figures of the front page. All of them are measured: ours in our
// database, the acquirer's in its books.
type proof struct {
	Today      int64      // payments taken since midnight, UTC
	Survived   int64      // requests taken over from a process that did not come back
	Violations *int32     // that a worker's verification found, over recent data or over everything
	Verified   *time.Time // until when the last one looked; nil: there was none

	Charges int64 // times the acquirer held or took money
	Twice   int64 // keys under which it did so more than once
	Doubles int64 // payments that were charged under two keys
	Theirs  bool  // the acquirer was asked and answered
	At      time.Time
	Old     bool // something changed after it was measured: the page asks again soon
}

// selectUncounted is the ID of the first charge of today that the worker has not added to its day yet
// (internal/daysum/daysum.go:Counter). Of each account one ID is read.
const selectUncounted = `
	SELECT coalesce(min(first.id), '~') AS id FROM accounts a
	LEFT JOIN counted k ON k.account_id = a.id
	CROSS JOIN LATERAL (
		SELECT c.id FROM charges c
		WHERE c.account_id = a.id AND c.id >= greatest(@midnight, k.charges_before)
		ORDER BY c.id LIMIT 1) first`

const selectProof = `
	SELECT (SELECT coalesce(sum(approved), 0)::bigint FROM charge_days WHERE day = @today)
	       + (SELECT count(*) FROM charges_to_count w
	              JOIN charge_counts c ON c.account_id = w.account_id AND c.id = w.id
	              WHERE c.day = @today AND c.approved = 1)
	       + (SELECT count(*) FROM accounts a
	              LEFT JOIN counted k ON k.account_id = a.id
	              JOIN charge_counts c ON c.account_id = a.id AND c.id >= @uncounted
	                  AND c.id >= coalesce(k.charges_before, '')
	              WHERE c.day = @today AND c.approved = 1) AS today,
	       (SELECT count(*) FROM takeovers WHERE was = 'running') - (SELECT count(*) FROM fence_refusals) AS survived,
	       (SELECT max(violations) FROM verifications) AS violations,
	       (SELECT max(checked_until) FROM verifications) AS verified`

// The engine makes a second key for a call only after the first is proven unused and
// retired. The acquirer's books show whether it was unused.
const selectRenewed = `
	WITH retired AS (
		SELECT account_id, request_id, phase, array_agg(derived_key) AS keys FROM foreign_calls
		WHERE (account_id, request_id, phase) IN (SELECT account_id, request_id, phase FROM foreign_calls
		    ORDER BY retired_at DESC LIMIT 20)
		GROUP BY account_id, request_id, phase
	)
	SELECT c.account_id, c.request_id, c.phase, c.keys || next.key AS keys
	FROM retired c
	LEFT JOIN runs r ON r.account_id = c.account_id AND r.request_id = c.request_id
	LEFT JOIN answers a ON a.account_id = c.account_id AND a.request_id = c.request_id
	CROSS JOIN LATERAL (SELECT coalesce(r.call_keys[array_position(r.call_phases, c.phase)],
	    a.call_keys[array_position(a.call_phases, c.phase)])) AS next (key)
	WHERE next.key IS NOT NULL`

// facts keeps a proof for a moment: it counts today's payments of all accounts. Within that moment a page can
// show a proof that is older than the change which made the page ask for it. Nothing would make
// it ask again, so the proof says that it is old.
type facts struct {
	pool     *pgxpool.Pool
	acquirer acquirer.Reports
	watch    *watcher
	log      *slog.Logger

	mu   sync.Mutex
	last proof
}

const factsKeep = 2 * time.Second

func newFacts(pool *pgxpool.Pool, reports acquirer.Reports, watch *watcher, log *slog.Logger) *facts {
	return &facts{pool: pool, acquirer: reports, watch: watch, log: log}
}

func (f *facts) get(ctx context.Context) (proof, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.last.At) < factsKeep {
		kept := f.last
		kept.Old = f.watch.changedSince(kept.At)
		return kept, nil
	}
	began := time.Now()
	midnight := time.Now().UTC().Truncate(24 * time.Hour)
	var found proof
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, f.pool, options, func(tx pgx.Tx) (err error) {
		var uncounted string
		if err := tx.QueryRow(ctx, selectUncounted, pgx.QueryExecModeCacheDescribe,
			postgres.Args{"midnight": daysum.ChargeAt(midnight)}).Scan(&uncounted); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, selectProof, pgx.QueryExecModeCacheDescribe,
			postgres.Args{"today": midnight, "uncounted": uncounted})
		found, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByNameLax[proof])
		return err
	})
	if err != nil {
		return proof{}, err
	}
	if f.acquirer != nil {
		f.theirs(ctx, &found)
	}
	found.At = began
	f.last = found
	return found, nil
}

// theirs asks the acquirer. If it does not answer, the page says so instead of showing a
// zero.
func (f *facts) theirs(ctx context.Context, p *proof) {
	summary, err := f.acquirer.Summary(ctx)
	if err != nil {
		f.log.Info("the acquirer's records are unavailable", "error", err)
		return
	}
	p.Charges, p.Twice = summary.Charges, summary.Twice
	rows, _ := f.pool.Query(ctx, selectRenewed, pgx.QueryExecModeCacheDescribe)
	renewed, err := pgx.CollectRows(rows, pgx.RowToStructByName[struct {
		AccountID, RequestID, Phase string
		Keys                        []string
	}])
	if err != nil {
		return
	}
	for _, r := range renewed {
		moved := 0
		for _, key := range r.Keys {
			movements, err := f.acquirer.Statement(ctx, key)
			if err != nil {
				return
			}
			for _, m := range movements {
				if m.Kind == "sale" || m.Kind == "hold" {
					moved++
				}
			}
		}
		if moved > 1 {
			p.Doubles++
		}
	}
	p.Theirs = true
}
