package design

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"
)

// The primary key decides which of two deliveries is handled.
const markMessage = `
	INSERT INTO processed_messages (message_id, status) VALUES (@id, 'processing')
	ON CONFLICT (message_id) DO NOTHING`

const finishMessage = `
	UPDATE processed_messages SET status = @status, processed_at = now() WHERE message_id = @id`

// queueTable keeps a row for each message: it marks it as processing, handles it,
// and marks it as completed.
type queueTable struct{ queueShop }

func newQueueTable(s shop) Handler {
	q := &queueTable{queueShop{s}}
	return q.handle
}

func (q *queueTable) handle(ctx context.Context, m jetstream.Msg) {
	id := m.Headers().Get(jetstream.MsgIDHeader)
	marked, err := q.db.Exec(ctx, markMessage, pgx.StrictNamedArgs{"id": id})
	if err != nil {
		_ = m.NakWithDelay(retryIn)
		return
	}
	if marked.RowsAffected() == 0 {
		_ = m.Ack() // another delivery of it is handled, or was
		return
	}
	if err := q.do(ctx, m); err != nil {
		q.finish(ctx, id, "failed")
		_ = m.NakWithDelay(retryIn)
		return
	}
	q.finish(ctx, id, "completed")
	_ = m.Ack() // a lost acknowledgment means that the message comes again
}

// finish writes how the message ended. If that fails, the row stays as it is.
func (q *queueTable) finish(ctx context.Context, id, status string) {
	_, _ = q.db.Exec(ctx, finishMessage, pgx.StrictNamedArgs{"id": id, "status": status})
}
