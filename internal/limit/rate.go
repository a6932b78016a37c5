// Package limit bounds what callers can ask of a process. Everything here is in
// memory and one process's own: n processes together allow n times as much.
package limit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rates is a bucket of tokens for each name: a request takes one, and so many
// come back each second.
type Rates struct {
	perSecond rate.Limit
	burst     int

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

// rememberAtMost bounds how many buckets are kept. A bucket that has filled up
// again says no more than none.
const rememberAtMost = 10_000

// NewRates allows each name this many requests a second, and bursts of twice as
// many. 0 allows any number.
func NewRates(perSecond int) *Rates {
	return &Rates{perSecond: rate.Limit(perSecond), burst: 2 * perSecond, buckets: map[string]*rate.Limiter{}}
}

// NewRatesEvery allows each name one per interval, and a burst.
func NewRatesEvery(pause time.Duration, burst int) *Rates {
	return &Rates{perSecond: rate.Every(pause), burst: burst, buckets: map[string]*rate.Limiter{}}
}

// Allow takes a token for who asks, if there is one.
func (r *Rates) Allow(who string, now time.Time) bool {
	return r.perSecond == 0 || r.bucket(who, now).AllowN(now, 1)
}

// GiveBack returns a token that who has taken. A bucket holds no more than its burst.
func (r *Rates) GiveBack(who string, now time.Time) {
	if r.perSecond > 0 {
		r.bucket(who, now).AllowN(now, -1)
	}
}

// Left says whether there is a token for who asks, and takes none.
func (r *Rates) Left(who string, now time.Time) bool {
	return r.perSecond == 0 || r.bucket(who, now).TokensAt(now) >= 1
}

func (r *Rates) bucket(who string, now time.Time) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b, is := r.buckets[who]; is {
		return b
	}
	if len(r.buckets) >= rememberAtMost {
		for name, b := range r.buckets {
			if b.TokensAt(now) >= float64(r.burst) {
				delete(r.buckets, name)
			}
		}
	}
	if len(r.buckets) >= rememberAtMost {
		clear(r.buckets) // all are busy: they start over, so that memory is bounded
	}
	b := rate.NewLimiter(r.perSecond, r.burst)
	r.buckets[who] = b
	return b
}
