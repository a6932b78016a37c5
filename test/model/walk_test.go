package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// A walk is any sequence of new requests, retries, deaths, stalls, takeovers
// and archiving. After every step money has moved once or not at
// all for each key, an answer that was given once never changes, and a
// request matches its recovery points. When a walk fails, rapid shows the
// shortest one it can find.
func TestWalk(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	pgtest.AllowImmortals(t, db.Pool)
	if _, err := db.Pool.Exec(t.Context(), worldTables); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := &walk{
			world:   newWorld(rt, t.Context(), db.Pool),
			ctx:     t.Context(),
			answers: map[string]phase.Response{},
			lost:    map[string]phase.Response{},
			rows:    map[string]row{},
		}
		rt.Repeat(map[string]func(*rapid.T){
			"":                 w.invariants,
			"a client asks":    w.ask,
			"a client retries": w.ask, // most steps are about keys that are known
			"a client asks for something else under its key": w.mismatch,
			"an attempt stalls":          w.stall,
			"a stalled attempt wakes up": w.wake,
			"a process dies":             w.kill,
			"the completer looks":        w.complete,
			"a month passes":             w.month,
			"the reaper looks":           w.reap,
			"the database fails over":    w.failOver,
		})
		w.settle(rt)
	})
}

// walk is a world and what has been seen of it so far.
type walk struct {
	*world
	ctx     context.Context
	answers map[string]phase.Response // final ones, by key
	lost    map[string]phase.Response // those the database has lost in a failover
	rows    map[string]row            // by key, after the step before
	stalled []*stalled                // in their calls, alive or taken for dead
	waiting []*stalled                // overtaken, waiting for the winner's answer
}

// stalled is an attempt that waits in its call.
type stalled struct {
	*stall
	key   string
	owner string
	ended chan result
}

type result struct {
	answer phase.Response
	err    error
}

// row is what of a request's row the invariants look at.
type row struct {
	Key      string
	State    string
	Owner    *string
	Point    string
	Position int16
	Epoch    int32
	Attempts int32
	Status   *int16
	Body     []byte
}

var keys = []string{"a", "b", "hasty-c", "hasty-d"}

// someKey prefers those that an attempt is stalled over: most can go wrong there.
func (w *walk) someKey(t *rapid.T) string {
	likely := slices.Clone(keys)
	for _, s := range w.stalled {
		likely = append(likely, s.key, s.key, s.key, s.key)
	}
	return rapid.SampledFrom(likely).Draw(t, "key")
}

func (w *walk) order(key string) order { return order{Name: key, Amount: 2000} }

func (w *walk) flowOf(key string) *phase.Flow[order, purchase] {
	if key[0] == 'h' {
		return w.hasty
	}
	return w.steady
}

// serve runs an attempt to its end, or to the death of its process.
func (w *walk) serve(process int, key string, in order) chan result {
	ended := make(chan result, 1)
	path := "/v1/" + w.flowOf(key).Name()
	call := phase.Request{
		Caller: phase.Caller{AccountID: w.account, RequestID: id.New("req", time.Now()), Key: key},
		Method: http.MethodPost, Path: path,
		Fingerprint: idempotency.Fingerprint(engineSecret, http.MethodPost, path, fmt.Append(nil, in)),
	}
	engine := w.engines[process]
	go func() {
		defer close(ended) // and nothing else, if the process dies
		answer, err := w.flowOf(key).Serve(w.ctx, engine, call, in)
		ended <- result{answer, err}
	}()
	return ended
}

func (w *walk) become(now fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = now
}

// ask sends a request, new or not, on either process, to any fate.
func (w *walk) ask(t *rapid.T) {
	process, key := rapid.IntRange(0, 1).Draw(t, "process"), w.someKey(t)
	w.become(rapid.SampledFrom(fates).Draw(t, "fate"))
	defer w.become(goesWell)
	before := w.read(t)[key]
	executing := w.executing(t)[key]
	got, lived := <-w.serve(process, key, w.order(key))
	if !lived {
		w.die(t, process)
		return
	}
	w.answered(t, key, before, executing, got)
}

