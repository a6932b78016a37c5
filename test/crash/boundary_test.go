//go:build unix

package crash_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/crashpoint"
)

// TestEveryBoundary kills the process that serves a request at each of its
// boundaries in turn and lets another process finish: the client, by sending the
// request again, or the completer, when no client comes back.
func TestEveryBoundary(t *testing.T) {
	t.Parallel()
	acquirer := startAcquirer(t)
	alone := installOnFastServer(t, acquirer) // no process but the API
	staffed := installOnFastServer(t, acquirer)
	staffed.work(t)
	healthy, healthyToo := alone.serve(t), staffed.serve(t)
	finishers := []*finisher{
		{"by the retry", true, alone, healthy, theRetry},
		{"by the retry after another death", false, alone, healthy, anotherDeath},
		{"by the completer", true, staffed, healthyToo, theCompleter},
		{"by whoever is first", false, staffed, healthyToo, theRetry},
	}

	for _, o := range slices.Concat(operations, smallOperations) {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			boundaries := o.live(t, finishers[0])
			for _, f := range finishers {
				if o.small && !f.every || o.alone && f.installation == staffed || o.leftOut(f.installation == staffed) {
					continue
				}
				t.Run(f.name, func(t *testing.T) {
					t.Parallel()
					o.dieEverywhere(t, f, boundaries)
				})
			}
		})
	}
}

// finisher is how a request is brought to its end after a death.
type finisher struct {
	name  string
	every bool // of every operation; a boundary is never left out where that says so, too
	*installation
	healthy *process
	finish  func(t testing.TB, f *finisher, r request, d death) answer
}

// death is where a process died.
type death struct {
	n, of  int
	stored bool // after the first transaction had left
}

// sample is how many boundaries of an operation are tried with each finisher where not every one is; fewer with -short.
func (o operation) sample() int {
	switch {
	case o.small, o.twin && testing.Short():
		return 1
	case o.twin, testing.Short():
		return 2
	}
	return 8
}

// leftOut says whether -short leaves out the finishers with a worker, or those without. It has one finisher for an
// operation without a foreign call: a retry for about half of them, the completer for the rest.
func (o operation) leftOut(staffed bool) bool {
	if !o.small || o.alone || !testing.Short() || full {
		return false
	}
	return staffed != (crc32.ChecksumIEEE([]byte(o.name))%2 == 1)
}

// choose picks the boundaries to die at: all, or the same sample in every run.
func (o operation) choose(f *finisher, of int) []int {
	chosen := rand.New(rand.NewPCG(sampleSeed, uint64(crc32.ChecksumIEEE([]byte(o.name+f.name))))).Perm(of)
	if !full && !(o.every && f.every) {
		chosen = chosen[:min(of, o.sample())]
	}
	slices.Sort(chosen)
	return chosen
}

func (o operation) dieEverywhere(t *testing.T, f *finisher, boundaries []string) {
	var deaths atomic.Int64
	t.Cleanup(func() { t.Logf("died at %d of %d boundaries", deaths.Load(), len(boundaries)) })
	for _, before := range o.choose(f, len(boundaries)) {
		n := before + 1
		t.Run(fmt.Sprintf("%03d %s", n, boundaries[n-1]), func(t *testing.T) {
			t.Parallel()
			deaths.Add(1)
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("it died at boundary %d, %s; to repeat just this:\n\tRATCHET_CRASH_FULL=1 go test "+
						"./test/crash -run '%s'",
						n, boundaries[n-1], pattern("TestEveryBoundary", o.name, f.name, fmt.Sprintf("%03d ", n)))
				}
			})
			o.die(t, f, death{n, len(boundaries), stored(boundaries, n)})
		})
	}
}

// pattern is the -run of a test: the last name is a beginning.
func pattern(names ...string) string {
	for n, name := range names {
		names[n] = "^" + strings.ReplaceAll(name, " ", "_")
		if n < len(names)-1 {
			names[n] += "$"
		}
	}
	return strings.Join(names, "/")
}

