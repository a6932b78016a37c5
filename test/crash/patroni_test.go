//go:build linux

package crash_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/test/patroni"
)

// fault is what happens to a leader. strike returns when it has happened, and what undoes it.
type fault struct {
	name   string
	strike func(d *drill, leader *patroni.Node) (undo func())
	wakes  bool // the old leader runs when it is undone, and does not know yet that there is another
	alone  bool // clients reach the old leader meanwhile
}

var faults = []fault{
	{name: "killed", strike: func(_ *drill, leader *patroni.Node) func() {
		leader.Kill()
		return leader.Restart
	}},
	{name: "stalled", wakes: true, strike: func(_ *drill, leader *patroni.Node) func() {
		return leader.Stall()
	}},
	{name: "isolated", alone: true, strike: func(_ *drill, leader *patroni.Node) func() {
		return leader.Isolate()
	}},
	{name: "killed while its standby was stalled", strike: killBehindStandby},
}

// killBehindStandby stalls the synchronous standby, cancels what waits for it, as an
// operator may, and kills the leader.
func killBehindStandby(d *drill, leader *patroni.Node) func() {
	wake := d.cluster.Synchronous().Stall()
	defer wake()
	conn, err := pgx.Connect(d.t.Context(), leader.Address())
	if err != nil {
		d.t.Fatal(err)
	}
	defer conn.Close(d.t.Context())
	canceled := 0
	eventually(d.t, "commits that wait for the standby are canceled", func() bool {
		var n int
		err := conn.QueryRow(d.t.Context(), "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity "+
			"WHERE wait_event = 'SyncRep' AND application_name LIKE 'ratchet%'").Scan(&n)
		if err != nil {
			d.t.Fatal(err)
		}
		canceled += n
		return canceled >= 3
	})
	leader.Kill()
	return leader.Restart
}

// drill is an installation on three servers, and what was measured.
type drill struct {
	*installation
	t       testing.TB
	cluster *patroni.Cluster
	loads   []*load

	back   []time.Duration // from a fault until commits are acknowledged again
	finish []time.Duration // from a fault until a request has its answer that was under way then
	late   []time.Duration // the same, from when commits were acknowledged again
}

// TestPatroni kills, stalls and isolates the leader of three servers under load. It runs
// where RATCHET_FAILOVER_ROUNDS says how often: make failover.
func TestPatroni(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("RATCHET_FAILOVER_ROUNDS"))
	if err != nil {
		t.Skip("needs Patroni and etcd, and minutes: make failover runs it")
	}
	d := startDrill(t)
	for n := range rounds {
		d.round(n+1, faults[n%len(faults)])
	}
	all := stopLoad(d.loads)
	eventually(t, "everything is finished", func() bool {
		return number(t, d.db, "SELECT count(*) FROM request_status WHERE state NOT IN ('finished', 'archived')") == 0
	})
	serving := d.loads[0].crew
	for _, w := range all {
		w.wantReplay(t, serving.any(), w.answer)
	}
	d.wantNoDoubles(t, all)
	d.wantOnce(t, all)
	d.wantClean(t)
	if t.Failed() {
		return
	}
	fmt.Printf("%d failovers: %d requests answered, none lost, none done twice, verify clean. After a fault commits "+
		"were acknowledged again in %s. The %d requests that were under way had their answers %s after the fault, "+
		"%s after commits were acknowledged again.\n",
		rounds, len(all), spread(d.back), len(d.finish), spread(d.finish), spread(d.late))
}

