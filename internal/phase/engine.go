package phase

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

const (
	// callTimeout bounds one foreign call. Well below the lease, so that a driver
	// that still waits for an answer is never taken for dead.
	callTimeout = 8 * time.Second
	// secondAskWithin is how far into an attempt an unknown outcome is asked for
	// again at once. Later than that the client has waited long enough.
	secondAskWithin = 5 * time.Second
	// driveTimeout bounds a whole attempt, whatever the client's connection does.
	driveTimeout = 25 * time.Second
	// maxAttempts is when unknown becomes a person's business: with the waits of
	// backoff, after about three hours.
	maxAttempts = 40
	// firstWait and longestWait bound the pause before a parked request is due.
	firstWait, longestWait = time.Second, 5 * time.Minute
)

// Engine drives requests. One serves a whole process.
type Engine struct {
	pool     *pgxpool.Pool
	secret   []byte
	root     secret.Root
	owner    string
	record   Recorder
	retain   time.Duration
	log      *slog.Logger
	observer Observer
	work     Gate
	lookUps  Gate
	ports    map[string]any
	flows    map[idempotency.FlowVersion]*table
}

// Recorder makes the statements that join the transaction in which a request is
// finished: its line of the audit trail.
type Recorder func(tx *Tx, operation string, params json.RawMessage, answer *idempotency.Answer)

// Config is what an engine needs.
type Config struct {
	Pool     *pgxpool.Pool
	Secret   []byte      // keys the derived keys; the same in every process of an installation
	Root     secret.Root // what phases derive secrets from, and answers conceal them with
	Owner    string      // this process's liveness id
	Record   Recorder
	Retain   time.Duration // how long an answer is replayed; 0 is idempotency.AnswerRetention
	Log      *slog.Logger
	Observer Observer // nil: nobody watches

	Work    Gate // what a client's new request has to pass; nil: no bound
	LookUps Gate // what has to be passed to look up a key that Work had no place for; nil: no bound
}

// NewEngine makes an engine. Connect its ports and Register its flows before use.
func NewEngine(c Config) *Engine {
	return &Engine{
		pool: c.Pool, secret: c.Secret, root: c.Root, owner: c.Owner, record: c.Record, retain: c.Retain, log: c.Log,
		observer: cmp.Or[Observer](c.Observer, unobserved{}), work: cmp.Or[Gate](c.Work, open{}), lookUps: cmp.Or[Gate](c.LookUps, open{}),
		ports: map[string]any{}, flows: map[idempotency.FlowVersion]*table{},
	}
}

// Connect gives the engine a port's adapter.
func Connect[T any](e *Engine, port Port[T], adapter T) { e.ports[port.name] = adapter }

// operation is a Flow of any types.
type operation interface{ itself() *table }

func (t *table) itself() *table { return t }

func (t *table) key() idempotency.FlowVersion {
	return idempotency.FlowVersion{Flow: t.name, Version: t.version}
}

const insertFlow = `INSERT INTO flows (flow, version, digest) VALUES (@flow, @version, @digest) ON CONFLICT DO NOTHING`

// A version that was registered with other points keeps those it has.
const insertPoint = `
	INSERT INTO points (flow, version, name, ord, kind)
	SELECT flow, version, @name, @ord, @kind FROM flows WHERE flow = @flow AND version = @version AND digest = @digest
	ON CONFLICT DO NOTHING`

const flowDigest = `SELECT digest FROM flows WHERE flow = @flow AND version = @version`

// Register makes flows known to the engine and their recovery points to the
// database. It fails if a version's points differ from those already there:
// requests may stand on them, so a change needs a new version.
func (e *Engine) Register(ctx context.Context, flows ...operation) error {
	for _, o := range flows {
		f := o.itself()
		k := f.key()
		batch := &pgx.Batch{}
		batch.Queue(insertFlow, pgx.StrictNamedArgs{"flow": k.Flow, "version": k.Version, "digest": f.digest()})
		for _, p := range f.points() {
			batch.Queue(insertPoint, pgx.StrictNamedArgs{"flow": k.Flow, "version": k.Version, "digest": f.digest(),
				"name": p.name, "ord": p.ord, "kind": p.kind})
		}
		if err := e.pool.SendBatch(ctx, batch).Close(); err != nil {
			return fmt.Errorf("register %s version %d: %w", k.Flow, k.Version, err)
		}
		var digest string
		err := e.pool.QueryRow(ctx, flowDigest, pgx.StrictNamedArgs{"flow": k.Flow, "version": k.Version}).Scan(&digest)
		if err != nil {
			return fmt.Errorf("register %s version %d: %w", k.Flow, k.Version, err)
		}
		if digest != f.digest() {
			return fmt.Errorf("the recovery points of %s version %d have changed since it was first deployed: give it a new version", k.Flow, k.Version)
		}
		e.flows[k] = f
	}
	return nil
}

// Known are the flow versions this engine can drive.
func (e *Engine) Known() []idempotency.FlowVersion {
	known := make([]idempotency.FlowVersion, 0, len(e.flows))
	for k := range e.flows {
		known = append(known, k)
	}
	return known
}

// Log is where the engine's process writes its lines.
func (e *Engine) Log() *slog.Logger { return e.log }

// Pool is the database the engine works on, for reads.
func (e *Engine) Pool() *pgxpool.Pool { return e.pool }

// Resume drives a request that was taken over, in the completer's name, with the
// caller it was made for. It returns when the request is finished, parked or held.
func (e *Engine) Resume(ctx context.Context, r *idempotency.Request) error {
	f, known := e.flows[idempotency.FlowVersion{Flow: r.Flow, Version: r.Version}]
	if !known {
		return fmt.Errorf("%s version %d is not known to this process", r.Flow, r.Version)
	}
	ctx, cancel := context.WithTimeout(ctx, driveTimeout) // shorter than the lease, like a client's attempt
	defer cancel()
	_, err := f.resume(ctx, e, r, false)
	return err
}

// backoff is how long a request stays parked after so many attempts.
func backoff(attempts int32) time.Duration {
	wait := firstWait << min(attempts, 16)
	return min(wait, longestWait)
}
