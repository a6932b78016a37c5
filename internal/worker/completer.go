package worker

import (
	"context"
	"log/slog"
	"sync"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/logline"
)

// completer finishes what others have left. It has so many slots, and executes one
// request in each.
type completer struct {
	Config
	free      chan struct{} // a token for each slot that is free
	executing sync.WaitGroup
}

func newCompleter(c Config) *completer {
	m := &completer{Config: c, free: make(chan struct{}, completeAtOnce)}
	m.release(completeAtOnce)
	return m
}

// round takes over what is due or whose process is dead, until all of it is being
// executed. With more of it than there are slots it waits for the next that is free,
// whichever that is: one slow call keeps one slot, and delays no other.
func (c *completer) round(ctx context.Context) (int, error) {
	for {
		slots := c.enter(ctx)
		if slots == 0 {
			return 0, nil // we are stopping
		}
		taken, err := c.Engine.TakeOver(ctx, slots)
		for _, r := range taken {
			c.executing.Go(func() {
				defer c.release(1)
				c.execute(ctx, r)
			})
		}
		c.release(slots - len(taken))
		if err != nil || len(taken) < slots {
			return 0, err // each that was taken leaves its own line
		}
	}
}

// enter waits for a free slot, takes all that are free, and says how many; none
// when ctx has ended.
func (c *completer) enter(ctx context.Context) (slots int) {
	select {
	case <-ctx.Done():
		return 0
	case <-c.free:
	}
	for slots = 1; ; slots++ {
		select {
		case <-c.free:
		default:
			return slots
		}
	}
}

// release makes slots free.
func (c *completer) release(slots int) {
	for range slots {
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
