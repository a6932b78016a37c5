package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// times is how much more is asked for than can be done.
	times = 3
	// atCapacity is how many clients keep a process busy without overload.
	atCapacity = 64
	// lines is how many connections the callers have. They are as many as can be
	// under way with everything full, and callers for whom none is free wait.
	lines = 768
)

// flood is what became of charges that came at a fixed pace, regardless of the
// answers: as customers do, and not as clients that wait for each other do.
type flood struct {
	capacity             float64 // charges a second that the same process does for clients that wait
	offered, done, shed  float64 // a second
	failed               int
	p50, p99, refusedP99 float64 // milliseconds since they came
}

// overload offers several times what the process can do, and says what it does
// then. Capacity is measured again before each round: the machine is not the same
// from one minute to the next.
func (b *bench) overload(ctx context.Context, each time.Duration, rounds int) error {
	var all []flood
	for range rounds {
		capacity, err := b.measure(ctx, each, atCapacity, workload{name: "charges", client: b.charges(b.keys),
			settles: true})
		if err != nil {
			return err
		}
		callers, err := b.callers() // now: the server hangs up on who says nothing for five seconds
		if err != nil {
			return err
		}
		f := b.flood(ctx, callers, capacity.answered*times, each)
		for _, c := range callers {
			_ = c.conn.Close()
		}
		f.capacity = capacity.answered
		if err := b.drain(ctx); err != nil {
			return err
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b flood) int { return cmp.Compare(a.done/a.capacity, b.done/b.capacity) })
	f := all[len(all)/2]
	fmt.Printf("\noverload: %d times the %.0f charges a second that %d waiting clients get\n", times, f.capacity,
		atCapacity)
	fmt.Printf("%10s %10s %10s %10s %9s %9s %12s\n", "offered/s", "done/s", "of capac.", "shed/s", "p50 ms", "p99 ms",
		"shed p99 ms")
	fmt.Printf("%10.0f %10.0f %10.2f %10.0f %9.1f %9.1f %12.1f\n", f.offered, f.done, f.done/f.capacity, f.shed, f.p50,
		f.p99, f.refusedP99)
	fmt.Printf("rounds, as shares of capacity: ")
	for _, f := range all {
		fmt.Printf("%.2f ", f.done/f.capacity)
	}
	fmt.Println()
	if f.failed > 0 {
		return fmt.Errorf("%d requests were neither done nor shed", f.failed)
	}
	return nil
}

// callers are connections that are open before the first call.
func (b *bench) callers() ([]*client, error) {
	var all []*client
	for range lines {
		c, err := dial(b.addr())
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// call is one charge that is due at a moment.
type call struct {
	wanted time.Time
	took   time.Duration
	status int
	err    error
}

func (b *bench) flood(ctx context.Context, callers []*client, rate float64, each time.Duration) flood {
	queue := make(chan time.Time, int(rate*(each+warmUp).Seconds())+1)
	var mu sync.Mutex
	var calls []call
	var busy sync.WaitGroup
	for n, c := range callers {
		busy.Go(func() {
			for wanted := range queue {
				status, _, err := c.post("/v1/charges", b.keys[n%len(b.keys)], fresh("flood"), chargeForm)
				done := call{wanted, time.Since(wanted), status, err}
				mu.Lock()
				calls = append(calls, done)
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	began := time.Now()
	for n := 0; ; n++ {
		wanted := began.Add(time.Duration(float64(n) / rate * float64(time.Second)))
		if wanted.Sub(began) > each+warmUp || ctx.Err() != nil {
			break
		}
		time.Sleep(time.Until(wanted))
		queue <- wanted
	}
	close(queue)
	busy.Wait()
	return sum(slices.DeleteFunc(calls, func(c call) bool { return c.wanted.Before(began.Add(warmUp)) }),
		time.Since(began)-warmUp)
}

// sum counts by when the answers came: what piles up has to be done in the end.
func sum(calls []call, took time.Duration) flood {
	var f flood
	var done, shed []float64
	for _, c := range calls {
		ms := float64(c.took.Microseconds()) / 1000
		switch c.status {
		case http.StatusOK:
			done = append(done, ms)
		case http.StatusServiceUnavailable:
			shed = append(shed, ms)
		default:
			f.failed++
		}
	}
	slices.Sort(done)
	slices.Sort(shed)
	f.offered, f.done, f.shed = float64(len(calls))/took.Seconds(), float64(len(done))/took.Seconds(),
		float64(len(shed))/took.Seconds()
	f.p50, f.p99, f.refusedP99 = quantile(done, 0.50), quantile(done, 0.99), quantile(shed, 0.99)
	return f
}

func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}
