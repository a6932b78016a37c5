package api

import (
	"context"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/limit"
)

// Limits bound what clients can ask of one process.
type Limits struct {
	BodyBytes   int
	HeaderBytes int // names and values together
	URLBytes    int // path and query
	Form        form.Limits

	AllowCardNumbers bool // in text, such as a description; otherwise the request is refused

	KeyRate            int           // requests a second with one API key, and twice as many at once; 0: any number
	AccountConcurrency int           // requests of one account under way at once; 0: any number
	RejectionDelay     time.Duration // before a 429 for one of these two is sent
	AuthFailureRate    int           // unknown keys a second from one peer, and twice as many at once; 0: any number
	ReadTime           time.Duration // how long a read may take; the engine bounds everything else
	SearchTime         time.Duration // how long a search may take: one that finds little may have to look at a lot
}

// DefaultLimits are generous: a charge needs a hundredth of the bytes, and Stripe
// allows an account a hundred requests a second.
func DefaultLimits() Limits {
	return Limits{
		BodyBytes: 256 << 10, HeaderBytes: 32 << 10, URLBytes: 16 << 10, Form: form.DefaultLimits(),
		KeyRate: 500, AccountConcurrency: 100, RejectionDelay: 250 * time.Millisecond, AuthFailureRate: 20,
		ReadTime: 10 * time.Second, SearchTime: 2 * time.Second,
	}
}

// limiters keep count of who asks for how much.
type limiters struct {
	rates    *limit.Rates
	accounts *limit.Concurrency
	failures *limit.Rates // of authentication, by peer
	codes    codeTries
	reads    ReadLimiters
	brake    *limit.Brake
}

// delayedAtMost bounds how many rejections are delayed at once: a fraction of the
// connections that a process keeps by default.
const delayedAtMost = 1024

// ReadLimiters are where reads wait for a slot. A search needs one of both kinds, and so does a long list.
type ReadLimiters struct {
	Reads, Searches limit.Fair
	LongLists       *limit.Shares
}

// longList is how many objects a list may have and still be short. Reading, rendering and encoding a longer one takes
// a processor for long enough that other requests notice it.
const longList = 25

// enterer has a request wait for a slot.
type enterer interface {
	Enter(ctx context.Context, account string) (release func(), err error)
}

// enter takes the slots of a read for so many objects at most. release gives them back.
func (g ReadLimiters) enter(ctx context.Context, account string, search bool, most int) (release func(), err error) {
	var own enterer
	switch {
	case search:
		own = g.Searches
	case most > longList:
		own = g.LongLists
	default:
		return g.Reads.Enter(ctx, account)
	}
	ofItsKind, err := own.Enter(ctx, account)
	if err != nil {
		return nil, err
	}
	read, err := g.Reads.Enter(ctx, account)
	if err != nil {
		ofItsKind()
		return nil, err
	}
	return func() { read(); ofItsKind() }, nil
}

// allow takes a request off what its API key may ask for in this second.
func (l *limiters) allow(h *apikey.Credential) error {
	if !l.rates.Allow(h.AccountID+" "+h.KeyID, time.Now()) { // a page's actor is no key of one account
		return apierror.RateLimited("global-rate")
	}
	return nil
}

// enter counts a request among those of its account, until release.
func (l *limiters) enter(h *apikey.Credential) (release func(), err error) {
	release, ok := l.accounts.Enter(h.AccountID)
	if !ok {
		return nil, apierror.RateLimited("global-concurrency")
	}
	return release, nil
}