// answered judges what a client received, given how its key stood when it asked.
func (w *walk) answered(t *rapid.T, key string, before row, executing bool, got result) {
	switch {
	case executing:
		w.wantRefusal(t, got, http.StatusConflict)
	case before.State == idempotency.Archived:
		w.wantRefusal(t, got, http.StatusBadRequest)
	default:
		w.record(t, key, got)
	}
}

// executing are the keys that a process works on which is not taken for dead.
func (w *walk) executing(t *rapid.T) map[string]bool {
	found, _ := w.pool.Query(w.ctx, `
		SELECT r.key FROM request_status r JOIN workers w ON w.id = r.owner WHERE r.account_id = $1`, w.account)
	names, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	executing := map[string]bool{}
	for _, key := range names {
		executing[key] = true
	}
	return executing
}

// record takes down what a client received: a final answer is the only one there is,
// any other answer says that a retry helps or that a person is needed.
func (w *walk) record(t *rapid.T, key string, got result) {
	if got.err == nil {
		first, is := w.answers[key]
		if is && (first.Status != got.answer.Status || !bytes.Equal(first.Body, got.answer.Body)) {
			t.Fatalf("key %s was answered %d %s, and now %d %s", key, first.Status, first.Body, got.answer.Status,
				got.answer.Body)
		}
		if is && !got.answer.Replayed {
			t.Fatalf("key %s was answered twice, and the second answer does not say that it is a replay", key)
		}
		if lost, is := w.lost[key]; is && !bytes.Equal(lost.Body, got.answer.Body) {
			t.Fatalf("key %s was answered %s, and after a failover %s", key, lost.Body, got.answer.Body)
		}
		w.answers[key] = got.answer
		return
	}
	var refusal *apierror.Error
	if !errors.As(got.err, &refusal) {
		t.Fatalf("key %s: %v", key, got.err)
	}
	if answer, is := w.answers[key]; is {
		t.Fatalf("key %s was answered %d, and now refused with %v", key, answer.Status, refusal)
	}
	switch refusal.Status {
	case http.StatusServiceUnavailable:
		if refusal.Retry != "true" {
			t.Fatalf("key %s: %+v", key, refusal)
		}
	case http.StatusBadRequest: // nothing is stored: failsClaim
		if r, is := w.read(t)[key]; is {
			t.Fatalf("key %s was refused with %v, and its request is %s", key, refusal, r.State)
		}
	default:
		t.Fatalf("key %s was refused with %v", key, refusal)
	}
}

func (w *walk) wantRefusal(t *rapid.T, got result, status int) {
	var refusal *apierror.Error
	if !errors.As(got.err, &refusal) || refusal.Status != status {
		t.Fatalf("answered %d %s, error %v; want %d", got.answer.Status, got.answer.Body, got.err, status)
	}
}

// mismatch asks for another amount under a key that is taken.
func (w *walk) mismatch(t *rapid.T) {
	key := w.someKey(t)
	if _, taken := w.read(t)[key]; !taken {
		t.Skip("nobody has used the key")
	}
	got := <-w.serve(0, key, order{Name: key, Amount: 1})
	w.wantRefusal(t, got, http.StatusBadRequest)
	var refusal *apierror.Error
	if errors.As(got.err, &refusal); refusal.Type != apierror.TypeIdempotency {
		t.Fatalf("refused with %v", refusal)
	}
}

// stall begins an attempt that gets stuck in its call. Two may be stuck at once,
// also over the same key, when the first one's process is taken for dead.
func (w *walk) stall(t *rapid.T) {
	process, key := rapid.IntRange(0, 1).Draw(t, "process"), w.someKey(t)
	if len(w.stalled)+len(w.waiting) == 2 {
		t.Skip("two are enough")
	}
	s := &stalled{key: key, owner: w.owners[process], stall: &stall{
		afterActing: rapid.Bool().Draw(t, "after acting"), began: make(chan struct{}), release: make(chan struct{})}}
	w.mu.Lock()
	w.now, w.stalling = goesWell, s.stall
	w.mu.Unlock()
	before, executing := w.read(t)[key], w.executing(t)[key]
	s.ended = w.serve(process, key, w.order(key))
	select {
	case <-s.began:
		w.stalled = append(w.stalled, s)
	case got := <-s.ended: // no call was needed
		w.mu.Lock()
		w.stalling = nil
		w.mu.Unlock()
		w.answered(t, key, before, executing, got)
	}
}

