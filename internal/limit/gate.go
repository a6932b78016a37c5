package limit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// Gate has so many places, and a short queue in front of them. Past capacity,
// what does not fit is turned away at once or after a moment, before any work was
// spent on it: what is let in is finished, however many knock.
type Gate struct {
	places   *semaphore.Weighted // nil: any number
	queue    int64
	patience time.Duration
	full     error

	waiting atomic.Int64
	inside  atomic.Int64
}

// NewGate makes a gate of so many places, where up to queue may wait, none of
// them longer than patience. full is the error of those that get no slot. No
// places at all means any number.
func NewGate(places, queue int, patience time.Duration, full error) *Gate {
	g := &Gate{queue: int64(queue), patience: patience, full: full}
	if places > 0 {
		g.places = semaphore.NewWeighted(int64(places))
	}
	return g
}

// Enter takes a place, now or after a short wait. leave gives it back; only the
// first call does.
func (g *Gate) Enter(ctx context.Context) (leave func(), err error) {
	if g.places == nil {
		return func() {}, nil
	}
	if !g.places.TryAcquire(1) && !g.wait(ctx) {
		return nil, g.full
	}
	g.inside.Add(1)
	return sync.OnceFunc(func() {
		g.inside.Add(-1)
		g.places.Release(1)
	}), nil
}

func (g *Gate) wait(ctx context.Context) bool {
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > g.queue {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, g.patience)
	defer cancel()
	return g.places.Acquire(ctx, 1) == nil
}

// Inside is how many have a place, Waiting how many wait for one.
func (g *Gate) Inside() int  { return int(g.inside.Load()) }
func (g *Gate) Waiting() int { return int(g.waiting.Load()) }
