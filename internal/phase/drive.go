package phase

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/wire"
)

// drive is one attempt at a request. Everything in it but the clock is either in
// the request's row or can be computed from it again.
type drive struct {
	flow    *table
	engine  *Engine
	request *idempotency.Request
	in      any // a P: what the caller asked for
	state   any // a *S: what the phases tell each other

	claimed bool // the row exists
	reached int  // how many phases lie behind us
	calls   []idempotency.Call
	patient bool // a client waits for the answer

	overtaken bool // the answer is of whoever took the request from us

	leave func() // gives the place at the gate of new work back; nil if there is none

	answered []string // phases answered since the last commit
	undone   []string // phases reversed since the last commit

	started time.Time // on this machine's clock, when now was read
	now     time.Time // on the database's clock, when the attempt began
}

// run goes from the recovery point the request stands on to its answer.
func (d *drive) run(ctx context.Context) (idempotency.Answer, error) {
	if d.claimed {
		if err := d.pickUp(ctx); err != nil {
			return d.deliver(ctx, nil, err)
		}
	}
	for {
		answer, err := d.atomics(ctx)
		if answer != nil || err != nil {
			return d.deliver(ctx, answer, err)
		}
		answer, err = d.foreigns(ctx)
		if answer != nil || err != nil {
			return d.deliver(ctx, answer, err)
		}
	}
}

// atomics runs the atomic phases up to the next foreign one in one transaction.
// It returns the answer if they end the request.
func (d *drive) atomics(ctx context.Context) (*idempotency.Answer, error) {
	if d.flow.lines[d.reached].call != nil {
		return nil, nil // we resumed in front of a foreign phase
	}
	last := d.reached
	for last < len(d.flow.lines) && d.flow.lines[last].call == nil {
		last++
	}
	return d.transact(ctx, d.flow.lines[d.reached:last], d.reached)
}

// transact runs atomic phases inside one transaction and commits what they
// return. behind is how many phases lie behind the first of them.
func (d *drive) transact(ctx context.Context, phases []line, behind int) (*idempotency.Answer, error) {
	for try := 0; ; try++ {
		answer, err := d.attempt(ctx, phases, behind)
		again := postgres.IsRetryable(err) || errors.Is(err, errNotCommitted)
		if !again || try == transactTries {
			return answer, err
		}
		// A deadlock's victim, or lost with its connection: nothing of the
		// transaction remains and nothing foreign happened inside it.
		d.happened(ctx, Retried)
	}
}

// transactTries bounds re-running a transaction of which nothing remains.
const transactTries = 5

// errNotCommitted says that a transaction is known not to have happened.
var errNotCommitted = errors.New("the transaction did not happen")

func (d *drive) attempt(ctx context.Context, phases []line, behind int) (answer *idempotency.Answer, err error) {
	ctx, done := d.watch(ctx, Step{Point: phases[len(phases)-1].point})
	defer func() { done(err) }()
	tx := d.begin()
	step := &idempotency.Step{From: d.request.Point, Owner: d.engine.owner, Retention: d.engine.retain, Answered: d.answered, Undone: d.undone}
	step.Points = append(step.Points, d.answered...) // reached already, written down now
	outcome, err := d.runPhases(ctx, tx, phases, behind, step)
	if err == nil {
		err = d.conclude(tx, step, outcome)
	}
	if err != nil {
		tx.rollback(ctx)
		return nil, err
	}
	if err := d.commit(ctx, tx, step); err != nil {
		return nil, err
	}
	d.claimed, d.reached, d.answered, d.undone = true, int(step.Ord), nil, nil
	d.request.Point, d.request.Ord, d.calls = step.Points[len(step.Points)-1], step.Ord, step.Calls
	d.happened(ctx, Committed, step.Points...)
	return step.Finish, nil
}

// conclude gives a step the answer its phases came to, or what the next ones need:
// the state, and the calls that are made next.
func (d *drive) conclude(tx *Tx, step *idempotency.Step, outcome Outcome) (err error) {
	if outcome.final {
		if step.Finish, err = d.encode(outcome); err != nil {
			return err
		}
		d.engine.record(tx, d.flow.name, d.request.Params, step.Finish)
		return nil
	}
	step.Calls = d.announce(int(step.Ord))
	if step.Memo, err = json.Marshal(d.state); err != nil {
		return fmt.Errorf("encode state of %s: %w", d.flow.name, err)
	}
	return nil
}

