package phase

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Committer commits the transactions of several requests as one. A transaction that
// reads nothing is handed to it; those that are waiting when a connection becomes
// free, and that run the same statements, go together. No transaction waits for others to join it.
// A statement of a group is sent once, with the rows of all its members, so that a
// group costs little more than one of its members would.
//
// For its members a group behaves like their own transactions. All of it commits or
// none of it. If the database refuses one member, none of it commits, and the group is
// halved until that member is alone and receives the error. If the acknowledgment is
// lost, each member finds out for itself whether it committed.
type Committer struct {
	pool *pgxpool.Pool
	free chan struct{} // one for each connection that is not in use

	mu        sync.Mutex
	lines     map[string]*line  // by the statements that the members run
	numbers   map[string]uint64 // of each statement's text
	lookups   []*lookup         // that wait
	lookingUp bool
}

// line holds the members that wait to run the same statements. One group of a line is
// under way at a time: members that arrive meanwhile go with the next.
type line struct {
	waiting []*member
	moving  bool
}

// member is a transaction that is committed with others.
type member struct {
	key        idempotency.Key // a group has one member of a key
	statements []idempotency.Statement
	done       chan error
}

const (
	// CommitterConns is how many connections a committer's pool needs: one for looking
	// keys up, and the others for groups.
	CommitterConns = 1 + groupsAtOnce
	// groupsAtOnce has one group prepared while another waits for the disk. More at once are
	// smaller, and each costs a flush.
	groupsAtOnce = 2
	// groupSize bounds how many members a group has, and how long its first waits for its last.
	groupSize = 32
	// queueTimeout is how long a claim waits for its turn. Commits that take longer
	// than this wait for a standby or a disk; the client should try again later.
	queueTimeout = time.Second
)

// CommitterSession are the settings of a committer's connections. Plans are made once
// for sets of any size, and look rows up by their keys even if the tables were empty
// then. A member that waits for another session's lock does not hold up its group.
var CommitterSession = map[string]string{
	"plan_cache_mode":  "force_generic_plan",
	"enable_seqscan":   "off",
	"enable_hashjoin":  "off",
	"enable_mergejoin": "off",
	"lock_timeout":     "100ms",
}

// TransactionSession are the settings of connections for transactions that commit alone: a
// set is planned once instead of once for every array, and rows are looked up by key.
var TransactionSession = map[string]string{"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}

// NewCommitter makes a committer of a pool that nothing else uses, of CommitterConns
// connections with the settings of CommitterSession.
func NewCommitter(pool *pgxpool.Pool) *Committer {
	c := &Committer{pool: pool, free: make(chan struct{}, groupsAtOnce), lines: map[string]*line{},
		numbers: map[string]uint64{}}
	for range groupsAtOnce {
		c.free <- struct{}{}
	}
	return c
}

var (
	// errQueued means that a transaction was not sent, because others took too long.
	errQueued = errors.New("the database is too slow to commit")
	// errAlone means that a transaction did not commit, and has to run alone.
	errAlone = errors.New("the transaction has to run alone")
)

// commit hands a transaction over and waits until it is committed. It fails with
// errQueued if timeout ends before it is sent, and with the error of ctx if its
// outcome is not known in time.
func (c *Committer) commit(ctx context.Context, timeout time.Duration, m *member) error {
	name, together := c.shape(m.statements)
	if !together {
		return errAlone
	}
	m.done = make(chan error, 1)
	l := c.enqueue(name, m)
	tooLong := time.NewTimer(timeout)
	defer tooLong.Stop()
	for {
		select {
		case err := <-m.done:
			return err
		case <-tooLong.C:
			if c.withdraw(l, m) {
				return errQueued
			}
		case <-ctx.Done():
			if c.withdraw(l, m) {
				return errQueued
			}
			return ctx.Err()
		}
	}
}

// shape names what a transaction does: transactions of one shape can be a group. One
// with a statement that does not take rows has to run alone. The name is made of numbers,
// because the statements themselves are kilobytes of text.
func (c *Committer) shape(statements []idempotency.Statement) (name string, together bool) {
	var numbers []byte
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range statements {
		if _, is := s.Args.(postgres.Rows); !is {
			return "", false
		}
		number, known := c.numbers[s.SQL]
		if !known {
			number = uint64(len(c.numbers))
			c.numbers[s.SQL] = number
		}
		numbers = binary.AppendUvarint(numbers, number)
	}
	return string(numbers), true
}

func (c *Committer) enqueue(name string, m *member) *line {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lines[name]
	if l == nil {
		l = &line{}
		c.lines[name] = l
	}
	l.waiting = append(l.waiting, m)
	if !l.moving {
		l.moving = true
		go c.move(l)
	}
	return l
}

// withdraw takes a member out of its line, if it has not been sent yet.
func (c *Committer) withdraw(l *line, m *member) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(l.waiting, m)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
}