// live makes the request on a fresh process that lives: it records the boundaries
// that are passed, and what is left.
func (o *operation) live(t testing.TB, f *finisher) (boundaries []string) {
	t.Helper()
	s := f.stage(t, f.healthy)
	r := o.request(s)
	record := filepath.Join(t.TempDir(), "boundaries")
	p := f.victim(t, record)
	if _, err := r.to(p, o.headers(0)...); err != nil {
		t.Fatal(err)
	}
	p.leave() // then all of it is written
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	sides := []string{"database: ", "client: "}
	if !o.inside {
		sides = append(sides, "acquirer: ")
	}
	for _, side := range sides {
		if !strings.Contains(string(text), side) {
			t.Fatalf("no boundary of the %s was passed:\n%s", strings.Trim(side, ": "), text)
		}
	}
	if o.leaves == nil {
		o.leaves = f.books(t, s.merchant, s.amount, nil)
		t.Logf("where nobody dies it leaves\n%s", list(o.leaves))
	}
	f.wantFlow(t, s.merchant, o.flow)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// wantFlow wants the last request of a merchant to have been of a flow.
func (i *installation) wantFlow(t testing.TB, m merchant, flow string) {
	t.Helper()
	var last string
	err := i.db.QueryRow(t.Context(),
		"SELECT flow FROM requests WHERE account_id = $1 ORDER BY created_at DESC LIMIT 1", m.account).Scan(&last)
	if err != nil || last != flow {
		t.Errorf("the flow that ran is %q, not %q (%v)", last, flow, err)
	}
}

func (o operation) headers(at int) []string {
	headers := []string{crashpoint.AtHeader, strconv.Itoa(at)}
	if o.fault != "" {
		headers = append(headers, "Acquirer-Fault", o.fault)
	}
	return headers
}

// die kills one process at a boundary and checks what is left.
func (o operation) die(t testing.TB, f *finisher, d death) {
	s := f.stage(t, f.healthy)
	r := o.request(s)
	p := f.victim(t, "")
	response, err := r.to(p, o.headers(d.n)...)
	if err == nil && !p.dies() {
		t.Fatalf("the process lives and answered %s", response)
	}
	if !p.killed() {
		t.Fatalf("the process was not killed: %v", p.cmd.ProcessState)
	}

	first := f.finish(t, f, r, d)
	if first.status != o.status && !(r.method == http.MethodDelete && first.status == http.StatusNotFound) {
		t.Fatalf("finished with %s; want status %d", first, o.status)
	}
	if o.reports != "" {
		s.receive(report(t, s.healthy.outside, o.reports, s.amount))
	}
	if !r.replayed() {
		f.wantBooks(t, s.merchant, s.amount, o.leaves...)
		return
	}
	if err == nil && response.final() && !response.same(first) {
		t.Errorf("before it died it had answered\n\t%s\nand now the answer is\n\t%s", response, first)
	}
	r.wantReplay(t, f.healthy, first)
	r.wantReplay(t, f.healthy, first)
	f.wantBooks(t, s.merchant, s.amount, o.leaves...)
}

// stored says whether a death at boundary n comes after the first transaction:
// after the packet's sync, or its COMMIT, has left.
func stored(boundaries []string, n int) bool {
	claimed := false
	for _, b := range boundaries[:n-1] {
		claimed = claimed || strings.HasPrefix(b, "database: before execute WITH claim AS")
		if claimed && (b == "database: before sync" || strings.HasPrefix(b, "database: before execute COMMIT")) {
			return true
		}
	}
	return false
}

// theRetry is the client's: it sends its request again until it knows.
func theRetry(t testing.TB, f *finisher, r request, _ death) answer { return r.finally(t, f.healthy) }

const ownerIsDead = `
	SELECT NOT EXISTS (SELECT FROM request_status r JOIN workers w ON w.id = r.owner
		WHERE r.account_id = $1 AND r.key = $2 AND w.alive_until > clock_timestamp())`

// anotherDeath lets the process die, too, that the request is sent to again. How
// far a recovery gets before that is chosen by the number of the first death; one
// that is shorter lives and answers.
func anotherDeath(t testing.TB, f *finisher, r request, d death) answer {
	eventually(t, "the first process counts as dead", func() (dead bool) {
		if err := f.db.QueryRow(t.Context(), ownerIsDead, r.account, r.key).Scan(&dead); err != nil {
			t.Fatal(err)
		}
		return dead
	})
	second := 1 + (d.n*7)%d.of // 7 spreads them over the whole recovery
	p := f.victim(t, "")
	response, err := r.to(p, crashpoint.AtHeader, strconv.Itoa(second))
	last := r.finally(t, f.healthy)
	if err == nil && response.final() && !response.same(last) && r.replayed() {
		t.Errorf("the second process answered\n\t%s\nand now the answer is\n\t%s", response, last)
	}
	return last
}

const readAnswer = `
	SELECT coalesce(status, 0), coalesce(convert_from(body, 'UTF8'), '') FROM request_status
	WHERE account_id = $1 AND key = $2`

// theCompleter finishes what was stored, without any client. A request that was never stored
// never happened: then the client's next request is its first.
func theCompleter(t testing.TB, f *finisher, r request, d death) answer {
	var kept answer
	if r.method != "" { // a GET or DELETE: it has no key to look for, and one transaction, with nothing to finish
		return r.finally(t, f.healthy)
	}
	if !d.stored {
		err := f.db.QueryRow(t.Context(), readAnswer, r.account, r.key).Scan(&kept.status, &kept.body)
		if !errors.Is(err, pgx.ErrNoRows) {
			t.Fatalf("nothing was committed before this boundary, and yet there is %s (%v)", kept, err)
		}
		return r.finally(t, f.healthy)
	}
	eventually(t, "the completer finishes the request", func() bool {
		err := f.db.QueryRow(t.Context(), readAnswer, r.account, r.key).Scan(&kept.status, &kept.body)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) { // the server may still be busy with the dead client's commit
			t.Fatal(err)
		}
		return kept.status != 0
	})
	if strings.Contains(kept.body, `"sealed:`) { // what is kept of a secret is not what is said
		return r.finally(t, f.healthy)
	}
	return kept
}
