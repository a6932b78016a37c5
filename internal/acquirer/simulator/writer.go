package simulator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
)

const (
	// maxBatch bounds what one transaction does. At the rate of 3,000 a second and
	// a flush of 5 ms, 15 are waiting; this leaves room for a slow disk.
	maxBatch = 512

	// batchTimeout is how long a batch may take before its callers get an error that says
	// that the outcome is unknown.
	batchTimeout = 10 * time.Second

	// maxAttempts is for batches that lost against another process on the same database.
	maxAttempts = 5
)

var errStopped = errors.New("the acquirer is shutting down")

// question is what one HTTP request wants from the book.
type question struct {
	kind   questionKind
	key    string
	asked  acquirer.Request // when kind is askFor
	forget bool             // lose the memory of the key first
	retire bool             // then make the key unusable, if it is unused

	answered chan committedReply
}

type questionKind int

const (
	askFor questionKind = iota
	lookUp
	reverse
)

// committedReply is a reply after the commit; with err the outcome is unknown.
type committedReply struct {
	reply reply
	err   error
}

// writer is the only goroutine that writes: it takes all questions that wait,
// answers them in one transaction, and hands the replies out once that is
// committed. The busier it is, the more questions share a flush of the disk.
type writer struct {
	pool      *pgxpool.Pool
	questions chan *question
	quit      chan struct{} // closed: take no more questions
	stopped   chan struct{} // closed: the goroutine has ended
}

func startWriter(pool *pgxpool.Pool) *writer {
	w := &writer{
		pool:      pool,
		questions: make(chan *question, maxBatch),
		quit:      make(chan struct{}),
		stopped:   make(chan struct{}),
	}
	go w.run()
	return w
}

// stop ends the goroutine after the batch it is working on. It must be called once.
func (w *writer) stop() {
	close(w.quit)
	<-w.stopped
}

// answer waits for the reply. It takes no context: a caller that hangs up does
// not stop a real acquirer either.
func (w *writer) answer(q *question) (reply, error) {
	q.answered = make(chan committedReply, 1)
	select {
	case w.questions <- q:
	case <-w.quit:
		return reply{}, errStopped
	}
	select {
	case v := <-q.answered:
		return v.reply, v.err
	case <-w.stopped:
	}
	select {
	case v := <-q.answered: // it was in the last batch
		return v.reply, v.err
	default:
		return reply{}, errStopped
	}
}

func (w *writer) run() {
	defer close(w.stopped)
	for {
		select {
		case <-w.quit:
			return
		case first := <-w.questions:
			w.answerAll(w.collect(first))
		}
	}
}

// collect takes what is waiting, without waiting for more.
func (w *writer) collect(first *question) []*question {
	batch := []*question{first}
	for len(batch) < maxBatch {
		select {
		case q := <-w.questions:
			batch = append(batch, q)
		default:
			return batch
		}
	}
	return batch
}

func (w *writer) answerAll(batch []*question) {
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
	defer cancel()
	replies, err := w.commit(ctx, batch)
	for attempt := 1; attempt < maxAttempts && lostRace(err); attempt++ {
		replies, err = w.commit(ctx, batch)
	}
	for i, q := range batch {
		if err != nil {
			q.answered <- committedReply{err: err}
			continue
		}
		q.answered <- committedReply{reply: replies[i]}
	}
}

// commit answers a batch in one transaction.
func (w *writer) commit(ctx context.Context, batch []*question) ([]reply, error) {
	conn, err := w.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer giveBack(context.WithoutCancel(ctx), conn)

	book, err := loadBook(ctx, conn, batch)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	replies := make([]reply, len(batch))
	for i, q := range batch {
		replies[i] = book.answer(q)
	}
	err = book.store(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return replies, nil
}

// giveBack rolls back what was not committed. The pool closes a connection on which
// that fails.
func giveBack(ctx context.Context, conn *pgxpool.Conn) {
	if pg := conn.Conn().PgConn(); !pg.IsClosed() && pg.TxStatus() != 'I' {
		_, _ = conn.Exec(ctx, "ROLLBACK")
	}
	conn.Release()
}

func (b *book) answer(q *question) reply {
	if q.forget {
		b.forget(q.key)
	}
	if q.retire {
		b.retire(q.key)
	}
	switch q.kind {
	case lookUp:
		return b.lookUp(q.key)
	case reverse:
		return b.reverse(q.key)
	default:
		return b.ask(q.key, q.asked)
	}
}

// errOvertaken says that another process changed a key between our reading and
// our writing it.
var errOvertaken = errors.New("another process has already used this key")

// lostRace recognizes batches that did nothing and will do better when they see
// what the other process did: overtaken, a key inserted by two (23505), a
// deadlock (40P01), a serialization failure (40001).
func lostRace(err error) bool {
	if errors.Is(err, errOvertaken) {
		return true
	}
	var refused *pgconn.PgError
	return errors.As(err, &refused) && slices.Contains([]string{"23505", "40P01", "40001"}, refused.Code)
}
