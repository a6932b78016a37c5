package phase

import (
	"context"
	"errors"
)

// Observer is told what the engine does, for the log, for metrics and for traces.
// It changes nothing: the engine neither asks it nor waits for it.
type Observer interface {
	// Begin is told that a step begins. It returns the context in which the step
	// is taken, and what is called with the step's error at its end.
	Begin(ctx context.Context, s Step) (context.Context, func(error))
	// Happened is told what became of a request.
	Happened(ctx context.Context, h Happening)
}

// Step is a transaction or a foreign call that is about to be tried.
type Step struct {
	Flow      string
	RequestID string
	Point     string // the recovery point it is to reach
	Port      string // the other system; "" for a transaction
	Manner    Manner // how that one is asked
}

// Happening is a fact about a request.
type Happening struct {
	What      What
	Flow      string
	RequestID string
	Points    []string // of Committed: the recovery points that were passed
}

// What can happen to a request.
type What string

const (
	Committed     What = "committed"       // a transaction
	Retried       What = "retried"         // a transaction of which nothing remained is run again
	TakenByClient What = "taken_by_client" // a parked request, or a dead process's, is driven on by the client's retry
	TakenByWorker What = "taken_by_us"     // or by the completer
	FencedOff     What = "fenced_off"      // somebody took it from us: the fence refused our commit
	Parked        What = "parked"          // until it is due again
	Held          What = "held"            // for an operator
)

// watch tells the observer of a step.
func (d *drive) watch(ctx context.Context, s Step) (context.Context, func(error)) {
	s.Flow, s.RequestID = d.flow.name, d.request.ID
	return d.engine.observer.Begin(ctx, s)
}

// happened tells the observer what became of the request.
func (d *drive) happened(ctx context.Context, what What, points ...string) {
	d.engine.observer.Happened(ctx, Happening{What: what, Flow: d.flow.name, RequestID: d.request.ID, Points: points})
}

// unobserved is the observer of an engine that was given none.
type unobserved struct{}

func (unobserved) Begin(ctx context.Context, _ Step) (context.Context, func(error)) {
	return ctx, func(error) {}
}
func (unobserved) Happened(context.Context, Happening) {}

// Verdict is what a call's error proves, in a word: "answered", "not_sent",
// "never_happened", "reversed", "unused" or "unknown".
func Verdict(err error) string {
	var spent *unused
	switch {
	case err == nil:
		return "answered"
	case unsent(err):
		return "not_sent"
	case errors.Is(err, ErrNeverHappened):
		return "never_happened"
	case errors.Is(err, ErrReversed):
		return "reversed"
	case errors.As(err, &spent):
		return "unused"
	}
	return outcomeUnknown
}

// outcomeUnknown is the verdict on a call after which the other side may or may
// not have acted.
const outcomeUnknown = "unknown"
