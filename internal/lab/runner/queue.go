//go:build unix

package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/crashpoint"
	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/internal/lab/consumer"
	"github.com/ratchet-pay/ratchet/internal/lab/design"
)

// The broker's settings for a run.
const (
	ackWait      = 600 * time.Millisecond // without an acknowledgment in this time, a message is delivered again
	maxDeliver   = 5                      // after so many deliveries the broker gives a message up
	dedupeWindow = 200 * time.Millisecond // in which the broker knows the ids of messages
	// reorderBy is how long the first message of an order is late, when it is.
	reorderBy = 600 * time.Millisecond
	// queueTimeout is how long a run waits until nothing is left to be delivered.
	queueTimeout = 30 * time.Second
)

// Consumer is the name of each run's consumer at the broker.
const Consumer = "shop"

// queue is the broker's side of a run: its stream and its consumer.
type queue struct {
	*broker
	stream   string
	consumer jetstream.Consumer
	books    *pgxpool.Pool // the inbox's own database; nil for the other designs
	booksURL string
}

// openQueue makes the run's stream, and the inbox's database if it needs one.
func (r *run) openQueue(ctx context.Context) (*queue, error) {
	b, err := r.openBroker(ctx)
	if err != nil {
		return nil, err
	}
	q := &queue{broker: b, stream: fmt.Sprintf("LAB_%s_%d", filepath.Base(r.dir), r.order.Order)}
	q.stream = strings.NewReplacer(".", "_", "-", "_").Replace(q.stream)
	stream, err := b.js.CreateStream(ctx, jetstream.StreamConfig{Name: q.stream, Subjects: []string{q.stream + ".>"},
		Duplicates: dedupeWindow})
	if err != nil {
		return nil, fmt.Errorf("create the stream: %w", err)
	}
	q.consumer, err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: Consumer, AckWait: ackWait,
		MaxDeliver: maxDeliver, AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		return nil, fmt.Errorf("create the consumer: %w", err)
	}
	if r.Design.Name != "inbox" {
		return q, nil
	}
	if q.booksURL, err = r.inboxDatabase(ctx); err != nil {
		return nil, err
	}
	q.books, err = pgxpool.New(ctx, q.booksURL)
	return q, err
}

func (q *queue) close(ctx context.Context) {
	_ = q.js.DeleteStream(context.WithoutCancel(ctx), q.stream) // it is only left behind
	if q.books != nil {
		q.books.Close()
	}
}

