package phase

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
)

// foreigns makes the calls in front of us, outside any transaction. What they
// answer is written by the transaction that follows.
func (d *drive) foreigns(ctx context.Context) (*idempotency.Answer, error) {
	if d.leave != nil {
		d.leave() // the database has nothing to do for us while we wait
	}
	for d.flow.lines[d.reached].call != nil {
		p := d.flow.lines[d.reached]
		err := d.ask(ctx, p)
		switch {
		case errors.Is(err, ErrReversed):
			d.undone = append(d.undone, p.point)
			return d.turnBack(ctx)
		case err != nil:
			return nil, err
		}
		d.answered = append(d.answered, p.point)
		d.reached++
	}
	return nil, nil
}

// ask gets one call answered, or lays the request aside.
func (d *drive) ask(ctx context.Context, p line) error {
	call := d.callFor(p)
	if call.Spent {
		return d.nextGeneration(ctx, p, call) // a person has had it tried again
	}
	manner := Ask
	forgotten := d.databaseTime().Sub(call.AskedAt) > p.port.portMemory()
	if forgotten || d.givenUp() {
		manner = LookUp
	}
	err := d.call(ctx, p, call, manner)
	if manner == Ask && unknown(err) && time.Since(d.started) < secondAskWithin {
		// The answer may just have been lost. The same key cannot act twice. That the
		// second question could not be sent says nothing about the first.
		if again := d.call(ctx, p, call, manner); !unsent(again) {
			err = again
		}
	}
	var never *unused
	switch {
	case err == nil, errors.Is(err, ErrReversed):
		return err
	case errors.Is(err, ErrNeverHappened) && forgotten:
		return d.hold(ctx, fmt.Sprintf("%s was asked %s ago and may have forgotten: whether it acted cannot be proven", p.port.portName(), d.databaseTime().Sub(call.AskedAt).Round(time.Second)))
	case errors.Is(err, ErrNeverHappened):
		return d.reverse(ctx, p, call)
	case errors.As(err, &never):
		return d.spend(ctx, p, call, never)
	}
	return d.parkFor(ctx, err)
}

// givenUp says that nobody can be waiting for this work any more, so that it is
// only finished if it has already happened.
func (d *drive) givenUp() bool {
	if d.flow.abandon == nil || d.patient {
		return false
	}
	return d.request.Keyless || d.databaseTime().Sub(d.request.CreatedAt) > d.flow.abandonAfter
}

// reverse makes sure that a call which never arrived cannot arrive any more.
func (d *drive) reverse(ctx context.Context, p line, call idempotency.Call) error {
	err := d.call(ctx, p, call, Reverse)
	if errors.Is(err, ErrReversed) {
		return err
	}
	if err == nil {
		err = fmt.Errorf("%s answered a reversal with something else", p.port.portName())
	}
	return d.parkFor(ctx, err)
}

// call makes one call under its slip. A panic in the phase is an unknown outcome.
func (d *drive) call(ctx context.Context, p line, call idempotency.Call, manner Manner) (err error) {
	ctx, done := d.watch(ctx, Step{Point: p.point, Port: p.port.portName(), Manner: manner})
	defer func() { done(err) }()
	defer func() {
		if panicked := recover(); panicked != nil {
			d.engine.log.ErrorContext(ctx, "panic in a foreign phase", "flow", d.flow.name, "request", d.request.ID, "panic", panicked, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic in %s: %v", p.point, panicked)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	slip := Slip{key: call.Key, manner: manner, port: d.engine.ports[p.port.portName()]}
	return p.call(ctx, slip, d.in, d.state)
}

// unknown says that the other side may or may not have acted.
func unknown(err error) bool { return Verdict(err) == outcomeUnknown }

func unsent(err error) bool {
	var n *notSent
	return errors.As(err, &n)
}

func (d *drive) callFor(p line) idempotency.Call {
	for _, call := range d.calls {
		if call.Phase == p.point {
			return call
		}
	}
	// Every transaction in front of a foreign phase announces its calls, and the
	// request's row cannot stand here without one.
	panic(fmt.Sprintf("phase: %s of %s was not announced", p.point, d.request.ID))
}

// spend writes down the proof that a key did nothing and asks under the next one,
// unless there have been too many: then a person has to see what is wrong with
// the other side. Since the proof is kept, the next one may be asked under as
// soon as that person says so.
func (d *drive) spend(ctx context.Context, p line, call idempotency.Call, proof error) error {
	spent := idempotency.Spend(d.request, p.point, proof.Error())
	if call.Generation%maxGenerations == 0 {
		return d.hold(ctx, fmt.Sprintf("%s refused %d keys in a row: %v", p.port.portName(), maxGenerations, proof), idempotency.Fence(d.request), spent)
	}
	return d.nextGeneration(ctx, p, call, spent)
}

// nextGeneration announces the key after a spent one and asks under it.
func (d *drive) nextGeneration(ctx context.Context, p line, spent idempotency.Call, known ...idempotency.Statement) error {
	next := idempotency.Call{Phase: p.point, Generation: spent.Generation + 1, AskedAt: d.databaseTime()}
	next.Key = idempotency.DeriveKey(d.engine.secret, d.request, p.point, next.Generation)
	statements := append([]idempotency.Statement{idempotency.Fence(d.request)}, append(known, idempotency.Announce(d.request, next))...)
	if err := d.send(ctx, statements); err != nil {
		return fmt.Errorf("write the next generation of %s: %w", p.point, err)
	}
	for i := range d.calls {
		if d.calls[i].Phase == p.point {
			d.calls[i] = next
		}
	}
	return d.ask(ctx, p)
}

// maxGenerations bounds how often a port may declare a key spent before a person
// is asked, and how often again each time that person has it tried again.
const maxGenerations = 5

// turnBack writes the final answer of work that was given up.
func (d *drive) turnBack(ctx context.Context) (*idempotency.Answer, error) {
	if d.flow.abandon == nil {
		return nil, d.hold(ctx, "the other side reversed the call, and "+d.flow.name+" has no way back")
	}
	way := []line{{point: abandoned, atomic: d.flow.abandon}}
	return d.transact(ctx, way, len(d.flow.lines))
}

// parkFor lays the request aside after a call whose outcome is not known, or
// that could not be made. Waiting for an open breaker burns no attempts.
func (d *drive) parkFor(ctx context.Context, cause error) error {
	sent := !unsent(cause)
	d.engine.log.WarnContext(ctx, "request is parked", "flow", d.flow.name, "request", d.request.ID, "point", d.request.Point,
		"attempts", d.request.Attempts, "sent", sent, "cause", cause)
	return d.park(ctx, cause, sent)
}
