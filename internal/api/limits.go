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
	AuthFailureRate    int           // unknown keys a second from one peer, and twice as many at once; 0: any number
	ReadTime           time.Duration // how long a read may take; the engine bounds everything else
	SearchTime         time.Duration // how long a search may take: one that finds little may have to look at a lot
}

// DefaultLimits are generous: a charge needs a hundredth of the bytes, and Stripe
// allows an account a hundred requests a second.
func DefaultLimits() Limits {
	return Limits{
		BodyBytes: 256 << 10, HeaderBytes: 32 << 10, URLBytes: 16 << 10, Form: form.DefaultLimits(),
		KeyRate: 500, AccountConcurrency: 100, AuthFailureRate: 20, ReadTime: 10 * time.Second,
		SearchTime: 2 * time.Second,
	}
}

// limiters keep count of who asks for how much.
type limiters struct {
	rates    *limit.Rates
	accounts *limit.Concurrency
	failures *limit.Rates // of authentication, by peer
	reads    ReadGates
}

// ReadGates are where reads wait for a slot: first for one of their account's, then for
// one of the process's. Searches need a slot of both kinds.
type ReadGates struct {
	AccountReads, AccountSearches *limit.Shares
	Reads, Searches               *limit.Limiter
}

// enter takes the slots of a read. leave gives them back.
func (g ReadGates) enter(ctx context.Context, account string, search bool) (leave func(), err error) {
	ways := []func() (func(), error){
		func() (func(), error) { return g.AccountReads.Enter(ctx, account) },
		func() (func(), error) { return g.Reads.Enter(ctx) },
	}
	if search {
		ways = append([]func() (func(), error){
			func() (func(), error) { return g.AccountSearches.Enter(ctx, account) },
			func() (func(), error) { return g.Searches.Enter(ctx) },
		}, ways...)
	}
	var taken []func()
	leave = func() {
		for _, giveBack := range taken {
			giveBack()
		}
	}
	for _, enter := range ways {
		giveBack, err := enter()
		if err != nil {
			leave()
			return nil, err
		}
		taken = append(taken, giveBack)
	}
	return leave, nil
}

// allow takes a request off what its API key may ask for in this second.
func (l *limiters) allow(h *apikey.Holder) error {
	if !l.rates.Allow(h.AccountID+" "+h.KeyID, time.Now()) { // a page's actor is no key of one account
		return apierror.RateLimited("global-rate")
	}
	return nil
}

// enter counts a request among those of its account, until leave.
func (l *limiters) enter(h *apikey.Holder) (leave func(), err error) {
	leave, ok := l.accounts.Enter(h.AccountID)
	if !ok {
		return nil, apierror.RateLimited("global-concurrency")
	}
	return leave, nil
}