// inboxDatabase is a run's own database. Any consumer completes what a crashed process
// has left, so a consumer of another run must not see it. A copy is made ahead of the run
// that takes it: that needs a fifth of a second.
func (s *Runner) inboxDatabase(ctx context.Context) (address string, err error) {
	s.templateOnce.Lock()
	defer s.templateOnce.Unlock()
	if s.template == "" {
		if s.template, err = s.inboxTemplate(ctx); err != nil {
			return "", err
		}
		s.spare = make(chan spareDatabase, 1)
		s.copyAhead()
	}
	select {
	case made := <-s.spare:
		s.copyAhead()
		return made.address, made.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// spareDatabase is a copy of the template that no run has taken yet.
type spareDatabase struct {
	address string
	err     error
}

func (s *Runner) copyAhead() {
	s.copying.Go(func() {
		address, _, err := s.createDatabase(context.Background(), "inbox", s.template)
		s.spare <- spareDatabase{address, err}
	})
}

// inboxTemplate creates the database that those of the runs are copies of.
func (s *Runner) inboxTemplate(ctx context.Context) (name string, err error) {
	address, name, err := s.createDatabase(ctx, "inbox", "")
	if err != nil {
		return "", err
	}
	if _, err := s.commandOn(ctx, address, "migrate", "up"); err != nil {
		return "", err
	}
	return name, createInboxSchema(ctx, address)
}

func createInboxSchema(ctx context.Context, address string) error {
	db, err := pgxpool.New(ctx, address)
	if err != nil {
		return err
	}
	defer db.Close() // a template must have no connections
	return consumer.CreateSchema(ctx, db)
}

// consumeOrders takes the order through the queue.
func (r *run) consumeOrders(ctx context.Context) (answer lab.Answer, err error) {
	if !r.Fault.Reordered {
		if err := r.publish(ctx, design.Placed); err != nil {
			return "", err
		}
		if err := r.drained(ctx); err != nil { // two consumers would reorder the two
			return "", err
		}
	}
	if err := r.publish(ctx, design.Pay); err != nil {
		return "", err
	}
	if err := r.strike(ctx); err != nil {
		return "", err
	}
	switch {
	case r.Fault.Reordered:
		time.Sleep(reorderBy)
		err = r.publish(ctx, design.Placed)
	case r.Fault.Republished:
		err = r.republish(ctx)
	}
	if err != nil {
		return "", err
	}
	if err := r.drained(ctx); err != nil {
		return "", err
	}
	r.proceed()
	return r.ended(ctx)
}

// Says is what a message does with its order.
func Says(subject string) string {
	if strings.HasSuffix(subject, design.Placed) {
		return "places"
	}
	return "pays"
}

// publish sends a message. The one that pays the order carries the fault.
func (r *run) publish(ctx context.Context, subject string) error {
	body, err := json.Marshal(r.order)
	if err != nil {
		return err
	}
	headers := nats.Header{jetstream.MsgIDHeader: {r.key + subject}, crashpoint.AtHeader: {"0"}}
	if subject == design.Pay {
		if boundary := r.Boundary(r.Design); boundary != "" {
			headers.Set(crashpoint.AtHeader, boundary)
		}
		switch {
		case r.Stop:
			headers.Set(crashpoint.HowHeader, crashpoint.Stop)
		case r.Cut:
			headers.Set(crashpoint.HowHeader, crashpoint.Cut)
		}
		if r.BankTakes > 0 {
			headers.Set(acquirer.FaultHeader, fmt.Sprintf("slow:%d", r.BankTakes.Milliseconds()))
		}
		if r.Poison {
			body = []byte(`{"order": "a lot"}`)
		}
	}
	r.note(lab.Event{Kind: lab.Publishes, What: Says(subject)})
	_, err = r.queue.js.PublishMsg(ctx, &nats.Msg{Subject: r.queue.stream + subject, Data: body, Header: headers})
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// republish restarts the consumer in order and publishes the payment once more.
func (r *run) republish(ctx context.Context) error {
	if err := r.drained(ctx); err != nil {
		return err
	}
	r.current.leave()
	next, err := r.startDesign(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.current = next
	r.mu.Unlock()
	r.note(lab.Event{Kind: lab.Restarts, PID: next.pid()})
	time.Sleep(2 * dedupeWindow)
	return r.publish(ctx, design.Pay)
}

// drained waits until the broker has nothing more to deliver, and until the inbox has
// completed what it has taken.
func (r *run) drained(ctx context.Context) error {
	var info *jetstream.ConsumerInfo
	for deadline := time.Now().Add(queueTimeout); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var err error
		info, err = r.queue.consumer.Info(ctx)
		if err != nil {
			return fmt.Errorf("ask the broker: %w", err)
		}
		if info.NumPending > 0 || info.NumAckPending > 0 {
			continue
		}
		if r.queue.books == nil {
			return nil
		}
		unfinished, err := consumer.Unfinished(ctx, r.queue.books)
		if err != nil || unfinished == 0 {
			return err
		}
	}
	return fmt.Errorf("the consumers did not finish: the broker counts %d messages to be delivered, %d delivered "+
		"without an acknowledgment and %d delivered again:\n%s", info.NumPending, info.NumAckPending,
		info.NumRedelivered, r.current.lastWords())
}

// ended says what became of the message.
func (r *run) ended(ctx context.Context) (answer lab.Answer, err error) {
	info, err := r.queue.consumer.Info(ctx)
	if err != nil {
		return "", err
	}
	answer = lab.Acknowledged
	if info.AckFloor.Stream < info.Delivered.Stream {
		answer = lab.GivenUp
	}
	if r.queue.books != nil {
		aside, err := consumer.SetAside(ctx, r.queue.books)
		if err != nil {
			return "", err
		}
		if aside > 0 {
			answer = lab.Aside
		}
	}
	r.note(lab.Event{Kind: lab.BrokerEnds, What: string(answer)})
	return answer, nil
}

// dropInbox drops the run's database, after the run. Its pool is closed.
func (r *run) dropInbox() {
	u, err := pgx.ParseConfig(r.queue.booksURL)
	if err != nil {
		return
	}
	r.copying.Go(func() { r.dropDatabase(context.Background(), u.Database) })
}
