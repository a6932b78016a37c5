package phase

import "errors"

// What a foreign phase may say, besides nil (answered). Every other error means
// unknown: the other side may or may not have acted, and only it can tell.
var (
	// ErrNeverHappened answers a slip whose manner is LookUp: nothing was done
	// under its key. A key that failed for good answers Unused to a look-up as well:
	// something may have been done under the next one.
	ErrNeverHappened = errors.New("nothing was done under this key")

	// ErrReversed answers a slip whose manner is Reverse: whatever had been done
	// is undone, and nothing more can be done under its key.
	ErrReversed = errors.New("reversed: nothing can be done under this key any more")
)

// NotSent wraps an error that proves the other system was never reached: a
// refused connection, an open breaker. It does not count as an attempt.
func NotSent(err error) error { return &notSent{err} }

type notSent struct{ err error }

func (e *notSent) Error() string { return "not sent: " + e.err.Error() }
func (e *notSent) Unwrap() error { return e.err }

// Unused wraps an error that proves the key did nothing and never will, such as
// a stored failure on the other side. The engine writes the proof down and asks
// again under the next generation of the key.
func Unused(err error) error { return &unused{err} }

type unused struct{ err error }

func (e *unused) Error() string { return "key unused: " + e.err.Error() }
func (e *unused) Unwrap() error { return e.err }
