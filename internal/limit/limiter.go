package limit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// Limiter admits a number of requests at the same time, one per slot, with a short queue
// in front of them. It rejects the rest immediately or after a short wait, before the
// process spends any work on them. So every admitted request finishes, even under overload.
type Limiter struct {
	slots   *semaphore.Weighted // nil: any number
	queue   int64
	timeout time.Duration
	full    error

	waiting atomic.Int64
	inside  atomic.Int64
}

// NewLimiter returns a limiter with this many slots; 0 means no limit. Up to queue
// requests wait for a slot, each for at most timeout. A request that gets no slot gets
// the error full.
func NewLimiter(slots, queue int, timeout time.Duration, full error) *Limiter {
	l := &Limiter{queue: int64(queue), timeout: timeout, full: full}
	if slots > 0 {
		l.slots = semaphore.NewWeighted(int64(slots))
	}
	return l
}

// Enter takes a slot, now or after a short wait. release returns it; later calls of
// release do nothing.
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
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	return l.slots.Acquire(ctx, 1) == nil
}

// Inside returns how many requests have a slot.
func (l *Limiter) Inside() int { return int(l.inside.Load()) }

// Waiting returns how many requests wait for a slot.
func (l *Limiter) Waiting() int { return int(l.waiting.Load()) }