// wake lets a stalled attempt go on. If it was taken for dead meanwhile, it
// finds out now, and waits for the process that has its work.
func (w *walk) wake(t *rapid.T) {
	if len(w.stalled) == 0 {
		t.Skip("nobody is stalled")
	}
	at := rapid.IntRange(0, len(w.stalled)-1).Draw(t, "which")
	s := w.stalled[at]
	w.stalled = slices.Delete(w.stalled, at, at+1)
	s.dead = rapid.Bool().Draw(t, "to a dead line")
	before, refused := w.read(t)[s.key], w.fenced.Load()
	othersWork := w.executing(t)[s.key] && *before.Owner != s.owner
	close(s.release)
	ended := w.endsOrWaits(t, s, refused)
	now := w.read(t)[s.key]
	if othersWork && (now.State != before.State || now.Point != before.Point || *now.Owner != *before.Owner) {
		t.Fatalf("key %s was %+v in the hands of a live process; then one that had lost it woke up, and it is %+v",
			s.key, before, now)
	}
	switch {
	case ended == nil:
		w.waiting = append(w.waiting, s)
		return
	case before.State == idempotency.Archived:
		w.wantRefusal(t, *ended, http.StatusServiceUnavailable) // it woke up a month late
	default:
		w.record(t, s.key, *ended)
	}
	w.listen(t)
}

// endsOrWaits returns what a woken attempt comes to, or nil if the fence has
// refused it and it waits for the one that has its work.
func (w *walk) endsOrWaits(t *rapid.T, s *stalled, refused int32) *result {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		select {
		case got := <-s.ended:
			return &got
		default:
		}
		if w.fenced.Load() > refused && w.executing(t)[s.key] {
			return nil
		}
	}
	t.Fatalf("the attempt at key %s does not end", s.key)
	return nil
}

// listen collects the responses of attempts that were overtaken.
func (w *walk) listen(t *rapid.T) {
	executing := w.executing(t)
	w.waiting = slices.DeleteFunc(w.waiting, func(s *stalled) bool {
		if executing[s.key] {
			return false
		}
		w.record(t, s.key, <-s.ended)
		return true
	})
}

// kill ends a process, or makes it look dead if a stalled attempt lives on in it.
func (w *walk) kill(t *rapid.T) {
	w.die(t, rapid.IntRange(0, 1).Draw(t, "process"))
}

func (w *walk) die(t *rapid.T, process int) {
	w.replace(t, w.ctx, process)
	w.listen(t)
}

// failOver loses all that the database knows of this walk. What the clients and
// the bank remember is all there is, and the derived keys must lead there.
func (w *walk) failOver(t *rapid.T) {
	if len(w.stalled)+len(w.waiting) > 0 {
		t.Skip("an attempt that outlives its database is refused, whatever it brings")
	}
	for _, table := range []string{"purchases", "deliveries"} {
		w.exec(t, w.ctx, "DELETE FROM "+table+" WHERE account_id = $1", w.account)
	}
	w.unguarded(t, w.ctx, "fence_refusals", "fence_refusals_are_final",
		"DELETE FROM fence_refusals WHERE account_id = $1")
	w.unguarded(t, w.ctx, "takeovers", "takeovers_are_final", "DELETE FROM takeovers WHERE account_id = $1")
	w.unguarded(t, w.ctx, "foreign_calls", "foreign_calls_are_final", "DELETE FROM foreign_calls WHERE account_id = $1")
	w.exec(t, w.ctx, longLockTimeout+"ALTER TABLE runs DISABLE TRIGGER runs_end_while_running")
	w.unguarded(t, w.ctx, "runs", "runs_end_with_an_answer", "DELETE FROM runs WHERE account_id = $1")
	w.exec(t, w.ctx, longLockTimeout+"ALTER TABLE runs ENABLE ALWAYS TRIGGER runs_end_while_running")
	w.unguarded(t, w.ctx, "answers", "answers_are_kept", "DELETE FROM answers WHERE account_id = $1")
	w.unguarded(t, w.ctx, "archived_answers", "archived_answers_are_kept",
		"DELETE FROM archived_answers WHERE account_id = $1")
	w.unguarded(t, w.ctx, "requests", "requests_are_kept", "DELETE FROM requests WHERE account_id = $1")
	for key := range w.answers {
		w.lost[key] = w.answers[key]
		delete(w.answers, key)
	}
	w.rows = map[string]row{}
}

