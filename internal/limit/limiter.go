package limit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// Limiter has so many slots, and a short queue in front of them. Past capacity,
// what does not fit is turned away at once or after a moment, before any work was
// spent on it: what is let in is finished, however many knock.
type Limiter struct {
	slots   *semaphore.Weighted // nil: any number
	queue    int64
	patience time.Duration
	full     error

	waiting atomic.Int64
	inside  atomic.Int64
}

// NewLimiter makes a limiter of so many slots, where up to queue may wait, none of
// them longer than patience. full is the error of those that get no slot. No
// slots at all means any number.
func NewLimiter(slots, queue int, patience time.Duration, full error) *Limiter {
	l := &Limiter{queue: int64(queue), patience: patience, full: full}
	if slots > 0 {
		l.slots = semaphore.NewWeighted(int64(slots))
	}
	return l
}

// Enter takes a slot, now or after a short wait. release gives it back; only the
// first call does.
func (l *Limiter) Enter(ctx context.Context) (release func(), err error) {
	if l.slots == nil {
		return func() {}, nil
	}
	if !l.slots.TryAcquire(1) && !l.wait(ctx) {
		return nil, l.full
	}
	l.inside.Add(1)
	return sync.OnceFunc(func() {
		l.inside.Add(-1)
		l.slots.Release(1)
	}), nil
}

func (l *Limiter) wait(ctx context.Context) bool {
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > l.queue {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	return l.slots.Acquire(ctx, 1) == nil
}

// Inside is how many have a slot, Waiting how many wait for one.
func (l *Limiter) Inside() int  { return int(l.inside.Load()) }
func (l *Limiter) Waiting() int { return int(l.waiting.Load()) }
