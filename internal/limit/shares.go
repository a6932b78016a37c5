package limit

import (
	"context"
	"sync"
	"time"
)

// Shares has a gate for each account. An account that asks for more than its share
// waits behind its own requests, never in front of those of another account.
type Shares struct {
	places, queue int
	patience      time.Duration
	full          error

	mu    sync.Mutex
	gates map[string]*share
}

// share is the gate of an account that has requests at it.
type share struct {
	*Gate
	users int
}

// NewShares gives each account a gate as NewGate makes it.
func NewShares(places, queue int, patience time.Duration, full error) *Shares {
	return &Shares{places: places, queue: queue, patience: patience, full: full, gates: map[string]*share{}}
}

// Enter takes one of an account's places, now or after a short wait. leave gives it
// back; only the first call does.
func (s *Shares) Enter(ctx context.Context, account string) (leave func(), err error) {
	gate := s.take(account)
	free, err := gate.Enter(ctx)
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
	gate := s.gates[account]
	if gate == nil {
		gate = &share{Gate: NewGate(s.places, s.queue, s.patience, s.full)}
		s.gates[account] = gate
	}
	gate.users++
	return gate
}

func (s *Shares) giveBack(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := s.gates[account]
	gate.users--
	if gate.users == 0 {
		delete(s.gates, account)
	}
}
