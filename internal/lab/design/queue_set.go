package design

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// queueSet remembers in memory which messages it has seen. Another process has
// another memory, and so has the same one after a restart.
type queueSet struct {
	queueShop
	mu   sync.Mutex
	seen map[string]string // message id → processing, completed or failed
}

func newQueueSet(s shop) Handler {
	q := &queueSet{queueShop: queueShop{s}, seen: map[string]string{}}
	return q.handle
}

func (q *queueSet) handle(ctx context.Context, m jetstream.Msg) {
	id := m.Headers().Get(jetstream.MsgIDHeader)
	if !q.mark(id) {
		_ = m.Ack() // it was seen before
		return
	}
	if err := q.do(ctx, m); err != nil {
		q.finish(id, "failed")
		_ = m.NakWithDelay(retryIn)
		return
	}
	q.finish(id, "completed")
	_ = m.Ack() // a lost acknowledgment means that the message comes again
}

// mark marks a message as processing, and says whether it was new.
func (q *queueSet) mark(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.seen[id] != "" {
		return false
	}
	q.seen[id] = "processing"
	return true
}

func (q *queueSet) finish(id, status string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen[id] = status
}