// move commits the groups of a line until it is empty.
func (c *Committer) move(l *line) {
	for {
		<-c.free
		group := c.next(l)
		if group == nil {
			c.free <- struct{}{}
			return
		}
		c.commitGroup(group)
	}
}

// next takes a group out of a line, or nil if there is none. Where more are waiting
// than a group has room for, the accounts take turns.
func (c *Committer) next(l *line) (group []*member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(l.waiting) > groupSize {
		takeTurns(l.waiting)
	}
	taken := map[idempotency.Key]bool{}
	rest := l.waiting[:0:0]
	for _, m := range l.waiting {
		if len(group) == groupSize || taken[m.key] {
			rest = append(rest, m)
			continue
		}
		taken[m.key] = true
		group = append(group, m)
	}
	l.waiting, l.moving = rest, len(group) > 0
	slices.SortFunc(group, inOrder)
	return group
}

// inOrder is the order of members in every group of every process, so that two groups
// take their locks in the same order.
func inOrder(a, b *member) int {
	return cmp.Or(cmp.Compare(a.key.AccountID, b.key.AccountID), cmp.Compare(a.key.Key, b.key.Key))
}

// takeTurns puts the first member of each account before the second of any.
func takeTurns(waiting []*member) {
	turn, of := map[*member]int{}, map[string]int{}
	for _, m := range waiting {
		turn[m] = of[m.key.AccountID]
		of[m.key.AccountID]++
	}
	slices.SortStableFunc(waiting, func(a, b *member) int { return cmp.Compare(turn[a], turn[b]) })
}

// commitGroup commits a group on a free connection, gives that back, and tells the
// members. A group that was refused is halved.
func (c *Committer) commitGroup(group []*member) {
	err := c.send(group)
	c.free <- struct{}{}
	if err == nil || postgres.ConnectionLost(err) {
		for _, m := range group {
			m.done <- err
		}
		return
	}
	if len(group) > 1 {
		go c.halve(group)
		return
	}
	if postgres.IsLockTimeout(err) {
		err = errAlone // where it may wait for longer
	}
	group[0].done <- err
}

// halve commits the halves of a group one after the other, while the line goes on.
func (c *Committer) halve(group []*member) {
	middle := len(group) / 2
	for _, half := range [][]*member{group[:middle], group[middle:]} {
		<-c.free
		c.commitGroup(half)
	}
}

// send sends a group as one packet, which the server runs as one transaction.
func (c *Committer) send(group []*member) error {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	conn, err := c.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	defer dropLate(conn).Stop()
	return postgres.SendBatch(context.Background(), conn.Conn(), joined(group))
}

// joined is each statement of the members once, with the rows of all of them.
func joined(group []*member) *pgx.Batch {
	batch := &pgx.Batch{}
	for i, s := range group[0].statements {
		rows := make([]postgres.Rows, len(group))
		for n, m := range group {
			rows[n] = m.statements[i].Args.(postgres.Rows)
		}
		batch.Queue(s.SQL, postgres.Join(rows...))
	}
	return batch
}

// lookup is a key that is looked up together with others.
type lookup struct {
	key  idempotency.Key
	done chan idempotency.Finding
}

// find looks a key up, in one statement with the others that are waiting.
func (c *Committer) find(ctx context.Context, key idempotency.Key) (*idempotency.Lookup, time.Time, error) {
	l := &lookup{key, make(chan idempotency.Finding, 1)}
	c.mu.Lock()
	c.lookups = append(c.lookups, l)
	if !c.lookingUp {
		c.lookingUp = true
		go c.lookUp()
	}
	c.mu.Unlock()
	select {
	case f := <-l.done:
		return f.Found, f.Now, f.Err
	case <-ctx.Done():
		return nil, time.Time{}, fmt.Errorf("find request: %w", ctx.Err())
	}
}

// lookUp looks keys up until no caller waits.
func (c *Committer) lookUp() {
	for {
		c.mu.Lock()
		group := c.lookups[:min(len(c.lookups), groupSize)]
		c.lookups = c.lookups[len(group):]
		c.lookingUp = len(group) > 0
		c.mu.Unlock()
		if len(group) == 0 {
			return
		}
		c.findGroup(group)
	}
}

func (c *Committer) findGroup(group []*lookup) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	keys := make([]idempotency.Key, len(group))
	for i, l := range group {
		keys[i] = l.key
	}
	findings, err := idempotency.FindAll(ctx, c.pool, keys...)
	for i, l := range group {
		if err != nil {
			l.done <- idempotency.Finding{Err: err}
			continue
		}
		l.done <- findings[i]
	}
}
