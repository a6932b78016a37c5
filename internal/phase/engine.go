package phase

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

const (
	// callTimeout bounds one foreign call. Well below the lease, so that a process
	// that still waits for an answer is never taken for dead.
	callTimeout = 8 * time.Second
	// secondCallWithin is how far into an attempt the engine calls again at once
	// after an unknown outcome. Later than that the client has waited long enough.
	secondCallWithin = 5 * time.Second
	// answerTimeout is how long the database is waited for. It ends its own statements after
	// 3 s; one that says nothing for longer has stalled, or the link to it is silent.
	answerTimeout = 5 * time.Second
	// executionTimeout bounds a whole attempt, even if the client disconnects.
	executionTimeout = 25 * time.Second
	// maxAttempts is when an unknown outcome needs an operator: with the waits of
	// backoff, after about three hours.
	maxAttempts = 40
	// firstWait and longestWait bound the pause before a parked request is due.
	firstWait, longestWait = time.Second, idempotency.LongestWait
)

// Engine executes requests. One serves a whole process.
type Engine struct {
	pool       *pgxpool.Pool
	writes     *pgxpool.Pool
	committer  *Committer
	secret     []byte
	roots      *secret.Roots
	owner      string
	record     Recorder
	retain     time.Duration
	log        *slog.Logger
	observer   Observer
	work       Limiter
	lookups    Limiter
	turns      Limiter
	encode     func(object any) ([]byte, error)
	headers    func(Caller) map[string]string
	translate  func(*Refusal) error
	adapters   adapters
	flows      map[idempotency.FlowVersion]flow
	waiters    waiters
	handover   handover
	executions executions
}

// Recorder makes the statements that join the transaction in which a request is
// finished: its row of the audit trail.
type Recorder func(tx *Tx, request *idempotency.Request, response *idempotency.StoredResponse)

// Config is what an engine needs.
type Config struct {
	Pool      *pgxpool.Pool // for checks and other reads
	Writes    *pgxpool.Pool // for transactions, with the settings of TransactionSession; nil: Pool
	Committer *Committer    // commits requests together; nil: each alone
	// Secret keys the derived keys of calls. It is the same in every process of an installation, and forever: a retry
	// whose first attempt was lost in a failover must call under the same key.
	Secret   []byte
	Roots    *secret.Roots // what phases derive secrets from, and responses are encrypted with
	Owner    string        // this process's liveness id
	Record   Recorder      // nil: nothing is recorded
	Retain   time.Duration // how long a response is replayed; 0 is idempotency.AnswerRetention
	Log      *slog.Logger  // nil: nothing is logged
	Observer Observer      // nil: nothing is observed

	// Encode writes the body of a response; nil: as compact JSON.
	Encode func(object any) ([]byte, error)
	// Headers returns the headers of every response, besides its content type;
	// nil: there are none. They are stored and replayed with it.
	Headers func(Caller) map[string]string
	// Refuse translates a refusal into the error that the caller of Serve receives;
	// nil: the refusal itself.
	Refuse func(*Refusal) error

	Work    Limiter // a client's new request needs a slot here; nil: no bound
	Lookups Limiter // without one, it needs a slot here to have its key looked up; nil: no bound
	Turns   Limiter // each transaction of a request waits for its account's turn; nil: none waits
}

// NewEngine makes an engine. Connect its ports and Register its flows before use.
func NewEngine(c Config) *Engine {
	e := &Engine{
		pool:       c.Pool,
		writes:     cmp.Or(c.Writes, c.Pool),
		committer:  c.Committer,
		secret:     c.Secret,
		roots:      c.Roots,
		owner:      c.Owner,
		record:     c.Record,
		retain:     c.Retain,
		log:        cmp.Or(c.Log, slog.New(slog.DiscardHandler)),
		observer:   cmp.Or[Observer](c.Observer, unobserved{}),
		work:       cmp.Or[Limiter](c.Work, unlimited{}),
		lookups:    cmp.Or[Limiter](c.Lookups, unlimited{}),
		turns:      cmp.Or[Limiter](c.Turns, unlimited{}),
		encode:     c.Encode,
		headers:    c.Headers,
		translate:  c.Refuse,
		adapters:   adapters{},
		flows:      map[idempotency.FlowVersion]flow{},
		waiters:    waiters{pool: c.Pool, waiting: map[idempotency.Key][]chan struct{}{}},
		executions: executions{requests: map[string]int{}},
	}
	if e.record == nil {
		e.record = func(*Tx, *idempotency.Request, *idempotency.StoredResponse) {}
	}
	if e.encode == nil {
		e.encode = json.Marshal
	}
	if e.headers == nil {
		e.headers = func(Caller) map[string]string { return nil }
	}
	if e.translate == nil {
		e.translate = func(r *Refusal) error { return r }
	}
	return e
}

// Connect gives the engine a port's adapter.
func Connect[T any](e *Engine, port Port[T], adapter T) { e.adapters[port.name] = adapter }

// Known are the flow versions this engine can execute.
func (e *Engine) Known() []idempotency.FlowVersion {
	known := make([]idempotency.FlowVersion, 0, len(e.flows))
	for k := range e.flows {
		known = append(known, k)
	}
	return known
}

// Log is where the engine's process writes its log.
func (e *Engine) Log() *slog.Logger { return e.log }

// Pool is the database the engine works on, for reads.
func (e *Engine) Pool() *pgxpool.Pool { return e.pool }

// TakeOver takes up to limit requests over that are due or whose owner is dead, for Resume.
func (e *Engine) TakeOver(ctx context.Context, limit int) ([]*idempotency.Request, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	taken, err := idempotency.ResumeUnfinished(ctx, e.writes, e.Known(), e.owner, limit)
	if err != nil {
		e.doubt()
	}
	return taken, err
}

// Resume executes a request that the completer has taken over, on behalf of its
// original caller. It returns when the request is finished, parked or held.
func (e *Engine) Resume(ctx context.Context, r *idempotency.Request) error {
	f, known := e.flows[idempotency.FlowVersion{Flow: r.Flow, Version: r.Version}]
	if !known {
		return fmt.Errorf("%s version %d is not known to this process", r.Flow, r.Version)
	}
	ctx, cancel := context.WithTimeout(ctx, executionTimeout) // shorter than the lease, like a client's attempt
	defer cancel()
	_, err := e.resumed(ctx, f, r, TakenByWorker).execute(ctx)
	return err
}

// backoff is how long a request stays parked after so many attempts.
func backoff(attempts int32) time.Duration {
	wait := firstWait << min(attempts, 16)
	return min(wait, longestWait)
}
