package phase

import (
	"context"
	"errors"
)

// Observer receives what the engine does, for the log, for metrics and for traces.
// It cannot change what the engine does.
type Observer interface {
	// Begin is called when a step begins. It returns the context for the step, and
	// a function that the engine calls with the step's error at its end.
	Begin(ctx context.Context, s Step) (context.Context, func(error))
	// Observe receives what became of a request.
	Observe(ctx context.Context, e Event)
}

// Step is a transaction or a foreign call that is about to be tried.
type Step struct {
	Flow      string
	RequestID string
	Point     string // the recovery point it is to reach
	Port      string // the other system; "" for a transaction
	Mode      Mode   // how that one is called
}

// Event is something that became of a request.
type Event struct {
	Kind      EventKind
	Flow      string
	RequestID string
	Points    []string // of Committed: the recovery points that were reached
}

// EventKind is what can become of a request.
type EventKind string

const (
	Committed     EventKind = "committed"       // a transaction
	Retried       EventKind = "retried"         // a transaction of which nothing remained is run again
	TakenByClient EventKind = "taken_by_client" // the client's retry took over a parked request, or a dead process's
	TakenByWorker EventKind = "taken_by_worker" // or the completer did
	FencedOff     EventKind = "fenced_off"      // another process took it over: the fence refused our commit
	Parked        EventKind = "parked"          // until it is due again
	Held          EventKind = "held"            // for an operator
)

// watch reports a step to the observer.
func (x *execution) watch(ctx context.Context, s Step) (context.Context, func(error)) {
	s.Flow, s.RequestID = x.definition.name, x.request.ID
	return x.engine.observer.Begin(ctx, s)
}

// observe reports to the observer what became of the request.
func (x *execution) observe(ctx context.Context, kind EventKind, points ...string) {
	x.engine.observer.Observe(ctx, Event{Kind: kind, Flow: x.definition.name, RequestID: x.request.ID, Points: points})
}

// unobserved is the observer of an engine that has none.
type unobserved struct{}

// Begin measures nothing.
func (unobserved) Begin(ctx context.Context, _ Step) (context.Context, func(error)) {
	return ctx, func(error) {}
}
func (unobserved) Observe(context.Context, Event) {}

// CallOutcome is what a call's error proves, in a word: "answered", "not_sent",
// "not_executed", "reversed", "key_retired" or "unknown".
func CallOutcome(err error) string {
	var retired *keyRetired
	switch {
	case err == nil:
		return "answered"
	case unsent(err):
		return "not_sent"
	case errors.Is(err, ErrNotExecuted):
		return "not_executed"
	case errors.Is(err, ErrReversed):
		return "reversed"
	case errors.As(err, &retired):
		return "key_retired"
	}
	return outcomeUnknown
}

// outcomeUnknown is the outcome of a call after which the other system may or may
// not have acted.
const outcomeUnknown = "unknown"
