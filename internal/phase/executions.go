package phase

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
)

// executions knows which requests this process executes, and which runs the database may
// count as this process's besides.
//
// The acknowledgment of a takeover can be lost with its connection. The database then
// says that this process has the request, and the process does not know of it. Because the
// process lives, every other one leaves the request alone until its lease ends. So after
// each doubt the process compares what the database says with what it executes, and parks
// the difference.
type executions struct {
	mu       sync.Mutex
	requests map[string]int // by ID: how many attempts and suspensions each has here
	until    time.Time      // how long a statement that was given up may still be run
	looking  bool
}

const (
	// lookEvery is the pause between two looks after a doubt.
	lookEvery = time.Second
	// acknowledgedAfter is how old a takeover or a commit is before its acknowledgment counts
	// as lost: no statement is waited for longer than answerTimeout.
	acknowledgedAfter = answerTimeout + time.Second
)

// begin notes that this process executes a request, until end is called.
func (d *executions) begin(id string) (end func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests[id]++
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.requests[id]--; d.requests[id] == 0 {
			delete(d.requests, id)
		}
	}
}

func (d *executions) ids() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	ids := make([]string, 0, len(d.requests))
	for id := range d.requests {
		ids = append(ids, id)
	}
	return ids
}

// doubt has the engine look for runs that it does not execute, in the background, for as
// long as a server may still run the statement whose answer was lost. Later than that the
// lease of such a run has ended.
func (e *Engine) doubt() {
	d := &e.executions
	d.mu.Lock()
	defer d.mu.Unlock()
	d.until = time.Now().Add(idempotency.LeaseTime)
	if !d.looking {
		d.looking = true
		go e.parkUnexecuted()
	}
}

// doubtful says whether there is reason to look again.
func (d *executions) doubtful() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looking = time.Now().Before(d.until)
	return d.looking
}

func (e *Engine) parkUnexecuted() {
	for e.executions.doubtful() {
		time.Sleep(lookEvery)
		ctx, cancel := context.WithTimeout(context.Background(), handoverTimeout)
		parked, err := idempotency.ParkUnexecuted(ctx, e.writes, e.owner, e.executions.ids(), acknowledgedAfter)
		cancel()
		if err == nil && len(parked) > 0 {
			e.log.Warn("parked requests that were taken over without an acknowledgment", "requests",
				slices.Sorted(slices.Values(parked)))
		}
	}
}