func startDrill(t testing.TB) *drill {
	t.Helper()
	cluster := patroni.Start(t)
	if err := postgres.Migrate(t.Context(), cluster.URL()); err != nil {
		t.Fatal(err)
	}
	db, err := postgres.Open(t.Context(), postgres.Config{URL: cluster.URL(), MaxConns: 4, ApplicationName: "drill",
		Session: map[string]string{"statement_timeout": "5min"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	d := &drill{installation: install(t, cluster.URL(), db, startAcquirer(t)), t: t, cluster: cluster}
	serving := &crew{members: []*process{d.serve(t), d.serve(t)}}
	d.work(t)
	d.work(t)
	var merchants []merchant
	for range 8 {
		merchants = append(merchants, d.merchant(t))
	}
	d.loads = startSlowLoad(t, serving, merchants, 5*timeout)
	return d
}

// round is one failover.
func (d *drill) round(n int, f fault) {
	const enough = 60
	d.goOn("there is something to lose", enough)
	old := d.cluster.Leader()
	undo := f.strike(d, old)
	struck := time.Now()
	if f.alone {
		d.wantNoCommit(old)
	}
	d.cluster.Leader(old)
	d.waitAcknowledged()
	back := time.Now()
	d.goOn("work goes on", enough)
	if f.wakes {
		woken := make(chan struct{})
		go func() {
			defer close(woken)
			d.wantNoCommit(old)
		}()
		time.Sleep(100 * time.Millisecond) // its connection waits for the server to wake
		undo()
		<-woken
	} else {
		undo()
	}
	d.cluster.WaitWhole()
	d.goOn("work goes on with three servers", enough)

	d.back = append(d.back, back.Sub(struck))
	var finish, late []time.Duration
	for _, l := range d.loads {
		l.mu.Lock()
		for _, s := range l.spans {
			if s.began.Before(struck) && s.ended.After(struck) {
				finish, late = append(finish, s.ended.Sub(struck)), append(late, max(0, s.ended.Sub(back)))
			}
		}
		l.mu.Unlock()
	}
	d.finish, d.late = append(d.finish, finish...), append(d.late, late...)
	fmt.Printf("round %d, the leader was %s: commits were acknowledged again after %.1f s; %d requests were under way "+
		"and finished %s after the fault, %s after that\n",
		n, f.name, back.Sub(struck).Seconds(), len(finish), spread(finish), spread(late))
}

// goOn waits until the clients have more answers.
func (d *drill) goOn(what string, more int64) {
	before := finishedBy(d.loads)
	deadline := time.Now().Add(5 * timeout)
	for finishedBy(d.loads) < before+more && !d.t.Failed() {
		if time.Now().After(deadline) {
			d.t.Fatalf("it never happened that %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if d.t.Failed() {
		d.t.FailNow()
	}
}

const beat = "INSERT INTO beat VALUES (clock_timestamp())"

// commits says whether a server at an address acknowledges a commit before ctx ends.
func commits(ctx context.Context, address string) bool {
	pool, err := postgres.Open(ctx, postgres.Config{URL: address, MaxConns: 1, NeverCancel: true})
	if err != nil {
		return false
	}
	defer pool.Close()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return false
	}
	defer conn.Release()
	batch := &pgx.Batch{}
	batch.Queue(beat)
	return postgres.SendBatch(ctx, conn.Conn(), batch) == nil
}

// waitAcknowledged waits until the database at the address of all servers acknowledges a commit.
func (d *drill) waitAcknowledged() {
	eventually(d.t, "commits are acknowledged again", func() bool {
		ctx, cancel := context.WithTimeout(d.t.Context(), 2*time.Second)
		defer cancel()
		return commits(ctx, d.cluster.Beats())
	})
}

// wantNoCommit tries to commit on a server that leads no longer, or is about to learn it.
func (d *drill) wantNoCommit(old *patroni.Node) {
	ctx, cancel := context.WithTimeout(d.t.Context(), 4*time.Second)
	defer cancel()
	if commits(ctx, old.Address()) {
		d.t.Errorf("%s acknowledged a commit that no other server has", old.Name)
	}
}

// wantOnce wants the card of each answer to have been charged or held, once.
func (i *installation) wantOnce(t testing.TB, all []work) {
	t.Helper()
	rows, err := i.acquirer.journal.Query(t.Context(),
		"SELECT amount, count(*) FROM acquirer.movements WHERE kind IN ('sale', 'hold') GROUP BY amount")
	if err != nil {
		t.Fatal(err)
	}
	moved := map[int64]int{}
	var amount int64
	var times int
	_, err = pgx.ForEachRow(rows, []any{&amount, &times}, func() error { moved[amount] = times; return nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		if moved[w.amount] != 1 {
			t.Errorf("%s was answered %d, and its card (%d) was charged %d times", w.key, w.answer.status, w.amount,
				moved[w.amount])
		}
	}
}

// spread is the median and the most of some durations.
func spread(of []time.Duration) string {
	if len(of) == 0 {
		return "-"
	}
	slices.Sort(of)
	at := func(q float64) string { return fmt.Sprintf("%.1f s", of[int(q*float64(len(of)-1))].Seconds()) }
	return strings.Join([]string{"p50", at(0.5), "max", at(1)}, " ")
}
