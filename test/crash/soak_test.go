//go:build unix

package crash_test

import (
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"
)

// soakFor is how long TestSoak lasts: a few seconds, or RATCHET_SOAK.
func soakFor(t testing.TB, variable string, usual time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	long, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return long
}

// TestSoak lets clients work while one process after another is killed, or asked
// to leave as in a rolling restart, and replaced. The longer runs: make soak, make volume, and make mixed, in
// which every other process has an older version.
func TestSoak(t *testing.T) {
	t.Parallel()
	i := installOnFastServer(t, startAcquirer(t))
	serving := &crew{members: []*process{i.serve(t), i.serve(t)}}
	workers := []*process{i.work(t), i.work(t)}
	merchants := make([]merchant, 6)
	for n := range merchants {
		merchants[n] = i.merchant(t)
	}
	loads := startLoad(t, serving, merchants)

	// A slow machine takes longer than it was given, rather than prove nothing. A longer run has an end all the same,
	// and its summary says how far it came.
	long, most := soakFor(t, "RATCHET_SOAK", 8*time.Second), soakFor(t, "RATCHET_SOAK_MOST", 3*time.Hour)
	requests, faults := volume(t, "RATCHET_SOAK_REQUESTS", 50), volume(t, "RATCHET_SOAK_FAULTS", 2)
	deaths, departures := 0, 0
	var struck spells
	proves := func() bool {
		return deaths > 0 && departures > 0 && deaths+departures >= faults && finishedBy(loads) >= int64(requests)
	}
	for begun := time.Now(); !t.Failed(); {
		if so := time.Since(begun); so > long && proves() || so > most {
			break
		}
		time.Sleep(time.Duration(300+rand.IntN(1200)) * time.Millisecond)
		how, what := os.Signal(syscall.SIGKILL), "killed"
		if rand.IntN(3) == 0 {
			how, what = syscall.SIGTERM, "asked to leave"
			departures++
		} else {
			deaths++
		}
		n := rand.IntN(2)
		if rand.IntN(3) == 0 {
			end := struck.begin("a worker was " + what)
			workers[n].signal(how)
			workers[n].wait()
			end()
			workers[n] = i.work(t)
			continue
		}
		old := serving.members[n]
		end := struck.begin("a server was " + what)
		old.signal(how)
		old.wait()
		end()
		serving.replace(n, i.serve(t))
	}
	all := stopLoad(loads)
	finished := i.wantFinished(t, &struck, loads)

	replayed, differ := replayAll(t, serving, all)
	i.wantNoDoubles(t, all)
	i.wantClean(t)
	t.Logf("SUMMARY soak: %d requests answered (wanted: %d) over %d deaths and %d departures (wanted: %d), "+
		"%d processes of an older version; %d of %d replays with the same bytes; %s",
		len(all), requests, deaths, departures, faults, i.older.Load(), replayed-differ, len(all), finished)
}
