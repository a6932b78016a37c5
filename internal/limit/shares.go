package limit

import (
	"context"
	"sync"
	"time"
)

// Shares has a limiter for each account. An account that asks for more than its share
// waits behind its own requests, never in front of those of another account.
type Shares struct {
	slots, queue int
	timeout      time.Duration
	full         error

	mu       sync.Mutex
	limiters map[string]*share
}

// share is the limiter of an account that has requests at it.
type share struct {
	*Limiter
	users int
}

// NewShares gives each account a limiter as NewLimiter makes it.
func NewShares(slots, queue int, timeout time.Duration, full error) *Shares {
	return &Shares{slots: slots, queue: queue, timeout: timeout, full: full, limiters: map[string]*share{}}
}

// Enter takes one of an account's slots, now or after a short wait. release gives it
// back; only the first call does. A nil Shares has no limit.
func (s *Shares) Enter(ctx context.Context, account string) (release func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	limiter := s.take(account)
	free, err := limiter.Enter(ctx)
	if err != nil {
		s.giveBack(account)
		return nil, err
	}
	return sync.OnceFunc(func() {
		free()
		s.giveBack(account)
	}), nil
}

func (s *Shares) take(account string) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	limiter := s.limiters[account]
	if limiter == nil {
		limiter = &share{Limiter: NewLimiter(s.slots, s.queue, s.timeout, s.full)}
		s.limiters[account] = limiter
	}
	limiter.users++
	return limiter
}

func (s *Shares) giveBack(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limiter := s.limiters[account]
	limiter.users--
	if limiter.users == 0 {
		delete(s.limiters, account)
	}
}
