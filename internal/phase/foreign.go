package phase

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
)

// call makes the call of the foreign phase that is next, outside any transaction,
// or suspends the request. The transaction that follows stores the answer.
func (x *execution) call(ctx context.Context) error {
	if x.release != nil {
		x.release() // the database has nothing to do for us while we wait
	}
	p := x.definition.points[x.reached]
	call := x.announced(p.name)
	if call.Retired {
		return x.nextGeneration(ctx, call) // an operator has had it tried again
	}
	mode, pastRetention := Send, x.databaseTime().Sub(call.SentAt) > p.keyRetention
	if pastRetention || x.abandoned() {
		mode = Lookup
	}
	err := x.send(ctx, call, mode)
	if mode == Send && unknown(err) && time.Since(x.started) < secondCallWithin {
		// Perhaps only the answer was lost. The same key cannot act twice. That the
		// second call could not be sent says nothing about the first.
		if again := x.send(ctx, call, mode); !unsent(again) {
			err = again
		}
	}
	if errors.Is(err, ErrNotExecuted) && !pastRetention {
		mode = Reverse // a call that never arrived must not arrive any more
		err = x.send(ctx, call, mode)
	}
	var retired *keyRetired
	switch {
	case errors.Is(err, ErrReversed):
		x.reversed = append(x.reversed, p.name)
		return x.compensate(ctx)
	case mode == Reverse:
		return x.parkCall(ctx, cmp.Or(err, fmt.Errorf("%s did not confirm the reversal", p.port)))
	case err == nil:
		x.answered = append(x.answered, p.name)
		x.reached++
		return nil
	case errors.Is(err, ErrNotExecuted):
		return x.hold(ctx, fmt.Sprintf("%s was called %s ago and may have forgotten the key: "+
			"whether it acted cannot be proven", p.port, x.databaseTime().Sub(call.SentAt).Round(time.Second)))
	case errors.As(err, &retired):
		return x.retire(ctx, call, retired)
	}
	return x.parkCall(ctx, err)
}

// abandoned says that no client can be waiting for this work any more, so that it
// is only finished if the call has already been executed.
func (x *execution) abandoned() bool {
	if !x.definition.compensable() || x.clientWaiting {
		return false
	}
	return x.request.KeyGenerated || x.databaseTime().Sub(x.request.CreatedAt) > x.definition.abandonAfter
}

// send makes one call under its key. A panic in the phase is an unknown outcome.
func (x *execution) send(ctx context.Context, call idempotency.ForeignCall, mode Mode) (err error) {
	p := x.definition.points[x.reached]
	ctx, done := x.watch(ctx, Step{Point: p.name, Port: p.port, Mode: mode})
	defer func() { done(err) }()
	defer func() {
		if panicked := recover(); panicked != nil {
			err = x.panicked(ctx, p.name, panicked)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	deadline, _ := ctx.Deadline()
	phase := x.foreign(x.reached, x.engine.adapters)
	return phase(ctx, Permit{key: call.Key, mode: mode, deadline: deadline})
}

// unknown says that the other system may or may not have acted.
func unknown(err error) bool { return CallOutcome(err) == outcomeUnknown }

func unsent(err error) bool {
	var n *notSent
	return errors.As(err, &n)
}

func (x *execution) announced(name string) idempotency.ForeignCall {
	for _, call := range x.calls {
		if call.Phase == name {
			return call
		}
	}
	// Every transaction in front of a foreign phase announces its calls, and the
	// request's row cannot stand here without one.
	panic(fmt.Sprintf("phase: %s of %s was not announced", name, x.request.ID))
}

// retire stores the proof that a key did nothing and calls under the next one,
// unless there have been too many: then an operator has to see what is wrong with
// the other system. Since the proof is kept, the next key may be used as soon as
// that operator says so.
func (x *execution) retire(ctx context.Context, call idempotency.ForeignCall, proof error) error {
	retired := idempotency.Retire(x.request, call.Phase, proof.Error())
	if call.Generation%maxGenerations == 0 {
		reason := fmt.Sprintf("%s refused %d keys in a row: %v", x.definition.points[x.reached].port, maxGenerations,
			proof)
		return x.hold(ctx, reason, idempotency.Fence(x.request), retired)
	}
	return x.nextGeneration(ctx, call, retired)
}

// nextGeneration announces the key after a retired one. The next turn of execute
// calls under it.
func (x *execution) nextGeneration(ctx context.Context, retired idempotency.ForeignCall,
	proof ...idempotency.Statement) error {
	next := idempotency.ForeignCall{Phase: retired.Phase, Generation: retired.Generation + 1, SentAt: x.databaseTime()}
	next.Key = idempotency.DeriveKey(x.engine.secret, x.request, next.Phase, next.Generation)
	statements := append([]idempotency.Statement{idempotency.Fence(x.request)}, proof...)
	statements = append(statements, idempotency.Announce(x.request, next))
	if err := send(ctx, x.engine.writes, statements); err != nil {
		return fmt.Errorf("store the next generation of %s: %w", next.Phase, err)
	}
	for i := range x.calls {
		if x.calls[i].Phase == next.Phase {
			x.calls[i] = next
		}
	}
	return nil
}

// maxGenerations bounds how often a port may declare a key retired before an
// operator is asked, and how often again each time that operator has it tried again.
const maxGenerations = 5

// compensate goes on with the compensation, which writes the final response of
// work that was reversed.
func (x *execution) compensate(ctx context.Context) error {
	if !x.definition.compensable() {
		return x.hold(ctx, "the other system reversed the call, and "+x.definition.name+" has no compensation")
	}
	x.reached = x.definition.phaseCount
	return nil
}

// parkCall parks the request after a call whose outcome is not known, or that
// could not be made. Waiting for an open breaker burns no attempts.
func (x *execution) parkCall(ctx context.Context, cause error) error {
	sent := !unsent(cause)
	x.engine.log.WarnContext(ctx, "request is parked", "flow", x.definition.name, "request", x.request.ID,
		"point", x.request.Point, "attempts", x.request.Attempts, "sent", sent, "cause", cause)
	return x.park(ctx, cause, sent)
}
