package phase

import "context"

// Gate bounds how many requests are at work at once. Enter waits a moment at most
// for a place; while it has none, nothing has been read or written. leave gives
// the place back and may be called more than once. The error is what the caller
// hears.
type Gate interface {
	Enter(ctx context.Context) (leave func(), err error)
}

// open is a gate without a bound.
type open struct{}

func (open) Enter(context.Context) (leave func(), err error) { return func() {}, nil }

// enter finds a request a place. Where there is none for new work, full says so:
// then the key may be looked up, since it may have its answer already, but nothing
// is begun. err turns the request away altogether.
func (e *Engine) enter(ctx context.Context, keyless bool) (leave func(), full, err error) {
	leave, full = e.work.Enter(ctx)
	if full == nil || keyless {
		return leave, nil, full
	}
	leave, err = e.lookUps.Enter(ctx)
	return leave, full, err
}