// complete lets a process's completer look once. It may die over its work as
// well as any other.
func (w *walk) complete(t *rapid.T) {
	process := rapid.IntRange(0, 1).Draw(t, "process")
	w.become(rapid.SampledFrom(fates).Draw(t, "fate"))
	defer w.become(goesWell)
	w.completeOnce(t, process)
}

func (w *walk) completeOnce(t *rapid.T, process int) {
	w.exec(t, w.ctx, "UPDATE runs SET due_at = clock_timestamp() WHERE state = 'parked'")
	engine, executing := w.engines[process], w.executing(t)
	taken, err := idempotency.ResumeUnfinished(w.ctx, w.pool, engine.Known(), w.owners[process], 8)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range taken {
		if executing[r.Key] {
			t.Fatalf("the completer took key %s from a process that lives", r.Key)
		}
		ended := make(chan bool, 1)
		go func() {
			defer close(ended)
			_ = engine.Resume(w.ctx, r) // how it ended is in the row
			ended <- true
		}()
		if !<-ended {
			w.die(t, process)
			return
		}
	}
}

// month makes every answer there is old enough for the archive.
func (w *walk) month(t *rapid.T) {
	w.unguarded(t, w.ctx, "answers", "answers_are_final",
		"UPDATE answers SET expires_at = expires_at - interval '31 days' WHERE archived_at IS NULL AND account_id = $1")
}

func (w *walk) reap(t *rapid.T) {
	if _, err := idempotency.Reap(w.ctx, w.pool, 100); err != nil {
		t.Fatal(err)
	}
}

const readRows = `
	SELECT s.key, s.state, s.owner, s.recovery_point AS point, p.position, s.epoch, s.attempts, s.status, s.body
	FROM request_status s JOIN recovery_points p ON p.flow = s.flow AND p.version = s.version
	    AND p.name = s.recovery_point
	WHERE s.account_id = $1`

func (w *walk) read(t *rapid.T) map[string]row {
	found, _ := w.pool.Query(w.ctx, readRows, w.account)
	rows, err := pgx.CollectRows(found, pgx.RowToStructByName[row])
	if err != nil {
		t.Fatal(err)
	}
	byKey := map[string]row{}
	for _, r := range rows {
		if _, twice := byKey[r.Key]; twice {
			t.Fatalf("key %s has two requests", r.Key)
		}
		byKey[r.Key] = r
	}
	return byKey
}

// turns are the changes of state that a request can make in one step. A step may
// contain several changes in the database.
var turns = map[string]map[string]bool{
	"": {
		idempotency.Running:  true,
		idempotency.Parked:   true,
		idempotency.Held:     true,
		idempotency.Finished: true,
	},
	idempotency.Running: {
		idempotency.Running:  true,
		idempotency.Parked:   true,
		idempotency.Held:     true,
		idempotency.Finished: true,
	},
	idempotency.Parked: {
		idempotency.Running:  true,
		idempotency.Parked:   true,
		idempotency.Held:     true,
		idempotency.Finished: true,
	},
	idempotency.Held:     {idempotency.Held: true},
	idempotency.Finished: {idempotency.Finished: true, idempotency.Archived: true},
	idempotency.Archived: {idempotency.Archived: true},
}

