package phase

import "context"

// Limiter bounds how many requests, or transactions of requests, are executed at once, in all and for each account.
// Enter waits for a slot. As Config.Work and Config.Lookups, it waits a moment at most: until then, the request has
// read and written nothing, and the caller receives the error as it is. As Config.Turns, it may wait until ctx ends.
// release gives the slot back and may be called more than once.
type Limiter interface {
	Enter(ctx context.Context, account string) (release func(), err error)
}

// unlimited is a limiter without a bound.
type unlimited struct{}

// Enter admits every request immediately.
func (unlimited) Enter(context.Context, string) (release func(), err error) { return func() {}, nil }

// enter finds a request a slot. Where there is none for new work, full says so:
// then the engine may look the key up, which may have its response already, but
// begins nothing. err turns the request away altogether.
func (e *Engine) enter(ctx context.Context, account string, keyGenerated bool) (release func(), full, err error) {
	release, full = e.work.Enter(ctx, account)
	if full == nil || keyGenerated {
		return release, nil, full
	}
	release, err = e.lookups.Enter(ctx, account)
	return release, full, err
}
