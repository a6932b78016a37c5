package phase

import (
	"time"
)

// Slip is permission to ask another system once, under one key. Only the engine
// can make one: it has written the key down, and committed it, before the slip
// exists. A foreign phase receives a slip and no transaction, an atomic phase a
// transaction and no slip, so a network call inside a transaction does not compile.
type Slip struct {
	key    string
	manner Manner
	port   any
}

// Key is what the other system is asked under: the same on the first attempt,
// on the client's retry, on the completer's and after a fail-over that lost the
// last milliseconds.
func (s Slip) Key() string { return s.key }

// Manner says how the other system may be asked.
func (s Slip) Manner() Manner { return s.manner }

// Manner is how a foreign call is made. An adapter honours all three.
type Manner int

const (
	// Ask does the thing, or returns what it did the first time under this key.
	Ask Manner = iota
	// LookUp only reads what was done under this key: ErrNeverHappened if nothing was.
	LookUp
	// Reverse undoes what was done under this key. If nothing was, it leaves a
	// tombstone there, so that a late packet under the key is refused.
	Reverse
)

func (m Manner) String() string { return [...]string{"ask", "look up", "reverse"}[m] }

// Port is another system that foreign phases can reach, declared once beside its
// adapter. T is the adapter's interface; the engine is given the implementation
// by Connect and hands it over with each slip.
type Port[T any] struct {
	name   string
	memory time.Duration
}

// NewPort declares a port. memory is how long the other system remembers a key:
// once a call is older than that it is only ever looked up, never sent again.
func NewPort[T any](name string, memory time.Duration) Port[T] {
	return Port[T]{name: name, memory: memory}
}

// Dial returns the adapter that the slip permits to use.
func (p Port[T]) Dial(s Slip) T { return s.port.(T) }

func (p Port[T]) portName() string          { return p.name }
func (p Port[T]) portMemory() time.Duration { return p.memory }

// anyPort is a Port whose adapter type does not matter.
type anyPort interface {
	portName() string
	portMemory() time.Duration
}