// runPhases calls the phases' own code. A panic there is an error like another:
// the transaction is rolled back and the process lives.
func (d *drive) runPhases(ctx context.Context, tx *Tx, phases []line, behind int, step *idempotency.Step) (outcome Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			d.engine.log.ErrorContext(ctx, "panic in a phase", "flow", d.flow.name, "request", d.request.ID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic in %s: %v", d.flow.name, p)
		}
	}()
	for i, p := range phases {
		outcome, err = p.atomic(ctx, tx, d.in, d.state)
		if err != nil {
			return Outcome{}, err
		}
		step.Points, step.Ord = append(step.Points, p.point), int16(behind+i+1)
		if outcome.final {
			return outcome, nil
		}
	}
	if int(step.Ord) >= len(d.flow.lines) {
		return Outcome{}, fmt.Errorf("%s ends without an answer", d.flow.name)
	}
	return outcome, nil
}

func (d *drive) begin() *Tx {
	tx := &Tx{Caller: d.caller(), pool: d.engine.pool, root: d.engine.root, now: d.databaseTime()}
	if d.claimed {
		fence := idempotency.Fence(d.request)
		tx.fence = &fence
	}
	return tx
}

// databaseTime is the database's clock as far as we can tell without asking:
// what it said when the attempt began, and the time that has passed here since.
func (d *drive) databaseTime() time.Time { return d.now.Add(time.Since(d.started)) }

func (d *drive) caller() Caller {
	r := d.request
	c := Caller{AccountID: r.AccountID, Livemode: r.Livemode, RequestID: r.ID, Key: r.Key, Context: r.Context}
	if r.Keyless {
		c.Key = ""
	}
	return c
}

// announce lists the calls that come next, each under its derived key. They are
// committed before any of them is made.
func (d *drive) announce(from int) []idempotency.Call {
	var calls []idempotency.Call
	for _, p := range d.flow.lines[from:] {
		if p.call == nil {
			break
		}
		calls = append(calls, idempotency.Call{Phase: p.point, Generation: 1, AskedAt: d.databaseTime(),
			Key: idempotency.DeriveKey(d.engine.secret, d.request, p.point, 1)})
	}
	return calls
}

// encode turns an outcome into the bytes that are stored, sent and replayed.
func (d *drive) encode(o Outcome) (*idempotency.Answer, error) {
	body, err := wire.Encode(o.body)
	if err != nil {
		return nil, fmt.Errorf("encode answer of %s: %w", d.flow.name, err)
	}
	headers := map[string]string{"Content-Type": "application/json", "Stripe-Version": string(d.request.Context.APIVersion)}
	return &idempotency.Answer{Status: o.status, Headers: headers, Body: body, ObjectID: o.objectID}, nil
}

// commit writes a step. The first one claims the key, the others are fenced.
func (d *drive) commit(ctx context.Context, tx *Tx, step *idempotency.Step) error {
	engine := idempotency.Advance(d.request, step, tx.now)
	if !d.claimed {
		d.request.Point, d.request.Ord = step.Points[len(step.Points)-1], step.Ord
		d.request.Memo = step.Memo
		engine = idempotency.Claim(d.request, step, tx.now)
	}
	err := tx.commit(ctx, engine)
	switch {
	case err == nil:
		return nil
	case postgres.Code(err) == idempotency.FenceCode:
		return idempotency.ErrOvertaken
	case postgres.IsUniqueViolation(err, "a_key_has_one_request"), postgres.IsUniqueViolation(err, "requests_pkey"):
		return errTaken // the second is our own insert, whose acknowledgement was lost
	case postgres.ConnectionLost(err):
		return d.establish(ctx, step, err)
	}
	return fmt.Errorf("commit %s of %s: %w", step.Points, d.flow.name, err)
}

// establish finds out whether a commit whose acknowledgement was lost happened,
// by writing the request's row (a read might show what a fail-over then undoes).
func (d *drive) establish(ctx context.Context, step *idempotency.Step, lost error) error {
	key := idempotency.Key{AccountID: d.request.AccountID, Livemode: d.request.Livemode, Key: d.request.Key}
	at, err := idempotency.Establish(ctx, d.engine.pool, key)
	if err != nil {
		return errors.Join(errLost, lost, err)
	}
	reached := step.Points[len(step.Points)-1]
	switch {
	case at == nil:
		// Our insert may still be under way in a server process that has not
		// noticed yet: the next one waits for it in the unique constraint.
		return errors.Join(errTaken, lost)
	case at.ID != d.request.ID:
		return errTaken
	case at.Epoch != d.request.Epoch:
		return idempotency.ErrOvertaken
	case at.Point == reached:
		return nil // it happened
	}
	return errors.Join(errNotCommitted, lost)
}

