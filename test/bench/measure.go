package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// worker does one thing, again and again; it belongs to one client.
type worker func(ctx context.Context) error

type result struct {
	rate          float64 // per second
	p50, p95, p99 float64 // milliseconds
	cpu           string  // microseconds of processor time for one, by part
}

// warmUp runs before the clock starts, so that connections and plans are there.
const warmUp = 500 * time.Millisecond

// measure lets n clients work for a while and says how it went.
func (b *bench) measure(ctx context.Context, each time.Duration, n int, job func(n int) worker) (result, error) {
	before, done := b.usage(), 0
	var all []time.Duration
	var failed error
	var mu sync.Mutex
	var clients sync.WaitGroup
	begin := time.Now().Add(warmUp)
	end := begin.Add(each)
	for i := range n {
		clients.Go(func() {
			took, count, err := work(ctx, job(i), begin, end)
			mu.Lock()
			defer mu.Unlock()
			done += count
			all = append(all, took...)
			failed = errors.Join(failed, err)
		})
	}
	clients.Wait()
	if failed != nil || len(all) == 0 {
		return result{}, errors.Join(failed, errors.New("nothing was measured"))
	}
	slices.Sort(all)
	at := func(q float64) float64 { return float64(all[int(q*float64(len(all)-1))].Microseconds()) / 1000 }
	return result{rate: float64(len(all)) / each.Seconds(), p50: at(0.50), p95: at(0.95), p99: at(0.99), cpu: b.usage().per(before, done)}, nil
}

func work(ctx context.Context, do worker, begin, end time.Time) (took []time.Duration, count int, err error) {
	for {
		t := time.Now()
		if t.After(end) {
			return took, count, nil
		}
		if err := do(ctx); err != nil {
			return took, count, err
		}
		count++
		if t.After(begin) {
			took = append(took, time.Since(t))
		}
	}
}
