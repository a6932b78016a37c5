//go:build unix

package crash_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestDrain sends SIGTERM to a server with clients on it that keep their
// connections. It says that it is going, goes on for a moment, finishes what it
// has, and ends with 0. Every request that was started gets a response.
func TestDrain(t *testing.T) {
	t.Parallel()
	i := installOnFastServer(t, startAcquirer(t))
	p := start(t, i.env, "serve", "--addr", "127.0.0.1:0", "--drain-grace-period", "3s")
	m := i.merchant(t)
	ready := func() int {
		response, err := client.Get("http://" + p.addr + "/readyz")
		if err != nil {
			return 0
		}
		response.Body.Close()
		return response.StatusCode
	}
	if status := ready(); status != http.StatusOK {
		t.Fatalf("before, /readyz answers %d", status)
	}

	var answered, unapplied sync.Map // by key: the answer, the error
	var count, afterTerm atomic.Int64
	var clients sync.WaitGroup
	termed := make(chan struct{})
	draining := func() bool {
		select {
		case <-termed:
			return true
		default:
			return false
		}
	}
	for range 8 {
		clients.Go(func() {
			keeps := &http.Client{Timeout: requestTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
			defer keeps.CloseIdleConnections()
			for {
				r := charge(m, "tok_visa", newAmount())
				a, err := r.by(keeps, p)
				// On a busy machine, a server that has just started may have no connection to the database yet.
				for err == nil && a.status == http.StatusServiceUnavailable && !draining() {
					a, err = r.by(keeps, p)
				}
				if err != nil {
					unapplied.Store(r.key, err)
					return // the process has exited
				}
				answered.Store(r.key, a)
				count.Add(1)
				if draining() {
					afterTerm.Add(1)
				}
			}
		})
	}
	eventually(t, "fifty charges are made", func() bool { return count.Load() >= 50 })
	p.signal(syscall.SIGTERM)
	close(termed)
	eventually(t, "it says that it is going, or is gone", func() bool { return ready() != http.StatusOK })
	clients.Wait()
	p.wait()

	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	if afterTerm.Load() == 0 {
		t.Error("it answered nobody after SIGTERM: there was no grace")
	}
	answered.Range(func(key, a any) bool {
		if a := a.(answer); a.status != http.StatusOK {
			t.Errorf("%s was answered %s", key, a)
		}
		return true
	})
	var unfinished, stored int
	err := i.db.QueryRow(t.Context(), `
		SELECT count(*) FILTER (WHERE state <> 'finished'), count(*) FROM request_status`).Scan(&unfinished, &stored)
	if err != nil {
		t.Fatal(err)
	}
	if unfinished != 0 || int64(stored) != count.Load() {
		t.Errorf("%d requests are stored, %d of them not finished; %d were answered", stored, unfinished, count.Load())
	}
	unapplied.Range(func(key, err any) bool {
		var begun bool
		scan := i.db.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM requests WHERE key = $1)`, key).Scan(&begun)
		if scan != nil || begun {
			t.Errorf("%s was begun and its client heard %v (%v)", key, err, scan)
		}
		return true
	})
	var charged int
	err = i.db.QueryRow(t.Context(), `SELECT count(*) FROM charges WHERE status = 'succeeded'`).Scan(&charged)
	if err != nil || int64(charged) != count.Load() {
		t.Errorf("%d charges succeeded, %d were answered (%v)", charged, count.Load(), err)
	}
}

// TestDrainWaitsForTheSlow ends a server while the acquirer still thinks.
func TestDrainWaitsForTheSlow(t *testing.T) {
	t.Parallel()
	i := installOnFastServer(t, startAcquirer(t))
	p := start(t, i.env, "serve", "--addr", "127.0.0.1:0", "--drain-grace-period", "0s")
	m := i.merchant(t)
	r, done := charge(m, "tok_visa", newAmount()), make(chan error, 1)
	var a answer
	go func() {
		var err error
		a, err = r.to(p, "Acquirer-Fault", "slow:1500")
		done <- err
	}()
	eventually(t, "the charge is under way", func() bool {
		var begun bool
		err := i.db.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM requests WHERE key = $1)`, r.key).Scan(&begun)
		return err == nil && begun
	})
	began := time.Now()
	p.signal(syscall.SIGTERM)
	p.wait()
	if err := <-done; err != nil || a.status != http.StatusOK {
		t.Errorf("its client heard %s, %v", a, err)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it ended with %d after %v", code, time.Since(began))
	}
}
