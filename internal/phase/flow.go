// Package phase drives a request from where it stands to finished.
//
// An operation is a table of phases, declared as data and read top to bottom.
// Each line is named for the recovery point it reaches, in the past tense:
//
//	var CreateCharge = phase.Define("charge.create", 1,
//		phase.Atomic(chargeRecorded, recordCharge),
//		phase.Foreign(acquirerAnswered, acquirer.Port, askAcquirer),
//		phase.Atomic(chargeSettled, settleCharge),
//	).AbandonUnsentAfter(10*time.Minute, abandonCharge)
//
// An atomic phase gets a transaction and no way to reach the network; a foreign
// phase gets a slip, permission for one keyed call, and no transaction.
// Neighbouring atomic phases share a transaction, the claim of the key folds
// into the first, and the answer of a foreign phase is written by the next:
//
//	commits = 1 + number of foreign barriers
//
// The first attempt, the client's retry and the completer all run the same
// table with the same function, drive.run. What a phase needs from an earlier
// one it finds in the typed state S, which travels in the request's row.
package phase

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Phase is one line of an operation. P is what the caller asked for, S what the
// phases tell each other.
type Phase[P, S any] struct{ line }

// line is a Phase as the engine drives it: in is a P and s a *S, which the
// compiler has seen to where the phase was declared. Without the types the engine
// is one piece of machine code, and not one for every operation.
type line struct {
	point  string
	atomic func(ctx context.Context, tx *Tx, in, s any) (Outcome, error)
	call   func(ctx context.Context, slip Slip, in, s any) error
	port   anyPort
}

// Atomic is a phase that runs inside the engine's transaction. It returns Next
// to go on or Reply to end the request. Outcomes commit, errors roll back: a
// declined card is an outcome, a lost connection an error. An *apierror.Error
// from the first transaction reaches the caller and stores nothing; any other
// error parks the request. It may run again after a roll-back, so it must not
// touch anything but the transaction and s.
func Atomic[P, S any](point string, run func(ctx context.Context, tx *Tx, in P, s *S) (Outcome, error)) Phase[P, S] {
	return Phase[P, S]{line{point: point, atomic: untyped(run)}}
}

// Foreign is a phase that asks another system, outside any transaction, through
// the port the slip opens. nil means answered, and the answer is in s; the
// errors it may return otherwise are in errors.go.
func Foreign[P, S, T any](point string, port Port[T], call func(ctx context.Context, slip Slip, in P, s *S) error) Phase[P, S] {
	return Phase[P, S]{line{point: point, port: port, call: func(ctx context.Context, slip Slip, in, s any) error {
		return call(ctx, slip, in.(P), s.(*S))
	}}}
}

func untyped[P, S any](run func(ctx context.Context, tx *Tx, in P, s *S) (Outcome, error)) func(ctx context.Context, tx *Tx, in, s any) (Outcome, error) {
	return func(ctx context.Context, tx *Tx, in, s any) (Outcome, error) { return run(ctx, tx, in.(P), s.(*S)) }
}

func recall[P any](params []byte) (any, error) {
	var in P
	err := json.Unmarshal(params, &in)
	return in, err
}

// Flow is an operation: its name, its version and its phases.
type Flow[P, S any] struct{ table }

// table is a Flow as the engine drives it. Its lines are those of the phases.
type table struct {
	name         string
	version      int16
	lines        []line
	recall       func(params []byte) (in any, err error) // what was asked for, from the request's row
	state        func() any                              // an empty one
	check        func(ctx context.Context, db Reader, caller Caller, in any) (completed any, err error)
	abandon      func(ctx context.Context, tx *Tx, in, s any) (Outcome, error)
	abandonAfter time.Duration
}

// Define declares an operation. It panics on a table that cannot keep the
// promises: one that starts with a foreign phase (its key would not be durable)
// or ends with one (its answer would not be written), or that reaches one point
// twice. Raise the version whenever the points change; both versions stay
// registered until no request stands on the old one.
func Define[P, S any](name string, version int16, phases ...Phase[P, S]) *Flow[P, S] {
	if len(phases) == 0 || phases[0].call != nil || phases[len(phases)-1].call != nil {
		panic(fmt.Sprintf("phase: %s must begin and end with an atomic phase", name))
	}
	taken := map[string]bool{abandoned: true}
	t := table{name: name, version: version, recall: recall[P], state: func() any { return new(S) }}
	for _, p := range phases {
		if taken[p.point] {
			panic(fmt.Sprintf("phase: %s reaches %q twice", name, p.point))
		}
		taken[p.point] = true
		t.lines = append(t.lines, p.line)
	}
	return &Flow[P, S]{t}
}

// Check adds what is verified before the key is claimed: that the objects the
// caller names exist, above all. It reads and may complete the parameters. What
// it refuses is not stored, and the key can be used again.
func (f *Flow[P, S]) Check(check func(ctx context.Context, db Reader, caller Caller, in *P) error) *Flow[P, S] {
	f.check = func(ctx context.Context, db Reader, caller Caller, in any) (any, error) {
		p := in.(P)
		err := check(ctx, db, caller, &p)
		return p, err
	}
	return f
}

// AbandonUnsentAfter gives the operation a way back. Work older than limit whose
// call turns out never to have reached the other side is not completed out of
// the blue, when nobody waits for it any more: the call is reversed, which makes
// a late packet harmless, and abandon writes the final answer. A request that
// came without a key is abandoned at any age: nobody can be asking for it.
func (f *Flow[P, S]) AbandonUnsentAfter(limit time.Duration, abandon func(ctx context.Context, tx *Tx, in P, s *S) (Outcome, error)) *Flow[P, S] {
	f.abandonAfter, f.abandon = limit, untyped(abandon)
	return f
}

// abandoned is the recovery point every operation with a way back can end on.
const abandoned = "abandoned"

// Name is the operation's name, such as "charge.create".
func (t *table) Name() string { return t.name }

// point is a recovery point as the points table has it.
type point struct {
	name, kind string
	ord        int16
}

func (t *table) points() []point {
	var points []point
	for i, p := range t.lines {
		kind := "atomic"
		if p.call != nil {
			kind = "foreign"
		}
		points = append(points, point{p.point, kind, int16(i + 1)})
	}
	if t.abandon != nil {
		points = append(points, point{abandoned, "abandoned", int16(len(t.lines) + 1)})
	}
	return points
}

// digest changes when the points do, so that a version cannot be edited in place
// while requests stand on it.
func (t *table) digest() string {
	sum := sha256.New()
	for _, p := range t.points() {
		fmt.Fprintf(sum, "%d %s %s\n", p.ord, p.kind, p.name)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// reached is how many phases lie behind a recovery point.
func (t *table) reached(point string) (int, error) {
	for i, p := range t.lines {
		if p.point == point {
			return i + 1, nil
		}
	}
	return 0, fmt.Errorf("%s version %d has no recovery point %q", t.name, t.version, point)
}
