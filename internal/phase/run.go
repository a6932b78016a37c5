package phase

import (
	"context"
	"encoding/json"
	"fmt"
)

// flow is a Flow of any types. It is how the engine keeps the flows it knows.
type flow interface {
	flowDefinition() *definition
	newRun() run
}

// run is a flow with the parameters and the state of one request: all that the
// engine needs of either. It keeps the types out of the engine, which is
// compiled once, without an assertion: runOf is the one implementation.
type run interface {
	flow
	// copy is the same run for another attempt: a check completes its own parameters.
	copy() run
	// verify runs the flow's check, which may complete the parameters.
	verify(ctx context.Context, db Reader, check Check) error
	// atomic runs an atomic phase, or the compensation behind the last phase.
	atomic(ctx context.Context, i int, tx *Tx) (Outcome, error)
	// foreign is a foreign phase, ready to be called.
	foreign(i int, connected adapters) func(context.Context, Permit) error
	encodeParams() (json.RawMessage, error)
	encodeState() (json.RawMessage, error)
	decode(params, state json.RawMessage) error
}

type runOf[P, S any] struct {
	*Flow[P, S]
	in    P
	state S
}

func (f *Flow[P, S]) flowDefinition() *definition { return &f.definition }

func (f *Flow[P, S]) newRun() run { return &runOf[P, S]{Flow: f} }

func (r *runOf[P, S]) copy() run {
	another := *r
	return &another
}

func (r *runOf[P, S]) verify(ctx context.Context, db Reader, check Check) error {
	if r.check == nil {
		return nil
	}
	return r.check(ctx, db, check, &r.in)
}

func (r *runOf[P, S]) atomic(ctx context.Context, i int, tx *Tx) (Outcome, error) {
	if i == len(r.phases) {
		return r.abandon(ctx, tx, r.in, &r.state)
	}
	return r.phases[i].atomic(ctx, tx, r.in, &r.state)
}

func (r *runOf[P, S]) foreign(i int, connected adapters) func(context.Context, Permit) error {
	return r.phases[i].bind(connected, r.in, &r.state)
}

func (r *runOf[P, S]) encodeParams() (json.RawMessage, error) {
	params, err := json.Marshal(r.in)
	if err != nil {
		return nil, fmt.Errorf("encode parameters of %s: %w", r.name, err)
	}
	return withoutNulls(params), nil
}

func (r *runOf[P, S]) encodeState() (json.RawMessage, error) {
	state, err := json.Marshal(&r.state)
	if err != nil {
		return nil, fmt.Errorf("encode state of %s: %w", r.name, err)
	}
	return state, nil
}

func (r *runOf[P, S]) decode(params, state json.RawMessage) error {
	if err := json.Unmarshal(params, &r.in); err != nil {
		return fmt.Errorf("its parameters cannot be decoded: %w", err)
	}
	if err := json.Unmarshal(state, &r.state); err != nil {
		return fmt.Errorf("its state cannot be decoded: %w", err)
	}
	return nil
}
