package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ratchet-pay/ratchet/test/deployment"
)

// job does one thing, again and again; it belongs to one client.
type job func(ctx context.Context) error

// errNoMore ends a client whose job has nothing left to do.
var errNoMore = errors.New("nothing is left to do")

// errShed is a request that the server refused because it has too much to do.
var errShed = errors.New("the server is overloaded")

// workload is one kind of thing that clients do.
type workload struct {
	name     string
	client   func(ctx context.Context, n int) (do job, end func(), err error)
	settles  bool   // each is a charge, and counts when it is settled
	database string // whose sessions and disk are counted; "": ours
	prepare  func(ctx context.Context) error
}

// result is what one round of a workload came to. Costs are per thing done.
type result struct {
	rate          float64 // per second; of charges, those that were settled
	answered      float64 // per second
	p50, p95, p99 float64 // milliseconds
	cpu           map[string]float64
	wal, disk     float64 // bytes
	commits       float64
	shed          float64 // refused requests, of all
}

// warmUp runs before the clock starts: connections and plans are there then, and
// the first charges are settled, so that as many are settled from then on as are made.
const warmUp = 2 * time.Second

// coolDown is how long clients go on after the clock has stopped: a session that
// has ended no longer tells what it used.
const coolDown = 500 * time.Millisecond

// measure lets n clients work for a while and says how it went.
func (b *bench) measure(ctx context.Context, each time.Duration, n int, w workload) (result, error) {
	if w.prepare != nil {
		if err := w.prepare(ctx); err != nil {
			return result{}, fmt.Errorf("prepare: %w", err)
		}
	}
	database := w.database
	if database == "" {
		database = deployment.Ours
	}
	var times samples
	var working sync.WaitGroup
	begin := time.Now().Add(warmUp)
	end := begin.Add(each)
	for i := range n {
		do, stop, err := w.client(ctx, i)
		if err != nil {
			return result{}, err
		}
		working.Go(func() {
			defer stop()
			times.work(ctx, do, begin, end)
		})
	}
	time.Sleep(time.Until(begin))
	before, err := b.read(ctx, database)
	if err != nil {
		return result{}, err
	}
	worked := make(chan struct{})
	go func() { working.Wait(); close(worked) }()
	select { // those that run out of work end early
	case <-time.After(time.Until(end)):
	case <-worked:
	}
	after, err := b.read(ctx, database)
	if err != nil {
		return result{}, err
	}
	<-worked
	if err := b.drain(ctx); err != nil {
		return result{}, err
	}
	return times.result(before, after, w.settles)
}

// samples are what clients measured.
type samples struct {
	mu     sync.Mutex
	took   []time.Duration
	shed   int
	failed error
}

func (s *samples) work(ctx context.Context, do job, begin, end time.Time) {
	var took []time.Duration
	var failed error
	shed := 0
	for failed == nil {
		t := time.Now()
		if t.After(end.Add(coolDown)) {
			break
		}
		if failed = do(ctx); errors.Is(failed, errShed) {
			failed = nil
			shed++
			continue
		}
		if ended := time.Now(); failed == nil && t.After(begin) && ended.Before(end) {
			took = append(took, ended.Sub(t))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took, s.shed = append(s.took, took...), s.shed+shed
	if !errors.Is(failed, errNoMore) {
		s.failed = errors.Join(s.failed, failed)
	}
}

func (s *samples) result(before, after *reading, settles bool) (result, error) {
	if s.failed != nil || len(s.took) == 0 {
		return result{}, errors.Join(s.failed, errors.New("nothing was measured"))
	}
	slices.Sort(s.took)
	at := func(q float64) float64 { return float64(s.took[int(q*float64(len(s.took)-1))].Microseconds()) / 1000 }
	seconds, done := after.at.Sub(before.at).Seconds(), float64(len(s.took))
	r := result{shed: float64(s.shed) / (done + float64(s.shed)), answered: done / seconds, p50: at(0.50),
		p95: at(0.95), p99: at(0.99), cpu: map[string]float64{}}
	if settles {
		if done = float64(after.settled - before.settled); done == 0 {
			return result{}, errors.New("no charge was settled")
		}
	}
	r.rate = done / seconds
	for part, used := range after.cpu {
		r.cpu[part] = max(0, float64((used-before.cpu[part]).Microseconds())/done)
	}
	r.wal, r.disk = float64(after.wal-before.wal)/done, float64(after.disk-before.disk)/done
	r.commits = float64(after.commits-before.commits) / done
	return r, nil
}

// countUnsettled counts what the acquirer owes us still, or has not got across.
const countUnsettled = `
	SELECT (SELECT count(*) FROM acquirer.outbox WHERE acknowledged_at IS NULL)
	     + (SELECT count(*) FROM acquirer.owed)`

// drainTimeout bounds how far settlements may lag behind.
const drainTimeout = 5 * time.Minute

// drain waits until every charge is settled, so that the next workload has the
// machine to itself.
func (b *bench) drain(ctx context.Context) error {
	for deadline := time.Now().Add(drainTimeout); ; time.Sleep(100 * time.Millisecond) {
		var left int
		if err := b.theirs.QueryRow(ctx, countUnsettled).Scan(&left); err != nil {
			return fmt.Errorf("count what is not settled: %w", err)
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d movements are not settled after %s", left, drainTimeout)
		}
	}
}
