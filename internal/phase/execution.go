package phase

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// execution is one attempt at a request. Everything in it but the clock is either
// in the request's row or can be computed from it again.
type execution struct {
	run
	definition *definition
	engine     *Engine
	request    *idempotency.Request

	claimed       bool // the row exists
	reached       int  // how many phases lie behind us
	calls         []idempotency.ForeignCall
	clientWaiting bool
	release       func() // gives the slot for new work back; nil if there is none

	answered []string // phases answered since the last commit
	reversed []string // phases reversed since the last commit
	retries  int      // of the transaction that is next
	replayed bool     // the response is that of the process that overtook us

	started time.Time // on this machine's clock, when now was read
	now     time.Time // on the database's clock, when the attempt began
}

// execute goes from the recovery point that the request has reached to its
// response: the loop over the table. Each turn commits the atomic phases up to the
// next foreign one, or makes the call of a foreign phase.
func (x *execution) execute(ctx context.Context) (Response, error) {
	defer x.engine.executions.begin(x.request.ID)()
	var response *idempotency.StoredResponse
	err := x.load(ctx)
	for response == nil && err == nil {
		if x.definition.isForeign(x.reached) {
			err = x.call(ctx)
			continue
		}
		response, err = x.commit(ctx)
		if x.retryable(ctx, err) {
			err = nil
		}
	}
	return x.conclude(ctx, response, err)
}

// commit runs the atomic phases up to the next foreign one in one transaction,
// with everything the engine has to store. It returns the response if they end
// the request. A panic in a phase is an error like any other: the transaction is
// rolled back, and the process lives.
func (x *execution) commit(ctx context.Context) (response *idempotency.StoredResponse, err error) {
	endTurn, err := x.engine.turns.Enter(ctx, x.request.AccountID)
	if err != nil {
		return nil, err
	}
	defer endTurn()
	end := x.definition.barrier(x.reached)
	ctx, done := x.watch(ctx, Step{Point: x.definition.points[end-1].name})
	defer func() { done(err) }()
	tx := x.begin()
	defer func() {
		if panicked := recover(); panicked != nil {
			err = x.panicked(ctx, x.definition.name, panicked)
		}
		if err != nil {
			tx.rollback(ctx)
		}
	}()
	step, outcome := x.step(), Next
	for i := x.reached; i < end && !outcome.final; i++ {
		if outcome, err = x.atomic(ctx, i, tx); err != nil {
			return nil, err
		}
		step.Points, step.Position = append(step.Points, x.definition.points[i].name), int16(i+1)
	}
	if err = x.complete(tx, step, outcome); err != nil {
		return nil, err
	}
	if err = x.store(ctx, tx, step); err != nil {
		return nil, err
	}
	x.claimed, x.reached, x.answered, x.reversed, x.retries = true, int(step.Position), nil, nil, 0
	x.request.Point, x.calls = step.Points[len(step.Points)-1], step.Calls
	x.observe(ctx, Committed, step.Points...)
	return step.Finish, nil
}

// retryable says whether a failed transaction may run again: a deadlock's victim,
// or one that was lost with its connection. Nothing of it remains, and nothing
// foreign happened inside it.
func (x *execution) retryable(ctx context.Context, err error) bool {
	if !postgres.IsRetryable(err) && !errors.Is(err, errNotCommitted) || x.retries == maxRetries {
		return false
	}
	x.retries++
	x.observe(ctx, Retried)
	return true
}

// maxRetries bounds how often a transaction of which nothing remains runs again.
const maxRetries = 5

// errNotCommitted means that a transaction is known not to have happened.
var errNotCommitted = errors.New("the transaction was not committed")

func (x *execution) begin() *Tx {
	tx := &Tx{
		Caller:    x.caller(),
		pool:      x.engine.writes,
		committer: x.engine.committer,
		roots:     x.engine.roots,
		now:       x.databaseTime(),
		callKey:   x.callKey,
	}
	if x.claimed {
		fence := idempotency.Fence(x.request)
		tx.fence = &fence
	}
	return tx
}

// databaseTime is the database's clock, as far as we can tell without asking:
// what it said when the attempt began, and the time that has passed here since.
func (x *execution) databaseTime() time.Time { return x.now.Add(time.Since(x.started)) }

func (x *execution) caller() Caller {
	r := x.request
	c := Caller{AccountID: r.AccountID, Livemode: r.Livemode, RequestID: r.ID, Key: r.Key, Caller: r.Caller}
	if r.KeyGenerated {
		c.Key = ""
	}
	return c
}

// step begins what a transaction stores of the request: the foreign phases that
// have been answered since the last one, to begin with.
func (x *execution) step() *idempotency.Step {
	return &idempotency.Step{From: x.request.Point, Points: append([]string(nil), x.answered...), Owner: x.engine.owner,
		Retention: x.engine.retain, Answered: x.answered, Undone: x.reversed}
}

