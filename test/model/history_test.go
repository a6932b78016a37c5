package model

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	clients      = 12
	charges      = 96
	opsEach      = 120 // requests each client makes before it insists on answers
	hurried      = 0.2
	timeout      = time.Minute
	shortTimeout = 40 * time.Millisecond
	settleWithin = time.Minute
)

// response is what one operation of the history returned.
type response struct {
	kind kind
	body string
}

type kind int

const (
	final    kind = iota // an answer that is the outcome
	inFlight             // 409
	nothing              // 503, or the connection was lost: it may have taken effect, now or later
)

// oneAnswer is what clients may see of one key: nothing is decided, or a body is.
// A final answer decides or agrees. That an attempt is under way can only be
// observed while nothing is decided. An operation whose answer was lost has no
// effect here: what it decided shows when a client receives it.
var oneAnswer = porcupine.Model{
	Partition: func(history []porcupine.Operation) (byKey [][]porcupine.Operation) {
		keys := map[any]int{}
		for _, op := range history {
			at, known := keys[op.Input]
			if !known {
				at = len(byKey)
				keys[op.Input] = at
				byKey = append(byKey, nil)
			}
			byKey[at] = append(byKey[at], op)
		}
		return byKey
	},
	Init: func() any { return "" },
	Step: func(state, _, output any) (bool, any) {
		decided, got := state.(string), output.(response)
		switch got.kind {
		case final:
			return decided == "" || decided == got.body, got.body
		case inFlight:
			return decided == "", state
		}
		return true, state
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v: %+v", input, output) },
}

// TestOneAnswer knows that the model can tell a bad history from a good one.
func TestOneAnswer(t *testing.T) {
	t.Parallel()
	op := func(from, to int64, got response) porcupine.Operation {
		return porcupine.Operation{Input: "k", Call: from, Return: to, Output: got}
	}
	for _, tc := range []struct {
		name    string
		history []porcupine.Operation
		legal   bool
	}{
		{"two answers that agree",
			[]porcupine.Operation{op(1, 2, response{final, "a"}), op(3, 4, response{final, "a"})},
			true},
		{"two answers that differ",
			[]porcupine.Operation{op(1, 2, response{final, "a"}), op(3, 4, response{final, "b"})},
			false},
		{"in flight while the answer is on its way",
			[]porcupine.Operation{op(1, 4, response{final, "a"}), op(2, 3, response{kind: inFlight})}, true},
		{"in flight after the answer",
			[]porcupine.Operation{op(1, 2, response{final, "a"}), op(3, 4, response{kind: inFlight})}, false},
		{"nothing response, then the answer",
			[]porcupine.Operation{op(1, 2, response{kind: nothing}), op(3, 4, response{final, "a"})}, true},
	} {
		if legal := porcupine.CheckOperations(oneAnswer, tc.history); legal != tc.legal {
			t.Errorf("%s: legal %v, want %v", tc.name, legal, tc.legal)
		}
	}
}

// TestHistory lets rival clients ask two servers for the same charges, over an
// acquirer that loses every third question or answer, with a worker at
// work on what was left. Then it looks for an order of the operations that
// explains what every client received, and counts what happened to the cards.
func TestHistory(t *testing.T) {
	t.Parallel()
	in := install(t, 2)
	in.work(t)
	in.acquirer.Fault(t, "drop_after_acting=0.2,fail_before_acting=0.1,drop_before_acting=0.1")

	var history []porcupine.Operation
	var mu sync.Mutex
	originals := map[string]int{} // answers per key that were not replays
	began := time.Now()
	ask := func(client int, key string, timeout time.Duration) response {
		call := time.Since(began)
		r := in.charge(rand.IntN(len(in.servers)), key, chargeForm, timeout)
		got := response{kind: nothing}
		switch r.status {
		case http.StatusOK, http.StatusPaymentRequired:
			got = response{final, r.body}
		case http.StatusConflict:
			got.kind = inFlight
		case 0, http.StatusServiceUnavailable:
		default:
			t.Errorf("%s was answered %d %s", key, r.status, r.body)
		}
		mu.Lock()
		defer mu.Unlock()
		history = append(history, porcupine.Operation{
			ClientId: client, Input: key, Call: int64(call), Output: got, Return: int64(time.Since(began))})
		if got.kind == final && !r.replayed {
			originals[key]++
		}
		return got
	}

	var asking sync.WaitGroup
	for client := range clients {
		asking.Go(func() {
			for n := range opsEach {
				// All clients work on the same few charges at about the same time.
				key := fmt.Sprintf("charge-%d", min(charges-1, n*charges/opsEach+rand.IntN(3)))
				wait := timeout
				if rand.Float64() < hurried {
					wait = shortTimeout
				}
				ask(client, key, wait)
			}
		})
	}
	asking.Wait()
	for n := range charges {
		key := fmt.Sprintf("charge-%d", n)
		deadline := time.Now().Add(settleWithin)
		for ask(0, key, timeout).kind != final {
			if time.Now().After(deadline) {
				t.Fatalf("%s has no answer yet", key)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}

	counted := map[kind]int{}
	for _, op := range history {
		counted[op.Output.(response).kind]++
	}
	t.Logf("%d operations: %d final, %d in flight, %d without an answer", len(history), counted[final],
		counted[inFlight], counted[nothing])
	if counted[nothing] == 0 || counted[final] == 0 {
		t.Error("a history in which nothing went wrong, or nothing went well, proves nothing")
	}
	result, info := porcupine.CheckOperationsVerbose(oneAnswer, history, time.Minute)
	if result != porcupine.Ok {
		path := t.ArtifactDir() + "/history.html"
		if err := porcupine.VisualizePath(oneAnswer, info, path); err != nil {
			t.Error(err)
		}
		t.Errorf("no order explains what the clients heard (%s); see %s", result, path)
	}
	for key, n := range originals {
		if n > 1 {
			t.Errorf("%s was answered %d times as if for the first time", key, n)
		}
	}
	in.wantEverythingOnce(t, charges)
}

// wantEverythingOnce asks the outside world first, and our tables then.
func (in *installation) wantEverythingOnce(t *testing.T, want int) {
	t.Helper()
	sales := map[string]int{} // by derived key
	for _, m := range in.acquirer.Movements(t) {
		if m.Moved() {
			sales[m.Key]++
		}
	}
	for key, n := range sales {
		if n != 1 {
			t.Errorf("a card was charged %d times under %s", n, key)
		}
	}
	if len(sales) != want {
		t.Errorf("cards were charged for %d keys, want %d", len(sales), want)
	}
	in.want(t, "charges that succeeded", want, "SELECT count(*) FROM charges WHERE status = 'succeeded'")
	in.want(t, "charges that did not", 0, "SELECT count(*) FROM charges WHERE status <> 'succeeded'")
	in.want(t, "postings", want, "SELECT count(*) FROM ledger_postings")
	in.want(t, "events", want, "SELECT count(*) FROM events")
	in.want(t, "audit rows", want, "SELECT count(*) FROM audit_events WHERE operation NOT LIKE 'key.%'")
	in.want(t, "unfinished requests", 0, "SELECT count(*) FROM request_status WHERE state <> 'finished'")
}
