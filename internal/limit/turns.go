package limit

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Turns keeps an account that sends many requests from slowing the others down: while other accounts are active, only
// a few of its requests use the database at once, and the rest wait in line. An account that is alone never waits.
type Turns struct {
	atOnce int // of one account

	mu           sync.Mutex
	lines        map[string]*line // of the accounts whose requests have turns
	last, before turn             // of the two accounts that entered last
}

// line has the requests of one account.
type line struct {
	inside  int
	waiting []chan struct{} // each is closed when its turn comes
}

// turn is when an account last entered.
type turn struct {
	account string
	at      time.Time
}

// activeFor is how long an account counts as active after it has entered.
const activeFor = time.Second

// NewTurns gives one account this many turns at once while others are active; 0 means no limit.
func NewTurns(atOnce int) *Turns {
	return &Turns{atOnce: atOnce, lines: map[string]*line{}}
}

// Enter waits for one of an account's turns, which come in the order of the calls. release ends the turn; later calls
// of release do nothing. The error is that of ctx. With a nil Turns, nothing waits.
func (t *Turns) Enter(ctx context.Context, account string) (release func(), err error) {
	if t == nil || t.atOnce == 0 {
		return func() {}, nil
	}
	if called := t.enter(account); called != nil {
		select {
		case <-called:
		case <-ctx.Done():
			if t.leave(account, called) {
				return nil, ctx.Err()
			}
		}
	}
	return sync.OnceFunc(func() { t.end(account) }), nil
}

// enter takes a turn at once, or gets in line.
func (t *Turns) enter(account string) (called chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last.account != account {
		t.before = t.last
	}
	t.last = turn{account, time.Now()}
	l := t.lines[account]
	if l == nil {
		l = &line{}
		t.lines[account] = l
	}
	if t.free(account, l) {
		l.inside++
		return nil
	}
	called = make(chan struct{})
	l.waiting = append(l.waiting, called)
	return called
}

// leave takes a request out of the line. It returns false if its turn has come meanwhile.
func (t *Turns) leave(account string, called chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[account] // a line in which a request waits has others inside
	i := slices.Index(l.waiting, called)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
}

// end ends a turn, and calls the requests whose turn it is now.
func (t *Turns) end(account string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[account]
	l.inside--
	for len(l.waiting) > 0 && t.free(account, l) {
		close(l.waiting[0])
		l.waiting = l.waiting[1:]
		l.inside++
	}
	if l.inside == 0 {
		delete(t.lines, account)
	}
}

// free says whether an account has a turn left: it always has while no other account is active.
func (t *Turns) free(account string, l *line) bool {
	other := t.last
	if other.account == account {
		other = t.before
	}
	return l.inside < t.atOnce || time.Since(other.at) > activeFor
}