// complete gives a step the response its phases came to, or what the next ones
// need: the state, and the calls that are made next.
func (x *execution) complete(tx *Tx, step *idempotency.Step, outcome Outcome) (err error) {
	if outcome.final {
		if step.Finish, err = x.encodeResponse(outcome); err != nil {
			return err
		}
		x.engine.record(tx, x.request, step.Finish)
		return nil
	}
	if int(step.Position) >= x.definition.phaseCount {
		return fmt.Errorf("%s ends without a response", x.definition.name)
	}
	step.Calls = x.announce(int(step.Position))
	step.StateData, err = x.encodeState()
	return err
}

// encodeResponse turns an outcome into the bytes that are stored, sent and replayed.
func (x *execution) encodeResponse(o Outcome) (*idempotency.StoredResponse, error) {
	body, err := x.engine.encode(o.body)
	if err != nil {
		return nil, fmt.Errorf("encode response of %s: %w", x.definition.name, err)
	}
	headers := map[string]string{"Content-Type": "application/json"}
	for name, value := range x.engine.headers(x.caller()) {
		headers[name] = value
	}
	return &idempotency.StoredResponse{Status: o.status, Headers: headers, Body: body, ObjectID: o.objectID}, nil
}

// announce lists the calls that come next, each under its derived key. They are
// committed before any of them is made.
func (x *execution) announce(from int) []idempotency.ForeignCall {
	var calls []idempotency.ForeignCall
	for i := from; x.definition.isForeign(i); i++ {
		name := x.definition.points[i].name
		calls = append(calls, idempotency.ForeignCall{Phase: name, Generation: 1, SentAt: x.databaseTime(),
			Key: x.callKey(name)})
	}
	return calls
}

// callKey is the key under which a foreign phase of this request is called first.
func (x *execution) callKey(name string) string {
	return idempotency.DeriveKey(x.engine.secret, x.request, name, 1)
}

// store commits a step. The first one claims the key, the others are fenced.
func (x *execution) store(ctx context.Context, tx *Tx, step *idempotency.Step) error {
	engine := idempotency.Advance(x.request, step, tx.now)
	if !x.claimed {
		x.request.Point = step.Points[len(step.Points)-1]
		x.request.StateData = step.StateData
		engine = idempotency.Claim(x.request, step, tx.now)
	}
	err := tx.commit(ctx, x.key(), engine)
	switch {
	case err == nil:
		return nil
	case postgres.Code(err) == idempotency.FenceCode:
		return idempotency.ErrOvertaken
	case postgres.IsUniqueViolation(err, "requests_key_is_used_once"):
		return errTaken
	case postgres.IsUniqueViolation(err, "requests_pkey"):
		x.engine.doubt() // our own insert, whose acknowledgment was lost: nothing executes it
		return errTaken
	case errors.Is(err, errQueued):
		return err
	case postgres.ConnectionLost(err):
		return x.resolveCommit(ctx, step, err)
	}
	return fmt.Errorf("commit %s of %s: %w", step.Points, x.definition.name, err)
}

// resolveCommit finds out whether a commit whose acknowledgment was lost happened,
// by locking the request's row (a read might show what a failover then undoes).
func (x *execution) resolveCommit(ctx context.Context, step *idempotency.Step, lost error) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	at, err := idempotency.ResolveCommit(ctx, x.engine.writes, x.key())
	if err != nil {
		return errors.Join(errLost, lost, err)
	}
	reached := step.Points[len(step.Points)-1]
	switch {
	case at == nil:
		// Our insert may still be under way in a server process that has not
		// noticed yet: the next one waits for it in the unique constraint. If it
		// commits, nothing executes it.
		x.engine.doubt()
		return errors.Join(errTaken, lost)
	case at.ID != x.request.ID:
		return errTaken
	case at.Epoch != x.request.Epoch:
		return idempotency.ErrOvertaken
	case at.Point == reached:
		return nil // it happened
	}
	return errors.Join(errNotCommitted, lost)
}

func (x *execution) key() idempotency.Key {
	return idempotency.Key{AccountID: x.request.AccountID, Livemode: x.request.Livemode, Key: x.request.Key}
}

// load prepares a request that was taken over. A new one has nothing to load.
func (x *execution) load(ctx context.Context) (err error) {
	if !x.claimed {
		return nil
	}
	if err = x.decode(x.request.Params, x.request.StateData); err == nil {
		x.reached, err = x.definition.reached(x.request.Point)
	}
	if err != nil {
		return x.hold(ctx, err.Error())
	}
	if x.request.Attempts >= maxAttempts {
		// No attempt has parked it: every process died over it. One more would die, too.
		return x.hold(ctx,
			fmt.Sprintf("no outcome after %d attempts, the last of which did not end", x.request.Attempts))
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if x.calls, err = idempotency.OpenCalls(ctx, x.engine.pool, x.request); err != nil {
		return errors.Join(errLost, err)
	}
	return nil
}

// panicked logs a panic in a phase and returns it as an error.
func (x *execution) panicked(ctx context.Context, where string, panicked any) error {
	x.engine.log.ErrorContext(ctx, "panic in a phase", "flow", x.definition.name, "request", x.request.ID,
		"panic", panicked, "stack", string(debug.Stack()))
	return fmt.Errorf("panic in %s: %v", where, panicked)
}
