package worker

import (
	"context"
	"log/slog"
	"sync"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/logline"
)

// completer finishes what others have left. It has so many places, and drives one
// request in each.
type completer struct {
	Config
	free    chan struct{} // a token for each place that is free
	driving sync.WaitGroup
}

func newCompleter(c Config) *completer {
	m := &completer{Config: c, free: make(chan struct{}, completeAtOnce)}
	m.leave(completeAtOnce)
	return m
}

// round takes over what is due or whose driver is dead, until all of it is being
// driven. With more of it than there are places it waits for the next that is free,
// whichever that is: one slow call keeps one place, and delays no other.
func (c *completer) round(ctx context.Context) (int, error) {
	for {
		places := c.enter(ctx)
		if places == 0 {
			return 0, nil // we are stopping
		}
		taken, err := c.Engine.TakeOver(ctx, places)
		for _, r := range taken {
			c.driving.Go(func() {
				defer c.leave(1)
				c.execute(ctx, r)
			})
		}
		c.leave(places - len(taken))
		if err != nil || len(taken) < places {
			return 0, err // each that was taken leaves its own line
		}
	}
}

// enter waits for a free place, takes all that are free, and says how many; none
// when ctx has ended.
func (c *completer) enter(ctx context.Context) (places int) {
	select {
	case <-ctx.Done():
		return 0
	case <-c.free:
	}
	for places = 1; ; places++ {
		select {
		case <-c.free:
		default:
			return places
		}
	}
}

// leave makes places free.
func (c *completer) leave(places int) {
	for range places {
		c.free <- struct{}{}
	}
}

// execute brings what was taken over to an end, even during shutdown.
func (c *completer) execute(ctx context.Context, r *idempotency.Request) {
	line := logline.Begin("took over")
	line.Add(slog.String("request", r.ID), slog.String("flow", r.Flow), slog.String("account", r.AccountID),
		slog.String("key", apierror.Quote(r.Key)),
		slog.String("point", r.Point), slog.Int("epoch", int(r.Epoch)), slog.Int("attempts", int(r.Attempts)))
	err := c.Engine.Resume(logline.With(context.WithoutCancel(ctx), line), r)
	line.Add(slog.String("left", left(err)))
	line.Write(ctx, c.Log, slog.LevelInfo)
}

// left is how a request was left. That it could not be finished yet is no
// failure of the round.
func left(err error) string {
	if err != nil {
		return err.Error()
	}
	return "finished"
}