// invariants hold after every step.
func (w *walk) invariants(t *rapid.T) {
	rows := w.read(t)
	for key, old := range w.rows {
		if _, still := rows[key]; !still {
			t.Fatalf("the request of key %s, which was %s, is gone", key, old.State)
		}
	}
	for key, now := range rows {
		w.movesForward(t, key, w.rows[key], now)
		w.happenedOnce(t, key, now)
	}
	w.rows = rows
}

func (w *walk) movesForward(t *rapid.T, key string, old, now row) {
	if !turns[old.State][now.State] {
		t.Fatalf("key %s went from %q to %q", key, old.State, now.State)
	}
	if now.Position < old.Position || now.Epoch < old.Epoch || now.Attempts < old.Attempts {
		t.Fatalf("key %s went back: %+v, then %+v", key, old, now)
	}
	if old.Owner != nil && now.Owner != nil && *old.Owner != *now.Owner && now.Epoch == old.Epoch {
		t.Fatalf("key %s changed hands without a new epoch: %+v, then %+v", key, old, now)
	}
	if answer, given := w.answers[key]; given {
		if now.Status == nil || int(*now.Status) != answer.Status {
			t.Fatalf("key %s was answered %d, and its row says otherwise: %+v", key, answer.Status, now)
		}
		if now.State == idempotency.Finished && !bytes.Equal(now.Body, answer.Body) {
			t.Fatalf("key %s was answered %s, and its row says %s", key, answer.Body, now.Body)
		}
	}
}

// happenedOnce compares a row with the world: the bank's memory, the shop's
// tables, the journal.
func (w *walk) happenedOnce(t *rapid.T, key string, now row) {
	w.mu.Lock()
	moved, acted := w.moved[key], w.acted[key]
	w.mu.Unlock()
	if acted > 1 || moved > 1 {
		t.Fatalf("for key %s the bank acted %d times and money moved %d times", key, acted, moved)
	}
	n := w.count(t, w.ctx, "SELECT count(*) FROM purchases WHERE account_id = $1 AND name = $2", w.account, key)
	if n != 1 {
		t.Fatalf("key %s has %d purchases", key, n)
	}
	journal := w.count(t, w.ctx, `
		SELECT count(*) FROM request_checkpoints j
		JOIN requests r ON r.account_id = j.account_id AND r.id = j.request_id
		WHERE r.account_id = $1 AND r.key = $2`, w.account, key)
	deliveries := w.count(t, w.ctx, "SELECT count(*) FROM deliveries WHERE account_id = $1 AND name = $2", w.account,
		key)
	open := w.count(t, w.ctx, `
		SELECT count(*) FROM request_calls c JOIN requests r ON r.account_id = c.account_id AND r.id = c.request_id
		WHERE r.account_id = $1 AND r.key = $2 AND c.outcome = 'unknown'`, w.account, key)
	want := map[string]struct{ journal, deliveries, open int }{
		"ordered": {1, 0, 1}, "delivered": {3, 1, 0}, "abandoned": {2, 0, 0},
	}[now.Point]
	if journal != want.journal || deliveries != want.deliveries || open != want.open {
		t.Fatalf("key %s stands on %s with %d lines in its journal, %d deliveries and %d open calls; want %+v", key,
			now.Point, journal, deliveries, open, want)
	}
	paid := now.Point == "delivered" && now.Status != nil && *now.Status == http.StatusOK
	if now.Status != nil && paid != (moved == 1) {
		t.Fatalf("key %s ended on %s with %d, and money moved %d times", key, now.Point, *now.Status, moved)
	}
}

// settle ends the walk: the stalled one wakes up, no process dies any more, and
// every request must come to an end.
func (w *walk) settle(t *rapid.T) {
	w.become(goesWell)
	for len(w.stalled) > 0 {
		w.wake(t)
	}
	for range 2 { // a reversal takes no more than one look
		w.completeOnce(t, 0)
	}
	w.invariants(t)
	for key, r := range w.rows {
		if r.State != idempotency.Finished && r.State != idempotency.Archived {
			t.Fatalf("key %s is still %s", key, r.State)
		}
	}
}
