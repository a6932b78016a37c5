//go:build unix

package crash_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestStorm sends one key from many clients at once to two processes.
func TestStorm(t *testing.T) {
	t.Parallel()
	i := installOnFastServer(t, startAcquirer(t))
	i.env = append(i.env, "RATCHET_DATABASE_CONNECTIONS=24") // the storm is to reach the database
	processes := []*process{i.serve(t), i.serve(t)}
	const clients = 50

	// The acquirer takes its time, so that most clients come while the first
	// one's charge is under way.
	slow := []string{"Acquirer-Fault", "slow:1500"}

	t.Run("fifty clients with one key charge a card once and hear one answer", func(t *testing.T) {
		t.Parallel()
		m, amount := i.merchant(t), newAmount()
		r := charge(m, "tok_visa", amount)
		answers, busy := storm(t, clients, func(n int) (answer, error) { return r.to(processes[n%2], slow...) },
			func(n int) (answer, error) { return r.until(processes[n%2]) })
		if busy == 0 {
			t.Error("no client ever met a charge under way: the storm was none")
		}
		for _, a := range answers {
			if a.status != http.StatusOK || !a.same(answers[0]) {
				t.Errorf("two answers to one key:\n\t%s\n\t%s", answers[0], a)
			}
		}
		for n := range clients {
			r.wantReplay(t, processes[n%2], answers[0])
		}
		i.wantBooks(t, m, amount, operations[0].leaves...)
	})

	t.Run("two accounts may use the same key", func(t *testing.T) {
		t.Parallel()
		one, two := charge(i.merchant(t), "tok_visa", newAmount()), charge(i.merchant(t), "tok_visa", newAmount())
		two.key, two.form = one.key, one.form
		answers, _ := storm(t, 10, func(n int) (answer, error) { return pick(n, one, two).to(processes[n%2], slow...) },
			func(n int) (answer, error) { return pick(n, one, two).until(processes[n%2]) })
		for n, a := range answers {
			if a.status != http.StatusOK || !a.same(answers[n%2]) {
				t.Errorf("client %d heard %s", n, a)
			}
		}
		if answers[0].same(answers[1]) {
			t.Errorf("both accounts were shown one charge: %s", answers[0])
		}
		if n := number(t, i.acquirer.journal,
			"SELECT count(*) FROM acquirer.movements WHERE amount = $1::text::bigint", one.form.Get("amount")); n != 2 {
			t.Errorf("the card was charged %d times, want once for each account", n)
		}
	})

	t.Run("other parameters under a key that is under way are refused and do nothing", func(t *testing.T) {
		t.Parallel()
		m, amount, other := i.merchant(t), newAmount(), newAmount()
		r := charge(m, "tok_visa", amount)
		different := charge(m, "tok_visa", other)
		different.key = r.key
		var first answer
		var err error
		var asking sync.WaitGroup
		// The storms beside this test may leave no room for a request, so its client retries.
		asking.Go(func() {
			for first, err = r.to(processes[0], slow...); err == nil && !first.final(); {
				first, err = r.to(processes[0], slow...)
			}
		})
		eventually(t, "the charge is under way", func() bool {
			return number(t, i.db, "SELECT count(*) FROM requests WHERE account_id = $1 AND key = $2",
				m.account, r.key) == 1
		})
		for _, p := range processes {
			refused, err := different.to(p)
			if err != nil || refused.status != http.StatusBadRequest ||
				!strings.Contains(refused.body, `"type": "idempotency_error"`) {
				t.Errorf("answered %s, %v", refused, err)
			}
		}
		asking.Wait()
		if err != nil || first.status != http.StatusOK {
			t.Fatalf("the first request was answered %s, %v", first, err)
		}
		i.wantBooks(t, m, amount, operations[0].leaves...)
		n := number(t, i.acquirer.journal, "SELECT count(*) FROM acquirer.movements WHERE amount = $1", other)
		if n != 0 {
			t.Errorf("the refused request moved money %d times", n)
		}
	})
}

func pick(n int, one, two request) request {
	if n%2 == 0 {
		return one
	}
	return two
}

// storm lets clients ask all at once, and those that got a 409 retry
// until they know. It returns what each received in the end, and how many waited.
func storm(t *testing.T, clients int, ask, again func(n int) (answer, error)) (answers []answer, busy int) {
	t.Helper()
	answers = make([]answer, clients)
	waited, errs := make([]bool, clients), make([]error, clients)
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() {
			answers[n], errs[n] = ask(n)
			if errs[n] == nil && !answers[n].final() {
				waited[n] = true
				answers[n], errs[n] = again(n)
			}
		})
	}
	all.Wait()
	for n := range clients {
		if errs[n] != nil {
			t.Fatalf("client %d: %v", n, errs[n])
		}
		if waited[n] {
			busy++
		}
	}
	return answers, busy
}
