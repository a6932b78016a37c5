package phase

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
)

// Phase is one line of an operation. P is what the caller asked for, S what the
// phases tell each other.
type Phase[P, S any] struct {
	point
	atomic func(ctx context.Context, tx *Tx, in P, s *S) (Outcome, error)
	bind   func(connected adapters, in P, s *S) func(context.Context, Permit) error
}

// point is a recovery point as the points table has it, with the port of a foreign phase.
type point struct {
	name, kind   string
	port         string
	keyRetention time.Duration
	connected    func(adapters) error
}

// The kinds of recovery point.
const (
	atomicPoint    = "atomic"
	foreignPoint   = "foreign"
	abandonedPoint = "abandoned"
)

// Atomic is a phase that runs inside the engine's transaction. It returns Next
// to go on or Reply to end the request. Outcomes commit, errors roll back: a
// declined card is an outcome, a lost connection an error. An error from the
// first transaction reaches the caller and stores nothing; a later one parks the
// request. The phase may run again after a rollback, so it must not touch
// anything but the transaction and s.
func Atomic[P, S any](name string, run func(ctx context.Context, tx *Tx, in P, s *S) (Outcome, error)) Phase[P, S] {
	return Phase[P, S]{point: point{name: name, kind: atomicPoint}, atomic: run}
}

// Foreign is a phase that calls another system, outside any transaction, through
// the adapter of its port. nil means answered, and the answer is in s. errors.go
// lists the other errors it may return.
func Foreign[P, S, T any](name string, port Port[T],
	run func(ctx context.Context, call ForeignCall[T], in P, s *S) error) Phase[P, S] {
	return Phase[P, S]{
		point: point{name: name, kind: foreignPoint, port: port.name, keyRetention: port.keyRetention,
			connected: func(connected adapters) error { _, err := port.adapter(connected); return err }},
		bind: func(connected adapters, in P, s *S) func(context.Context, Permit) error {
			to, unconnected := port.adapter(connected)
			return func(ctx context.Context, permit Permit) error {
				if unconnected != nil {
					return NotSent(unconnected)
				}
				return run(ctx, ForeignCall[T]{permit, to}, in, s)
			}
		},
	}
}

// Flow is an operation: its name, its version and its phases.
type Flow[P, S any] struct {
	definition
	phases  []Phase[P, S]
	check   func(ctx context.Context, db Reader, check Check, in *P) error
	abandon func(ctx context.Context, tx *Tx, in P, s *S) (Outcome, error)
}

// definition is what of a flow does not depend on its types.
type definition struct {
	name         string
	version      int16
	points       []point // in order; with compensation, one more than there are phases
	phaseCount   int
	abandonAfter time.Duration
}

// Define declares an operation. It panics on a table that cannot keep the
// promises: one that starts with a foreign phase (its key would not be durable)
// or ends with one (its answer would not be stored), or that reaches one point
// twice. Raise the version whenever the points change; both versions stay
// registered until no request uses the old one.
func Define[P, S any](name string, version int16, phases ...Phase[P, S]) *Flow[P, S] {
	if len(phases) == 0 || phases[0].kind == foreignPoint || phases[len(phases)-1].kind == foreignPoint {
		panic(fmt.Sprintf("phase: %s must begin and end with an atomic phase", name))
	}
	f := &Flow[P, S]{definition: definition{name: name, version: version, phaseCount: len(phases)}, phases: phases}
	taken := map[string]bool{abandonedPoint: true}
	for _, p := range phases {
		if taken[p.name] {
			panic(fmt.Sprintf("phase: %s reaches %q twice", name, p.name))
		}
		taken[p.name] = true
		f.points = append(f.points, p.point)
	}
	return f
}

// Check adds what is verified before the key is claimed: that the objects the
// caller names exist, above all. It reads and may complete the parameters. What
// it refuses is not stored, and the key can be used again.
func (f *Flow[P, S]) Check(check func(ctx context.Context, db Reader, check Check, in *P) error) *Flow[P, S] {
	f.check = check
	return f
}

// AbandonUnsentAfter gives the operation a compensation. A call older than limit
// that turns out never to have reached the other system is not sent any more,
// because no client waits for it: the engine reverses it, which makes a late
// packet harmless, and abandon writes the final response. A request that came
// without a key is abandoned at any age: no client can ask for it again.
func (f *Flow[P, S]) AbandonUnsentAfter(limit time.Duration,
	abandon func(ctx context.Context, tx *Tx, in P, s *S) (Outcome, error)) *Flow[P, S] {
	f.abandonAfter, f.abandon = limit, abandon
	f.points = append(f.points[:f.phaseCount:f.phaseCount], point{name: abandonedPoint, kind: abandonedPoint})
	return f
}

// Name is the operation's name, such as "charge.create".
func (d *definition) Name() string { return d.name }

func (d *definition) key() idempotency.FlowVersion {
	return idempotency.FlowVersion{Flow: d.name, Version: d.version}
}

// compensable says whether the flow has a compensation. Its point follows those
// of the phases.
func (d *definition) compensable() bool { return len(d.points) > d.phaseCount }

// isForeign says whether the phase that reaches a point calls another system.
func (d *definition) isForeign(i int) bool { return d.points[i].kind == foreignPoint }

// barrier is the first foreign phase at or after i, or the end of the table:
// the atomic phases up to there share a transaction.
func (d *definition) barrier(i int) int {
	end := d.phaseCount
	if i == d.phaseCount {
		end = len(d.points) // the compensation
	}
	for i < end && !d.isForeign(i) {
		i++
	}
	return i
}

// digest changes when the points do, so that a version cannot be edited in place
// while requests stand on it.
func (d *definition) digest() string {
	sum := sha256.New()
	for i, p := range d.points {
		fmt.Fprintf(sum, "%d %s %s\n", i+1, p.kind, p.name)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// reached is how many phases lie behind a recovery point.
func (d *definition) reached(name string) (int, error) {
	for i, p := range d.points[:d.phaseCount] {
		if p.name == name {
			return i + 1, nil
		}
	}
	return 0, fmt.Errorf("%s version %d has no recovery point %q", d.name, d.version, name)
}
