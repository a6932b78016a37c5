package limit

import (
	"context"
	"sync/atomic"
	"time"
)

// Brake delays rejections. A client that repeats a rejected request at once would
// otherwise keep the process busy with rejecting it, at the expense of other clients.
type Brake struct {
	delay   time.Duration
	atMost  int64
	waiting atomic.Int64
}

// NewBrake delays each rejection by this long, but only so many at a time: the others
// are not delayed, so waiting clients cannot use up memory.
func NewBrake(delay time.Duration, atMost int) *Brake {
	return &Brake{delay: delay, atMost: int64(atMost)}
}

// Wait returns when a rejection may be sent, or when ctx ends.
func (b *Brake) Wait(ctx context.Context) {
	defer b.waiting.Add(-1)
	if b.waiting.Add(1) > b.atMost || b.delay == 0 {
		return
	}
	timer := time.NewTimer(b.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
