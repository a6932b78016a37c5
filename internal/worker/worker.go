// Package worker runs background jobs: it finishes requests whose process
// crashed, delivers webhooks, applies messages and books settled movements that came
// too early, moves payouts along, expires checkout sessions, archives old answers,
// seals the audit trail, prepares next month's partitions, detaches months past their
// retention, removes sessions of people that ended, and verifies the books. Every part
// is safe to run in any number of processes at once.
package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/daysum"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/inbox"
	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/logline"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/payout"
	"github.com/ratchet-pay/ratchet/internal/people"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/retention"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/session"
	"github.com/ratchet-pay/ratchet/internal/telemetry"
	"github.com/ratchet-pay/ratchet/internal/textindex"
	"github.com/ratchet-pay/ratchet/internal/webhook"
)

// Config is what a worker needs.
type Config struct {
	Pool      *pgxpool.Pool
	Engine    *phase.Engine
	Acquirer  acquirer.Reports
	Inbox     *inbox.Inbox
	Owner     string // this process's liveness id
	Telemetry *telemetry.Telemetry
	Log       *slog.Logger

	Webhooks    webhook.Config
	WebhookKeys secret.Keys // what endpoints' signing secrets are derived from
	AuditKeys   secret.Keys // of the audit trail's chain

	Keep retention.Months

	Verify Verify // nil: this worker does not verify
}

const (
	// completeEvery is how often unfinished work is looked for. With the second
	// after which a dead process is noticed, a crash is repaired in under two.
	completeEvery = 250 * time.Millisecond
	// completeAtOnce bounds how many requests a worker executes at a time.
	completeAtOnce = 32
	receiveEvery   = 250 * time.Millisecond
	waitingEvery   = time.Second
	// showEvery is how long after a batch the events of its charges are emitted, at most.
	showEvery           = 500 * time.Millisecond
	authorizationsEvery = 2 * time.Second
	reapEvery           = time.Minute
	reapAtOnce          = 500
	sealEvery           = 2 * time.Second
	payoutsEvery        = time.Second
	// dailyEvery is how long after midnight a day's payouts are made, at most.
	dailyEvery     = 5 * time.Second
	clocksEvery    = time.Second
	reportEvery    = 2 * time.Second
	reconcileEvery = time.Hour
	// closeEvery bounds how many postings a balance adds up one by one.
	closeEvery = 30 * time.Second
	// countDaysEvery bounds how much a chart adds up row by row, beside the last hour.
	countDaysEvery = 5 * time.Minute
	// indexEvery bounds how much a search reads row by row, beside the last two minutes.
	indexEvery   = 15 * time.Second
	expireEvery  = 5 * time.Second
	expireAtOnce = 100
	upkeepEvery  = time.Hour
	monthsAhead  = 3
	// countEvery is how old the numbers about what is unfinished or waits are at most:
	// about as often as they are read.
	countEvery = 15 * time.Second
)

// round is one turn of a part. It says how many things it did.
type round func(context.Context) (done int, err error)