// deliver turns the end of an attempt into what the caller hears.
func (d *drive) deliver(ctx context.Context, answer *idempotency.Answer, err error) (idempotency.Answer, error) {
	switch {
	case err == nil:
		return *answer, nil
	case errors.Is(err, errTaken):
		return idempotency.Answer{}, err
	case errors.Is(err, idempotency.ErrOvertaken):
		return d.winners(ctx)
	case errors.Is(err, errLaidAside):
		return idempotency.Answer{}, apierror.Unfinished()
	case errors.Is(err, errLost):
		return idempotency.Answer{}, unreachable(err)
	case errors.Is(err, errHeld):
		return idempotency.Answer{}, apierror.Held(d.request.ID)
	case !d.claimed:
		return idempotency.Answer{}, nothingStored(err)
	}
	return d.failed(ctx, err)
}

// winners answers for a process that was overtaken, with the bytes of the one
// that overtook it.
func (d *drive) winners(ctx context.Context) (idempotency.Answer, error) {
	key := idempotency.Key{AccountID: d.request.AccountID, Livemode: d.request.Livemode, Key: d.request.Key}
	d.happened(ctx, FencedOff)
	d.engine.log.WarnContext(ctx, "overtaken: the fence refused a commit", "flow", d.flow.name, "request", d.request.ID, "epoch", d.request.Epoch)
	for ctx.Err() == nil {
		found, _, err := idempotency.Find(ctx, d.engine.pool, key)
		if err != nil {
			return idempotency.Answer{}, unreachable(err)
		}
		if found != nil && found.State == idempotency.Finished {
			d.overtaken = true
			return found.Answer, nil
		}
		if found == nil || !found.OwnerAlive || !d.patient {
			break
		}
		time.Sleep(pollEvery)
	}
	return idempotency.Answer{}, apierror.Unfinished()
}

// failed parks a request after an error that says nothing about its outcome.
func (d *drive) failed(ctx context.Context, err error) (idempotency.Answer, error) {
	d.engine.log.ErrorContext(ctx, "attempt failed", "flow", d.flow.name, "request", d.request.ID, "point", d.request.Point, "error", err)
	return d.deliver(ctx, nil, d.park(ctx, err, true))
}

// park lays the request aside until it is due again: errLaidAside. sent says
// whether the other side may have been reached. After too many attempts a person
// has to look at it: errHeld. The first attempt counts and so do the completer's,
// which have pauses between them; a client that retries in a loop spends none.
func (d *drive) park(ctx context.Context, cause error, sent bool) error {
	counted := sent && (!d.patient || d.request.Epoch == 1)
	if counted && d.request.Attempts+1 >= maxAttempts {
		return d.hold(ctx, fmt.Sprintf("no outcome after %d attempts: %v", maxAttempts, cause))
	}
	return d.layAside(ctx, Parked, errLaidAside, idempotency.Park(d.request, backoff(d.request.Attempts), sent, counted))
}

// hold lays the request aside for a person, and writes what else is known in the
// same transaction: errHeld.
func (d *drive) hold(ctx context.Context, reason string, known ...idempotency.Statement) error {
	d.engine.log.ErrorContext(ctx, "request is held for an operator", "flow", d.flow.name, "request", d.request.ID, "reason", reason)
	return d.layAside(ctx, Held, errHeld, append(known, idempotency.Hold(d.request, reason))...)
}

// How an attempt can end without an answer.
var (
	errLaidAside = errors.New("the request is parked")
	errHeld      = errors.New("the request is held")
	errLost      = errors.New("the database cannot be reached")
)

// layAside gives the request up, or finds that it was taken away.
func (d *drive) layAside(ctx context.Context, what What, as error, statements ...idempotency.Statement) error {
	err := d.send(ctx, statements)
	switch {
	case err == nil:
		d.happened(ctx, what)
		return as
	case postgres.Code(err) == idempotency.FenceCode:
		return idempotency.ErrOvertaken
	}
	// The lease runs out and the completer finds the row.
	return errors.Join(errLost, err)
}

// send runs statements in one packet and one transaction.
func (d *drive) send(ctx context.Context, statements []idempotency.Statement) error {
	batch := &pgx.Batch{}
	for _, s := range statements {
		batch.Queue(s.SQL, s.Args)
	}
	return d.engine.pool.SendBatch(ctx, batch).Close()
}
