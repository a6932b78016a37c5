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
	inCompany    int64 // slots that a request takes while other accounts ask, too

	mu       sync.Mutex
	limiters map[string]*share
	newest   string    // the account that asked last
	asked    time.Time // when it did
	before   time.Time // when another account asked last
}

// company is how long an account counts as one that asks.
const company = time.Second

// share is the limiter of an account that has requests at it.
type share struct {
	*Limiter
	users int
}

// NewShares gives each account a limiter as NewLimiter makes it.
func NewShares(slots, queue int, timeout time.Duration, full error) *Shares {
	return &Shares{slots: slots, queue: queue, timeout: timeout, full: full, inCompany: 1,
		limiters: map[string]*share{}}
}

// InCompany has the slots of an account admit only this many requests while another
// account asks, too. All slots are for an account that is alone. 0 makes no difference.
func (s *Shares) InCompany(requests int) *Shares {
	if requests > 0 && requests < s.slots {
		s.inCompany = int64(s.slots / requests)
	}
	return s
}

// Enter takes one of an account's slots, now or after a short wait; see InCompany for when it takes
// more. release gives it back; only the first call does.
func (s *Shares) Enter(ctx context.Context, account string) (release func(), err error) {
	limiter, slots := s.take(account, time.Now())
	free, err := limiter.enter(ctx, slots)
	if err != nil {
		s.giveBack(account)
		return nil, err
	}
	return sync.OnceFunc(func() {
		free()
		s.giveBack(account)
	}), nil
}

// take returns an account's limiter, and how many of its slots a request takes now.
func (s *Shares) take(account string, now time.Time) (*share, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if account != s.newest {
		s.newest, s.before = account, s.asked
	}
	s.asked = now
	limiter := s.limiters[account]
	if limiter == nil {
		limiter = &share{Limiter: NewLimiter(s.slots, s.queue, s.timeout, s.full)}
		s.limiters[account] = limiter
	}
	limiter.users++
	if now.Sub(s.before) < company {
		return limiter, s.inCompany
	}
	return limiter, 1
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
