package phase

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// How an attempt can end without a response.
var (
	errParked = errors.New("the request is parked")
	errHeld   = errors.New("the request is held")
	errLost   = errors.New("the database cannot be reached")
	// errHandedOver means that the request could not be suspended, and that the
	// engine goes on trying.
	errHandedOver = errors.New("the request is suspended as soon as the database can be reached")
)

// suspension takes a request out of this process's hands: parked, or held.
type suspension struct {
	*execution
	kind       EventKind
	statements []idempotency.Statement
	since      time.Time
	end        func() // removes it from executions
}

// park suspends the request until it is due again: errParked. sent says whether
// the other system may have been reached. After too many attempts an operator has
// to look at it: errHeld. The first attempt counts and so do the completer's,
// which have pauses between them; a client that retries in a loop uses up none.
func (x *execution) park(ctx context.Context, cause error, sent bool) error {
	counted := sent && x.countable()
	if counted && x.request.Attempts+1 >= maxAttempts {
		return x.hold(ctx, fmt.Sprintf("no outcome after %d attempts: %v", maxAttempts, cause))
	}
	return x.suspend(ctx, Parked, errParked, x.parked(sent, counted))
}

func (x *execution) countable() bool { return !x.clientWaiting || x.request.Epoch == 1 }

func (x *execution) parked(sent, counted bool) idempotency.Statement {
	return idempotency.Park(x.request, backoff(x.request.Attempts), sent, counted)
}

// hold suspends the request until an operator has looked at it, and stores what
// else is known in the same transaction: errHeld.
func (x *execution) hold(ctx context.Context, reason string, known ...idempotency.Statement) error {
	x.engine.log.ErrorContext(ctx, "request is held for an operator", "flow", x.definition.name,
		"request", x.request.ID, "reason", reason)
	return x.suspend(ctx, Held, errHeld, append(known, idempotency.Hold(x.request, reason))...)
}

// suspend ends this attempt at the request, or finds that another process has
// taken it over. If the database cannot be reached, the engine goes on trying.
func (x *execution) suspend(ctx context.Context, kind EventKind, as error, statements ...idempotency.Statement) error {
	s := suspension{execution: x, kind: kind, statements: statements, since: time.Now()}
	err := s.store(ctx)
	if err == nil {
		return as
	}
	if errors.Is(err, idempotency.ErrOvertaken) {
		return err
	}
	x.engine.handover.add(s)
	return errors.Join(errHandedOver, err)
}

func (s suspension) store(ctx context.Context) error {
	err := send(ctx, s.engine.writes, s.statements)
	switch {
	case err == nil:
		s.observe(ctx, s.kind)
		return nil
	case postgres.Code(err) == idempotency.FenceCode:
		return idempotency.ErrOvertaken
	}
	return err
}

// giveUp parks a request of which this process does not know whether its last
// commit happened, in the background. A commit that finished the request, or that
// never happened, leaves nothing to park.
func (x *execution) giveUp() {
	park := []idempotency.Statement{x.parked(false, x.countable())}
	x.engine.handover.add(suspension{execution: x, kind: Parked, statements: park, since: time.Now()})
}

// handover suspends, in the background, the requests that this process could not
// suspend when it gave them up. While the process lives, its liveness covers them:
// without this, they would wait for their lease to run out.
type handover struct {
	mu      sync.Mutex
	pending []suspension
	running bool
}

const (
	// handoverEvery is the pause between two rounds: short, because a client that
	// retries is refused until its request is suspended.
	handoverEvery = 250 * time.Millisecond
	// handoverTimeout bounds one statement of a round.
	handoverTimeout = 2 * time.Second
	// claimResolvesWithin is how long a claim whose acknowledgment was lost may still
	// be under way in a server process that has not noticed yet.
	claimResolvesWithin = 5 * time.Second
)

func (h *handover) add(s suspension) {
	s.end = s.engine.executions.begin(s.request.ID)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending = append(h.pending, s)
	if !h.running {
		h.running = true
		go h.run()
	}
}

// run goes on until nothing is pending.
func (h *handover) run() {
	for {
		time.Sleep(handoverEvery)
		h.mu.Lock()
		round := h.pending
		h.pending = nil
		h.mu.Unlock()
		left := unsuspended(round)
		h.mu.Lock()
		h.pending = append(left, h.pending...)
		h.running = len(h.pending) > 0
		if !h.running {
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
	}
}

// unsuspended tries to suspend all, and returns those that are still to be tried.
// When the database cannot be reached, the rest wait for the next round.
func unsuspended(round []suspension) (left []suspension) {
	for i, s := range round {
		ctx, cancel := context.WithTimeout(context.Background(), handoverTimeout)
		err := s.store(ctx)
		cancel()
		if errors.Is(err, idempotency.ErrOvertaken) {
			s.noteRefusal(context.Background())
		}
		if s.tryAgain(err) {
			left = append(left, s)
		} else {
			s.end()
		}
		if postgres.IsTransient(err) {
			return slices.Concat(left, round[i+1:])
		}
	}
	return left
}

// tryAgain says whether a suspension is still needed. Once the lease has run out,
// other processes take the request over anyway.
func (s suspension) tryAgain(err error) bool {
	age := time.Since(s.since)
	if errors.Is(err, idempotency.ErrOvertaken) {
		return !s.claimed && age < claimResolvesWithin
	}
	return err != nil && age < idempotency.LeaseTime
}
