//go:build unix

package crash_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// volume is how much of something a test wants to see: usual, or what the variable says in a longer run.
func volume(t testing.TB, variable string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s: %q is not a number above 0", variable, text)
	}
	return n
}

// reach waits until a load has finished as many requests. It gives up when nothing has moved for a while, so a
// slow machine needs longer and does not fail.
func reach(t testing.TB, loads []*load, goal int64) {
	t.Helper()
	for t.Context().Err() == nil && !t.Failed() {
		before := finishedBy(loads)
		if before >= goal {
			return
		}
		eventually(t, "the load goes on", func() bool { return t.Failed() || finishedBy(loads) > before })
	}
}

// TestReplays answers many keys while a process and the database crash, replaces every process, and compares the
// answer to each key with the first one, byte by byte. The longer run: make replays.
func TestReplays(t *testing.T) {
	t.Parallel()
	goal := volume(t, "RATCHET_REPLAYS", 150)
	server := pgtest.Durable(t)
	i := install(t, server.URL, server.Pool, startAcquirer(t))
	serving := &crew{members: []*process{i.serve(t), i.serve(t)}}
	i.work(t)
	merchants := make([]merchant, 6)
	for n := range merchants {
		merchants[n] = i.merchant(t)
	}
	loads := startLoad(t, serving, merchants)
	reach(t, loads, int64(goal/3))
	serving.members[0].signal(syscall.SIGKILL)
	serving.members[0].wait()
	serving.replace(0, i.serve(t))
	reach(t, loads, int64(2*goal/3))
	server.Kill()
	server.Restart()
	i.db = server.Pool // the old one is gone
	reach(t, loads, int64(goal))
	all := stopLoad(loads)
	for n, old := range serving.members {
		old.leave()
		serving.replace(n, i.serve(t))
	}

	replayed, differ := replayAll(t, serving, all)
	i.wantNoDoubles(t, all)
	i.wantClean(t)
	t.Logf("SUMMARY replays: %d of %d keys answered with the same bytes after crashes of a process and of the "+
		"database, and after a restart; %d differed", replayed-differ, len(all), differ)
}

// replayAll asks for every answer again, from any process.
func replayAll(t testing.TB, serving *crew, all []work) (replayed, differ int64) {
	var next, same, other atomic.Int64
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for n := next.Add(1) - 1; int(n) < len(all); n = next.Add(1) - 1 {
				again, err := all[n].until(serving.any())
				switch {
				case err != nil:
					t.Error(err)
				case !again.same(all[n].answer) || !again.replayed:
					other.Add(1)
					t.Errorf("the replay (marked %v) differs:\n\t%s\n\t%s", again.replayed, all[n].answer, again)
				default:
					same.Add(1)
				}
			}
		})
	}
	clients.Wait()
	return same.Load() + other.Load(), other.Load()
}

// received counts how often each event has reached a merchant's endpoint.
type received struct {
	mu    sync.Mutex
	times map[string]int
}

func (r *received) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times[answer{body: string(body)}.id()]++
}

func (r *received) distinct() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.times)
}

// TestEveryEventArrives kills workers while events are delivered. Each event in the table has to reach the
// endpoint, and nothing else may. The longer run: make events.
func TestEveryEventArrives(t *testing.T) {
	t.Parallel()
	goal := volume(t, "RATCHET_EVENTS", 150)
	i := installOnFastServer(t, startAcquirer(t))
	i.env = append(i.env, "RATCHET_WEBHOOK_ALLOW_LOOPBACK=1")
	serving := &crew{members: []*process{i.serve(t), i.serve(t)}}
	workers := []*process{i.work(t), i.work(t)}
	got := &received{times: map[string]int{}}
	shop := httptest.NewServer(got)
	t.Cleanup(shop.Close)
	merchants := make([]merchant, 6)
	for n := range merchants {
		merchants[n] = i.merchant(t)
		made := request{merchant: merchants[n], path: "/v1/webhook_endpoints", key: newKey(),
			form: url.Values{"url": {shop.URL}, "enabled_events[]": {"*"}}}.finally(t, serving.any())
		if made.status != http.StatusOK {
			t.Fatalf("answered %s", made)
		}
	}
	loads := startLoad(t, serving, merchants)
	deaths := 0
	for arrived := got.distinct(); arrived < goal && !t.Failed(); arrived = got.distinct() {
		least := min(goal, arrived+max(goal/10, 30))
		for got.distinct() < least && !t.Failed() {
			before := got.distinct()
			eventually(t, "events arrive", func() bool { return t.Failed() || got.distinct() > before })
		}
		n := deaths % len(workers)
		workers[n].signal(syscall.SIGKILL)
		workers[n].wait()
		workers[n] = i.work(t)
		deaths++
	}
	stopLoad(loads)
	open := func() int {
		return number(t, i.db, "SELECT count(*) FROM webhook_deliveries WHERE state <> 'succeeded'")
	}
	for before := open(); before > 0; before = open() {
		eventually(t, "deliveries succeed", func() bool { return open() < before })
	}

	rows, err := i.db.Query(t.Context(), "SELECT id FROM events")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	got.mu.Lock()
	defer got.mu.Unlock()
	var missed, again int
	for _, id := range ids {
		times := got.times[id]
		delete(got.times, id)
		if times == 0 {
			missed++
			t.Errorf("the event %s was never received", id)
		}
		again += max(0, times-1)
	}
	for id := range got.times {
		t.Errorf("the event %q was received and is not in the table", id)
	}
	t.Logf("SUMMARY events: %d events, %d missed, %d invented, %d received again, over %d deaths of workers",
		len(ids), missed, len(got.times), again, deaths)
}
