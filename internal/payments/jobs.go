package payments

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/logline"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// What falls due with time is done by requests like any other, which a job makes
// on behalf of the merchant, under a key that names the thing and not the
// attempt: "arrival of po_…". So any number of workers may find the same thing at
// once, and die over it, and it is done once: the key's row says so.

// workerActor is who the audit trail names for what no client asked for.
const workerActor = "worker"

// task is a request that a job makes.
type task struct {
	AccountID string
	Livemode  bool
	apirequest.Merchant
}

const merchantColumns = `a.country, a.default_currency, a.statement_descriptor, a.payout_delay_days, a.api_version AS default_version`

// ask makes the request. That somebody else is at it, or has done it, is no error.
func ask[P, S any](ctx context.Context, e *phase.Engine, flow *phase.Flow[P, S], t task, key string, in P) error {
	name := sha256.Sum256([]byte(key)) // what is asked for is all in the key
	err := serveJob(ctx, e, flow, phase.Request{
		Caller: phase.Caller{
			AccountID: t.AccountID, Livemode: t.Livemode, RequestID: id.New("req", time.Now()), Key: key,
			Caller: apirequest.Context{APIVersion: t.DefaultVersion.OrCurrent(), Merchant: t.Merchant}.By(workerActor, ""),
		},
		Method: "JOB", Path: flow.Name(), Fingerprint: name[:],
	}, in)
	if err != nil && !someoneElseIsAtIt(err) {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// serveJob makes a request that no client asked for. It leaves a line in the log
// like a client's, unless there was nothing to do.
func serveJob[P, S any](ctx context.Context, e *phase.Engine, flow *phase.Flow[P, S], c phase.Request, in P) error {
	line := logline.Begin("job")
	line.Add(slog.String("flow", flow.Name()), slog.String("account", c.AccountID), slog.String("request", c.RequestID))
	if c.Key != "" {
		line.Add(slog.String("key", c.Key))
	}
	answer, err := flow.Serve(logline.With(ctx, line), e, c, in)
	var refusal *apierror.Error
	switch {
	case err == nil && !answer.Replayed:
		line.Add(slog.Int("status", answer.Status))
		line.Write(ctx, e.Log(), slog.LevelInfo)
	case err != nil && !errors.As(err, &refusal):
		line.Fail(err)
		line.Write(ctx, e.Log(), slog.LevelError)
	}
	return err
}

// someoneElseIsAtIt recognizes a key or a row that is in somebody else's hands.
func someoneElseIsAtIt(err error) bool {
	var refusal *apierror.Error
	return errors.As(err, &refusal) && (refusal.Status == http.StatusConflict || refusal.Status == http.StatusTooManyRequests)
}

// atOnce bounds how much of a kind one round does; the next round does more.
const atOnce = 100

// withClocks is how a statement begins that looks at everything that may be due:
// clocks is account_ahead for all accounts at once. Asked for every row, the function would
// cost more than all else, and one account's clock would make the job that everybody
// shares run into the time-out of a statement. Live mode has no clock.
const withClocks = `clocks AS MATERIALIZED (SELECT account_id, max(frozen_time - started_at) AS ahead FROM test_clocks GROUP BY account_id)`

const payoutsDue = `WITH ` + withClocks + `
	SELECT p.account_id, p.livemode, ` + merchantColumns + `, coalesce(k.ahead, interval '0') AS ahead, p.id, p.status
	FROM payouts p
	JOIN accounts a ON a.id = p.account_id
	LEFT JOIN clocks k ON k.account_id = p.account_id AND NOT p.livemode
	WHERE p.busy_with IS NULL AND p.status IN ('pending', 'in_transit')
	  AND CASE p.status WHEN 'pending' THEN p.departs_at ELSE p.arrives_at END <= clock_timestamp() + coalesce(k.ahead, interval '0')
	LIMIT @limit`

// MovePayouts takes every payout whose time has come a step on: into transit, or
// to its arrival. Like all jobs it says how many things were due.
func MovePayouts(ctx context.Context, e *phase.Engine, db *pgxpool.Pool) (done int, err error) {
	type due struct {
		task
		ID, Status string
	}
	found, err := jobs[due](ctx, db, payoutsDue)
	if err != nil {
		return 0, err
	}
	return each(ctx, found, func(p due) error {
		if p.Status == payoutPending {
			return ask(ctx, e, DepartPayout, p.task, "departure of "+p.ID, payoutID{p.ID})
		}
		return ask(ctx, e, ArrivePayout, p.task, "arrival of "+p.ID, payoutID{p.ID})
	})
}

// The sum over a book comes last: it is the only part that costs anything, and once
// the day's payout is made it is not asked for again. Without MATERIALIZED it comes
// first, for every book: a condition on one table alone is looked at before any join.
const dailyPayoutsDue = `
	WITH unpaid AS MATERIALIZED (
		SELECT b.id AS book, b.account_id, b.livemode, ` + merchantColumns + `, t.ahead, b.currency, t.day
		FROM accounts a
		JOIN ledger_books b ON b.account_id = a.id
		CROSS JOIN LATERAL (
			SELECT x.ahead, ((clock_timestamp() + x.ahead) AT TIME ZONE 'UTC')::date AS day
			FROM (SELECT account_ahead(b.account_id, b.livemode) AS ahead) x) t
		WHERE a.payout_schedule = 'daily'
		  AND NOT EXISTS (SELECT FROM payouts p WHERE p.account_id = b.account_id AND p.livemode = b.livemode AND p.currency = b.currency AND p.automatic_on = t.day)
	)
	SELECT account_id, livemode, country, default_currency, statement_descriptor, payout_delay_days, default_version, ahead, currency, day
	FROM unpaid
	WHERE ledger_available(book) > 0
	LIMIT @limit`

// MakeDailyPayouts pays out all that is available, once a day, to the merchants
// who have asked for that. The day is part of the key, and of a unique constraint.
func MakeDailyPayouts(ctx context.Context, e *phase.Engine, db *pgxpool.Pool) (done int, err error) {
	type due struct {
		task
		Currency string
		Day      time.Time
	}
	found, err := jobs[due](ctx, db, dailyPayoutsDue)
	if err != nil {
		return 0, err
	}
	return each(ctx, found, func(d due) error {
		key := fmt.Sprintf("payout of %s on %s", d.Currency, d.Day.Format(time.DateOnly))
		return ask(ctx, e, PayOutDaily, d.task, key, dailyPayout{d.Currency, d.Day})
	})
}

// A clock is ready when every process knows of its new time (they remember for
// two seconds who a key belongs to) and nothing that has become due is undone.
const clocksToSetReady = `WITH ` + withClocks + `
	SELECT c.account_id, c.livemode, ` + merchantColumns + `, k.ahead, c.id, c.advanced_at
	FROM test_clocks c
	JOIN clocks k ON k.account_id = c.account_id
	JOIN accounts a ON a.id = c.account_id
	WHERE c.status = 'advancing' AND c.advanced_at < clock_timestamp() - interval '3 seconds'
	  AND NOT EXISTS (SELECT FROM payouts p WHERE p.account_id = c.account_id AND p.livemode = c.livemode AND p.status IN ('pending', 'in_transit')
	        AND CASE p.status WHEN 'pending' THEN p.departs_at ELSE p.arrives_at END <= clock_timestamp() + k.ahead)
	  AND NOT EXISTS (SELECT FROM charges h WHERE h.account_id = c.account_id AND h.livemode = c.livemode AND NOT h.captured AND h.amount_refunded = 0
	        AND h.capture_before <= clock_timestamp() + k.ahead
	        AND NOT EXISTS (SELECT FROM refunds r WHERE r.account_id = h.account_id AND r.charge_id = h.id))
	  AND money_to_tell_of(c.account_id, c.livemode) IS NULL
	LIMIT @limit`

// ReadyTestClocks ends the advance of test clocks.
func ReadyTestClocks(ctx context.Context, e *phase.Engine, db *pgxpool.Pool) (done int, err error) {
	type due struct {
		task
		ID         string
		AdvancedAt time.Time
	}
	found, err := jobs[due](ctx, db, clocksToSetReady)
	if err != nil {
		return 0, err
	}
	return each(ctx, found, func(c due) error {
		key := fmt.Sprintf("%s is ready after %d", c.ID, c.AdvancedAt.UnixMicro())
		return ask(ctx, e, SetTestClockReady, c.task, key, clockID{c.ID})
	})
}

// each does one thing after the other, and says how many it has begun. One that
// fails does not keep the others. When ctx ends, the one under way is finished, and
// the rest is left for whoever looks next: all of it is found again.
func each[T any](ctx context.Context, found []T, do func(T) error) (done int, err error) {
	for done, one := range found {
		if ctx.Err() != nil {
			return done, err
		}
		err = errors.Join(err, do(one))
	}
	return len(found), err
}

func jobs[T any](ctx context.Context, db *pgxpool.Pool, sql string) ([]T, error) {
	rows, err := db.Query(ctx, sql, pgx.StrictNamedArgs{"limit": atOnce})
	if err != nil {
		return nil, fmt.Errorf("look for what is due: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		return nil, fmt.Errorf("look for what is due: %w", err)
	}
	return found, nil
}

// bePatient lets a statement that may have much to read come to its end.
const bePatient = `SET LOCAL statement_timeout = '60s'`

func patiently[T any](ctx context.Context, db *pgxpool.Pool, sql string, args pgx.StrictNamedArgs) (found []T, err error) {
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, bePatient); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sql, args)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, pgx.RowToStructByName[T])
		return err
	})
	return found, err
}
