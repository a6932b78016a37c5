package phase

import (
	"fmt"
	"time"

	"github.com/ratchet-pay/ratchet/internal/phase/internal/testonly"
)

// Permit is permission to call another system once, under one key. Only the
// engine can make one, and it has committed the key before. An adapter takes a
// Permit with each call and honors all three modes.
type Permit struct {
	key      string
	mode     Mode
	deadline time.Time
}

// PermitForTest is a permit that no engine made, for the test of an adapter. Call
// package phasetest instead: no other package can construct the first argument.
func PermitForTest(_ testonly.Caller, key string, mode Mode, deadline time.Time) Permit {
	return Permit{key: key, mode: mode, deadline: deadline}
}

// Key is the idempotency key for the other system: the same on the first
// attempt, on the client's retry, on the completer's, and after a failover that
// lost the last transactions.
func (p Permit) Key() string { return p.key }

// Mode says how the other system may be called.
func (p Permit) Mode() Mode { return p.mode }

// Deadline is when the engine stops waiting for the answer. The context of the
// phase ends at the same time.
func (p Permit) Deadline() time.Time { return p.deadline }

// ForeignCall is what a foreign phase receives: a Permit, and the adapter of the
// phase's port to use it with. An atomic phase receives a Tx and no ForeignCall,
// so a network call inside a transaction does not compile.
type ForeignCall[T any] struct {
	Permit
	to T
}

// To is the adapter that was connected to the port.
func (c ForeignCall[T]) To() T { return c.to }

// Mode is how a foreign call is made.
type Mode int

const (
	// Send does the thing, or returns what it did the first time under this key.
	Send Mode = iota
	// Lookup only reads what was done under this key: ErrNotExecuted if nothing was.
	Lookup
	// Reverse undoes what was done under this key. If nothing was, it leaves a
	// tombstone there, so that a late packet under the key is refused.
	Reverse
)

// String is the mode as logs, traces and the table foreign_calls name it.
func (m Mode) String() string { return [...]string{"send", "lookup", "reverse"}[m] }

// Port is another system that foreign phases can reach, declared once beside its
// adapter. T is the adapter's interface; Connect gives an engine the adapter.
type Port[T any] struct {
	name         string
	keyRetention time.Duration
}

// NewPort declares a port. keyRetention is how long the other system remembers a
// key. A call that is older than that is only looked up, never sent again.
func NewPort[T any](name string, keyRetention time.Duration) Port[T] {
	return Port[T]{name: name, keyRetention: keyRetention}
}

// adapters are what has been connected, by the name of the port.
type adapters map[string]any

// adapter returns what was connected to the port. It fails if nothing was:
// Register checks that once for each flow, so no request can run into it.
func (p Port[T]) adapter(connected adapters) (T, error) {
	adapter, is := connected[p.name].(T)
	if !is {
		return adapter, fmt.Errorf("port %q is not connected", p.name)
	}
	return adapter, nil
}
