package phase

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
)

// waiters are the callers that wait for another attempt at their key. One query
// asks for all of them, however many there are.
type waiters struct {
	pool *pgxpool.Pool

	mu      sync.Mutex
	waiting map[idempotency.Key][]chan struct{}
	polling bool
}

const (
	// pollEvery is how often the database is asked for released keys.
	pollEvery = 20 * time.Millisecond
	// pollTimeout bounds one such query. The callers then ask for themselves.
	pollTimeout = 2 * time.Second
)

// wait returns when no live process executes the key's request any more, or with
// the context's error.
func (w *waiters) wait(ctx context.Context, key idempotency.Key) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	released := w.enter(key)
	select {
	case <-released:
		return nil
	case <-ctx.Done():
		w.leave(key, released)
		return ctx.Err()
	}
}

func (w *waiters) enter(key idempotency.Key) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	released := make(chan struct{})
	w.waiting[key] = append(w.waiting[key], released)
	if !w.polling {
		w.polling = true
		go w.poll()
	}
	return released
}

func (w *waiters) leave(key idempotency.Key, released chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting[key] = slices.DeleteFunc(w.waiting[key], func(c chan struct{}) bool { return c == released })
	if len(w.waiting[key]) == 0 {
		delete(w.waiting, key)
	}
}

// poll asks for the keys that callers wait for until there are none.
func (w *waiters) poll() {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for range tick.C {
		keys := w.keys()
		if keys == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), pollTimeout)
		released, err := idempotency.Released(ctx, w.pool, keys)
		cancel()
		if err != nil {
			released = keys // each caller asks for itself and learns what is wrong
		}
		w.wake(released)
	}
}

// keys are those that callers wait for. With none, the polling ends.
func (w *waiters) keys() (keys []idempotency.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.waiting {
		keys = append(keys, key)
	}
	w.polling = keys != nil
	return keys
}

func (w *waiters) wake(released []idempotency.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range released {
		for _, waiting := range w.waiting[key] {
			close(waiting)
		}
		delete(w.waiting, key)
	}
}
