package worker

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/ratchet-pay/ratchet/internal/endpoint"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/webhook"
)

const (
	// pollEvery is how soon a worker finds a new job. It polls rather than listens:
	// a NOTIFY in the money transaction would make all commits of the database take turns.
	pollEvery = 200 * time.Millisecond
	// atOnce bounds the endpoints that one worker is at. Each waits for a network,
	// not for a processor, and holds a connection only to claim and to record.
	atOnce = 256
	// sweepEvery is how soon the delivery of a dead worker, or without a job, is found.
	sweepEvery = time.Second
	// jobsKept is how long River shows jobs that are done. What became of a
	// delivery is in its own rows.
	jobsKept = time.Hour
	// stopWithin is longer than an endpoint may take to answer.
	stopWithin = 15 * time.Second
)

func (c Config) deliverer() *webhook.Deliverer {
	return webhook.NewDeliverer(webhook.Parts{Pool: c.Pool, Config: c.Webhooks, Keys: c.WebhookKeys, Owner: c.Owner,
		Render: event.RenderEvent, Disabled: endpoint.EndpointDisabled, Observe: c.delivered, Log: c.Log})
}

// delivered counts an attempt by what became of it.
func (c Config) delivered(r webhook.Result) {
	outcome := "refused"
	switch {
	case r.OK():
		outcome = "acknowledged"
	case r.Status == 0:
		outcome = "no_answer"
	}
	c.Telemetry.Delivery(outcome, r.Duration)
}

// waker does the jobs that say that there is something to deliver.
type waker struct {
	river.WorkerDefaults[webhook.Wake]
	deliverer *webhook.Deliverer
	running   context.Context // ends when the worker stops; a job's own context does not
}

// Timeout leaves the bounds to those of each delivery.
func (waker) Timeout(*river.Job[webhook.Wake]) time.Duration { return -1 }

// Work delivers what is due. With more of it than is fair to the others, it goes
// to the end of the queue.
func (w *waker) Work(ctx context.Context, job *river.Job[webhook.Wake]) error {
	more, err := w.deliverer.Deliver(w.running, job.Args.EndpointKey)
	if err != nil || !more {
		return err
	}
	_, err = river.ClientFromContext[pgx.Tx](ctx).Insert(ctx, job.Args, nil)
	return err
}

// startRiver starts what runs jobs. stop waits for those that are under way.
func (c Config) startRiver(ctx context.Context, d *webhook.Deliverer) (stop func(), err error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, &waker{deliverer: d, running: ctx})
	client, err := river.NewClient(riverpgxv5.New(c.Pool), &river.Config{
		ID:                          c.Owner,
		Schema:                      postgres.RiverSchema,
		Workers:                     workers,
		Logger:                      quietly(c.Log),
		Queues:                      map[string]river.QueueConfig{webhook.Queue: {MaxWorkers: atOnce}},
		PollOnly:                    true,
		FetchPollInterval:           pollEvery,
		JobTimeout:                  -1,
		CompletedJobRetentionPeriod: jobsKept,
		CancelledJobRetentionPeriod: jobsKept,
		DiscardedJobRetentionPeriod: jobsKept,
		ReindexerSchedule:           river.NeverSchedule(), // the worker's role does not own the indexes
	})
	if err != nil {
		return nil, fmt.Errorf("create River's client: %w", err)
	}
	// It must outlive ctx by the time the jobs under way need.
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, fmt.Errorf("start River: %w", err)
	}
	return func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		if err := client.Stop(within); err != nil {
			c.Log.Error("River did not stop in time", "error", err)
		}
	}, nil
}

// quietly keeps River's own remarks out of the log, but for what went wrong.
func quietly(log *slog.Logger) *slog.Logger { return slog.New(warnings{log.Handler()}) }

type warnings struct{ slog.Handler }

// Enabled drops messages below a warning.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}
func (w warnings) WithAttrs(a []slog.Attr) slog.Handler { return warnings{w.Handler.WithAttrs(a)} }
func (w warnings) WithGroup(name string) slog.Handler   { return warnings{w.Handler.WithGroup(name)} }
