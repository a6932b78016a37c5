package phase

import (
	"errors"
	"fmt"
	"time"
)

// What a foreign phase may return, besides nil (answered). Every other error
// means unknown: the other system may or may not have acted, and only it can tell.
var (
	// ErrNotExecuted is the answer to a call whose mode is Lookup: nothing was done
	// under its key. A key that failed for good answers KeyRetired to a lookup as
	// well: something may have been done under the next one.
	ErrNotExecuted = errors.New("nothing was done under this key")

	// ErrReversed is the answer to a call whose mode is Reverse: everything that was
	// done under its key is undone, and nothing more can be done under it.
	ErrReversed = errors.New("reversed: nothing can be done under this key any more")
)

// NotSent wraps an error that proves the other system was never reached: a
// refused connection, an open breaker. It does not count as an attempt.
func NotSent(err error) error { return &notSent{err} }

type notSent struct{ err error }

func (e *notSent) Error() string { return "not sent: " + e.err.Error() }
func (e *notSent) Unwrap() error { return e.err }

// KeyRetired wraps an error that proves the key did nothing and never will, such
// as a failure that the other system has stored. The engine stores the proof and
// calls again under the next generation of the key.
func KeyRetired(err error) error { return &keyRetired{err} }

type keyRetired struct{ err error }

func (e *keyRetired) Error() string { return "key retired: " + e.err.Error() }
func (e *keyRetired) Unwrap() error { return e.err }

// Reason is why Serve has no response for a request.
type Reason string

const (
	DifferentEndpoint   Reason = "different_endpoint"   // the key's first request had another method or path
	DifferentParameters Reason = "different_parameters" // or other parameters
	ResponseArchived    Reason = "response_archived"    // its response is no longer replayed
	ResponseRedacted    Reason = "response_redacted"    // its response held personal data that has been erased
	InProgress          Reason = "in_progress"          // another attempt at the key is under way
	// it is stored or may be, and the outcome is not known yet; retry
	Unfinished  Reason = "unfinished"
	NeedsReview Reason = "needs_review" // an operator has to look at it; a retry does not help
	Locked      Reason = "locked"       // another request has locked an object; nothing was done; retry
	Unavailable Reason = "unavailable"  // the database is busy or absent; nothing was done; retry
)

// Refusal is Serve's error where it has no response. An application translates
// it for its callers (Config.Refuse).
type Refusal struct {
	Reason Reason
	Key    string
	// The key's first request, as far as it is known, for the Reasons that are about it.
	RequestID string
	Path      string // of the first request; RefusedPath is that of the refused one
	ObjectID  string
	CreatedAt time.Time

	RefusedPath string

	cause error
}

// Error names the request, its key and the reason, for logs. The client gets Reason's own message.
func (r *Refusal) Error() string {
	if r.cause != nil {
		return fmt.Sprintf("request %s under key %q: %s: %v", r.RequestID, r.Key, r.Reason, r.cause)
	}
	return fmt.Sprintf("request %s under key %q: %s", r.RequestID, r.Key, r.Reason)
}

// Unwrap is what went wrong, or nil where nothing did: a key in use, for example.
func (r *Refusal) Unwrap() error { return r.cause }
