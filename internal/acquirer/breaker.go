package acquirer

import (
	"sync"
	"time"
)

// breaker stops us from asking an acquirer that does not answer.
//
//	closed ──limit failures in a row──▶ open ──pause──▶ half-open
//	  ▲                                  ▲                  │
//	  └──────────── the probe is answered / is not ─────────┘
//
// While it is open a caller learns in microseconds, rather than after a
// time-out, that nothing was sent.
type breaker struct {
	limit int
	pause time.Duration

	mu        sync.Mutex
	failures  int       // in a row
	openUntil time.Time // zero while closed
}

// allow says whether a call may be made now. Once the pause is over it lets one
// caller through as the probe and holds the others back for another pause.
func (b *breaker) allow(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.openUntil.IsZero() {
		return true
	}
	if now.Before(b.openUntil) {
		return false
	}
	b.openUntil = now.Add(b.pause)
	return true
}

// answered closes the breaker: the acquirer is there.
func (b *breaker) answered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures = 0
	b.openUntil = time.Time{}
}

// failed counts a call without an answer.
func (b *breaker) failed(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	if b.limit > 0 && b.failures >= b.limit {
		b.openUntil = now.Add(b.pause)
	}
}

// open says whether callers are held back.
func (b *breaker) open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.openUntil.IsZero()
}