// Run works until ctx ends and what was begun is finished or suspended.
func Run(ctx context.Context, c Config) error {
	gauges, completer, deliverer := newGauges(c.Telemetry), newCompleter(c), c.deliverer()
	stopRiver, err := c.startRiver(ctx, deliverer)
	if err != nil {
		return err
	}
	var notifier payout.BalanceNotifier
	var parts sync.WaitGroup
	// At once, and not when the slowest part has ended: jobs are left for other workers.
	parts.Go(func() { <-ctx.Done(); stopRiver() })
	every := func(name string, pause time.Duration, do round) {
		parts.Go(func() { c.repeat(ctx, name, pause, do) })
	}
	every("complete", completeEvery, completer.round)
	every("apply waiting messages", receiveEvery, c.Inbox.ApplyDue)
	every("book waiting movements", waitingEvery, c.job(payout.BookWaiting))
	every("show settled charges", showEvery, c.job(payout.ShowPaid))
	every("void expired authorizations", authorizationsEvery, func(ctx context.Context) (int, error) {
		return payment.ExpireAuthorizations(ctx, c.Engine)
	})
	every("reap", reapEvery, c.reap)
	every("seal", sealEvery, audit.Sealer{Pool: c.Pool, Keys: c.AuditKeys, Log: c.Log}.Seal)
	every("sweep webhooks", sweepEvery, func(ctx context.Context) (int, error) { return 0, deliverer.Sweep(ctx) })
	every("expire checkout sessions", expireEvery, func(ctx context.Context) (int, error) {
		return session.ExpireDueSessions(ctx, c.Engine, expireAtOnce)
	})
	every("keep months", upkeepEvery, c.keepMonths)
	every("remove ended sessions", upkeepEvery, func(ctx context.Context) (int, error) {
		return people.RemoveEnded(ctx, c.Pool)
	})
	every("count unfinished requests", countEvery, c.count(gauges.countUnfinished))
	every("count waiting work", countEvery, c.count(gauges.countQueues))
	every("count differences", countEvery, c.count(gauges.countDifferences))
	every("move payouts", payoutsEvery, c.job(payout.MovePayouts))
	every("make automatic payouts", dailyEvery, c.job(payout.MakeAutomaticPayouts))
	every("set test clocks ready", clocksEvery, c.job(customer.ReadyTestClocks))
	every("announce available balances", reportEvery, c.job(notifier.Run))
	every("close periods of books", closeEvery, ledger.NewCloser(c.Pool).Close)
	every("count days", countDaysEvery, daysum.NewCounter(c.Pool).Count)
	every("index texts", indexEvery, textindex.New(c.Pool).Index)
	every("reconcile", reconcileEvery, c.reconcile)
	if c.Verify != nil {
		parts.Go(func() { c.verify(ctx) })
	}
	parts.Wait()
	completer.executing.Wait()
	return nil
}

// job is a round that works through what is due in the database.
func (c Config) job(do func(context.Context, *phase.Engine, *pgxpool.Pool) (int, error)) round {
	return func(ctx context.Context) (int, error) { return do(ctx, c.Engine, c.Pool) }
}

// count is a round that changes nothing: it updates gauges.
func (c Config) count(measure func(context.Context, *pgxpool.Pool) error) round {
	return func(ctx context.Context) (int, error) { return 0, measure(ctx, c.Pool) }
}

// repeat does a thing now and then. A failure is logged and the thing is done
// again next time: all of it is found again in the database. A round in which
// there was nothing to do leaves no line.
func (c Config) repeat(ctx context.Context, part string, pause time.Duration, do round) {
	for {
		line := logline.Begin("round")
		done, err := do(logline.With(ctx, line))
		if ctx.Err() == nil || done > 0 {
			c.Telemetry.Round(part, line.Since(), err)
			c.log(ctx, line, part, done, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (c Config) log(ctx context.Context, line *logline.Line, part string, done int, err error) {
	line.Add(slog.String("part", part), slog.Int("done", done))
	line.Fail(err)
	switch {
	case err != nil:
		line.Write(ctx, c.Log, slog.LevelError)
	case done > 0:
		line.Write(ctx, c.Log, slog.LevelInfo)
	}
}

func (c Config) reap(ctx context.Context) (all int, err error) {
	for ctx.Err() == nil {
		n, err := idempotency.Reap(ctx, c.Pool, reapAtOnce)
		all += n
		if err != nil || n < reapAtOnce {
			return all, err
		}
	}
	return all, nil
}

// reconcile compares yesterday's settlement file with the books. What differs is
// in a table for a person to look at; here it is only said.
func (c Config) reconcile(ctx context.Context) (int, error) {
	found, err := payout.ReconcileYesterday(ctx, c.Pool, c.Acquirer)
	for _, d := range found {
		c.Log.Error("the acquirer's settlement file differs from the books", "reference", d.Reference, "account",
			d.AccountID, "wrong", d.Wrong)
	}
	return len(found), err
}

// keepMonths prepares partitions and then detaches old ones. At the same time, each would wait for the other's locks.
func (c Config) keepMonths(ctx context.Context) (detached int, err error) {
	prepared := errors.Join(audit.PreparePartitions(ctx, c.Pool, monthsAhead),
		retention.Prepare(ctx, c.Pool, monthsAhead))
	detached, err = c.Keep.Detach(ctx, c.Pool)
	return detached, errors.Join(prepared, err)
}
