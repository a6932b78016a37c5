package acquirer

import (
	"context"
	"time"
)

// Reports are the acquirer's own records. They are read to show and to compare; what
// a call did is found out by a lookup under its key, and by nothing else.
type Reports interface {
	// Statement lists what happened under a key, oldest first.
	Statement(ctx context.Context, key string) ([]Movement, error)
	// Summary counts all charges.
	Summary(ctx context.Context) (Summary, error)
	// Settlement is the settlement file of a time, from inclusive. It leaves out what
	// was reversed.
	Settlement(ctx context.Context, from, to time.Time) ([]SettlementLine, error)
	// Authorizations lists the authorizations of which anything was executed in a time.
	Authorizations(ctx context.Context, from, to time.Time) ([]Authorization, error)
	// Resend has the acquirer send again what happened or was acknowledged since a time.
	Resend(ctx context.Context, from time.Time) error
}

// Adapter is all that a process needs of an acquirer. What every adapter must do is
// stated by acquirertest.Conformance.
type Adapter interface {
	Acquirer
	Reports
	// BreakerOpen says whether the acquirer is left alone because it did not answer.
	BreakerOpen() bool
	Close()
}

var _ Adapter = (*Client)(nil)
