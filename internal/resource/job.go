package resource

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
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/logline"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// What falls due with time is done by requests like any other, which a job makes
// on behalf of the merchant, under a key that names the thing and not the
// attempt: "job:arrival of po_…". So any number of workers may find the same thing at
// once, and die over it, and it is done once: the key's row says so.

// Task is a request that a job makes.
type Task struct {
	AccountID string
	Livemode  bool
	apirequest.Merchant
}

// MerchantColumns select an apirequest.Merchant from the table accounts under the name a.
const MerchantColumns = `a.country, a.default_currency, a.statement_descriptor, a.payout_delay_days,
	a.api_version AS default_version`

// caller is the worker, on behalf of the task's account.
func (t Task) caller() idempotency.Caller {
	as := apirequest.Context{APIVersion: t.DefaultVersion.OrCurrent(), Merchant: t.Merchant}
	return as.By(apirequest.ActorWorker, "")
}

// RunJob makes the request, under key with a prefix that clients cannot use. It is not an error if another worker is
// making it or has made it.
func RunJob[P, S any](ctx context.Context, e *phase.Engine, flow *phase.Flow[P, S], t Task, key string, in P) error {
	key = apirequest.JobKeys + key
	name := sha256.Sum256([]byte(key)) // what is asked for is all in the key
	err := ServeJob(ctx, e, flow, phase.Request{
		Caller: phase.Caller{
			AccountID: t.AccountID, Livemode: t.Livemode, RequestID: id.New("req", time.Now()), Key: key,
			Caller: t.caller(),
		},
		Method: "JOB", Path: flow.Name(), Fingerprint: name[:],
	}, in)
	if err != nil && !someoneElseIsAtIt(err) {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// ServeJob makes a request that no client asked for. It leaves a line in the log
// like a client's, unless there was nothing to do.
func ServeJob[P, S any](ctx context.Context, e *phase.Engine, flow *phase.Flow[P, S], c phase.Request, in P) error {
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

// someoneElseIsAtIt recognizes a key or a row that another worker holds.
func someoneElseIsAtIt(err error) bool {
	var refusal *apierror.Error
	return errors.As(err, &refusal) &&
		(refusal.Status == http.StatusConflict || refusal.Status == http.StatusTooManyRequests)
}

// BatchSize bounds how much of a kind one round does; the next round does more.
const BatchSize = 100

// WithClocks is how a statement begins that looks at everything that may be due:
// clocks is account_ahead for all accounts at once. Asked for every row, the function would
// cost more than all else, and one account's clock would make the job that all accounts
// share exceed the statement timeout. Live mode has no clock.
const WithClocks = `clocks AS MATERIALIZED (SELECT account_id, max(frozen_time - started_at) AS ahead FROM test_clocks
	GROUP BY account_id)`

// ForEach does one thing after the other, and says how many it has begun. One that
// fails does not keep the others. When ctx ends, the one under way is finished, and
// the rest is left for the next round, which finds all of it again.
func ForEach[T any](ctx context.Context, found []T, do func(T) error) (done int, err error) {
	for done, one := range found {
		if ctx.Err() != nil {
			return done, err
		}
		err = errors.Join(err, do(one))
	}
	return len(found), err
}

// QueryDue reads what a job has to do now, at most BatchSize rows of it: what is left over waits for the next round.
func QueryDue[T any](ctx context.Context, db *pgxpool.Pool, sql string) ([]T, error) {
	rows, err := db.Query(ctx, sql, pgx.StrictNamedArgs{"limit": BatchSize})
	if err != nil {
		return nil, fmt.Errorf("find due work: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		return nil, fmt.Errorf("find due work: %w", err)
	}
	return found, nil
}

// raiseTimeout lets a statement that may have much to read come to its end.
const raiseTimeout = `SET LOCAL statement_timeout = '60s'`

// QueryWithTimeout reads with a minute's time, in a transaction that ends before it returns.
func QueryWithTimeout[T any](
	ctx context.Context, db *pgxpool.Pool, sql string, args pgx.StrictNamedArgs,
) (found []T, err error) {
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, raiseTimeout); err != nil {
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
