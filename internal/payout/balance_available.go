package payout

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/balance"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

const balanceNotified = "balance_notified"

// BalanceNotification is what the worker's request answers; no address of the API shows it.
type BalanceNotification struct {
	Account string `json:"account"`
	Object  string `json:"object"`
}

// NotifyBalance notifies a merchant that money has become available. Nothing
// moves: a charge's money becomes available by time alone.
var NotifyBalance = phase.Define("balance.notify", 1,
	phase.Atomic(balanceNotified, notifyBalance),
)

func notifyBalance(ctx context.Context, tx *phase.Tx, _ struct{}, _ *struct{}) (phase.Outcome, error) {
	retrieved, err := balance.RetrieveBalance(ctx, tx, resource.PrincipalOf(tx.Caller),
		balance.RetrieveBalanceParams{})
	if err != nil {
		return phase.Outcome{}, err
	}
	event.Emit(tx, "balance.available", tx.AccountID, retrieved, nil)
	return phase.OK(tx.AccountID, BalanceNotification{tx.AccountID, "balance"}), nil
}

// due is every account of which a book's latest available charge became available
// within the window: one step into an index for each book. Where a clock is being
// moved, anything may have. Only for these the function is called, which
// costs a hundred times as much. The key names the moment up to which money has become
// available: the first worker to find it emits the event, and once it has been used there is nothing
// to emit.
const selectNotifiable = `WITH ` + resource.WithClocks + `, t AS MATERIALIZED (
		SELECT clock_timestamp() AS now
	), due AS MATERIALIZED (
		SELECT DISTINCT b.account_id, b.livemode, coalesce(k.ahead, interval '0') AS ahead
		FROM t CROSS JOIN ledger_books b
		LEFT JOIN clocks k ON k.account_id = b.account_id AND NOT b.livemode
		CROSS JOIN LATERAL (SELECT max(p.available_on) AS at FROM ledger_postings p
		                    WHERE p.book_id = b.id AND p.kind = 'charge'
		                      AND p.available_on <= t.now + coalesce(k.ahead, interval '0')) latest
		WHERE latest.at > t.now + coalesce(k.ahead, interval '0') - @window::interval
		   OR NOT b.livemode AND b.account_id IN (SELECT account_id FROM test_clocks WHERE status = 'advancing')
	)
	SELECT due.account_id, due.livemode, ` + resource.MerchantColumns + `, due.ahead, m.key
	FROM due
	JOIN accounts a ON a.id = due.account_id
	CROSS JOIN LATERAL (SELECT balance_available_key(due.account_id, due.livemode) AS key) m
	WHERE m.key IS NOT NULL
	LIMIT @limit`

// BalanceNotifier notifies every merchant whose money has become available since they were notified
// last. It remembers until when it has looked. Forgetting that costs a look at
// everything, and notifies no merchant twice.
type BalanceNotifier struct{ looked, lookedAtAll time.Time }

const (
	// lateCommit is how long after its time a charge may appear whose money is available at once.
	lateCommit = time.Minute
	// lookAtAllEvery finds what came by another way, such as a charge that was finished
	// by the time that a test clock showed before it was moved.
	lookAtAllEvery = time.Hour
)

// Run emits balance.available for each account whose money has become available since the last call, and returns how
// many events it emitted. After a crash, the next call emits what is missing: each event has a key.
func (n *BalanceNotifier) Run(ctx context.Context, e *phase.Engine, db *pgxpool.Pool) (done int, err error) {
	began := time.Now()
	all := began.Sub(n.lookedAtAll) > lookAtAllEvery
	if all {
		n.looked = time.Time{}
	}
	found, err := resource.QueryWithTimeout[notifiable](ctx, db, selectNotifiable,
		pgx.StrictNamedArgs{"window": began.Sub(n.looked), "limit": resource.BatchSize})
	if err != nil {
		return 0, fmt.Errorf("look for money that has become available: %w", err)
	}
	done, err = resource.ForEach(ctx, found, func(d notifiable) error {
		return resource.RunJob(ctx, e, NotifyBalance, d.Task, d.Key, struct{}{})
	})
	if err != nil || done == resource.BatchSize {
		return done, err // the next look begins where this one did
	}
	n.looked = began.Add(-lateCommit)
	if all {
		n.lookedAtAll = began
	}
	return done, nil
}

// notifiable is an account of which a balance has become available.
type notifiable struct {
	resource.Task
	Key string
}
