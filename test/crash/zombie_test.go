//go:build unix

package crash_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/crashpoint"
)

// TestZombie halts a process that has charged a card and not yet written it
// down, for longer than its liveness lasts. Another process finishes the request.
// Then the process goes on, as if no time had passed.
func TestZombie(t *testing.T) {
	t.Parallel()
	acquirer := startAcquirer(t)
	alone := installOnFastServer(t, acquirer)
	staffed := installOnFastServer(t, acquirer)
	staffed.work(t)
	finishers := []*finisher{
		{"by the retry", true, alone, alone.serve(t), theRetry},
		{"by the completer", true, staffed, staffed.serve(t), theCompleter},
	}
	charge, refund := operationNamed(t, "charge"), operationNamed(t, "refund")
	for _, c := range []struct {
		name string
		operation
		at func(boundaries []string) int
	}{
		{"a process stopped before it settles a charge commits nothing afterwards", charge, afterTheAnswer},
		// Here it sleeps inside a transaction that locks the request. The database
		// ends that after five seconds (idle_in_transaction_session_timeout).
		{"a process stopped in the middle of settling a refund commits nothing afterwards", refund,
			insideTheTransaction},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at := c.at(c.live(t, finishers[0]))
			for _, f := range finishers {
				t.Run(f.name, func(t *testing.T) {
					t.Parallel()
					c.halt(t, f, at)
				})
			}
		})
	}
}

// afterTheAnswer is where the acquirer's answer has been read.
func afterTheAnswer(boundaries []string) int {
	for n, b := range boundaries {
		if b == "acquirer: answer read" {
			return n + 1
		}
	}
	return 0
}

// insideTheTransaction is where the fence, the charge and the refund have been
// locked and read, and nothing has been written yet.
func insideTheTransaction(boundaries []string) int {
	answered := afterTheAnswer(boundaries)
	began, read := false, 0
	for n, b := range boundaries[answered:] {
		began = began || strings.HasPrefix(b, "database: before execute BEGIN")
		switch {
		case began && b == "database: answer read":
			read = answered + n + 1
		case began && strings.Contains(b, "WITH finish AS"): // the step's first statement
			return read
		}
	}
	return 0
}

// halt stops a process at a boundary until the request has been finished by another.
func (o operation) halt(t *testing.T, f *finisher, at int) {
	if at == 0 {
		t.Fatal("there is no such boundary any more")
	}
	s := f.stage(t, f.healthy)
	r := o.request(s)
	zombie := f.victim(t, "")
	type outcome struct {
		answer
		err error
	}
	heard := make(chan outcome, 1)
	go func() {
		a, err := r.to(zombie, append(o.headers(at), crashpoint.HowHeader, crashpoint.Stop)...)
		heard <- outcome{a, err}
	}()
	eventually(t, "the process is stopped", zombie.stopped)

	first := f.finish(t, f, r, death{n: at, stored: true})
	if first.status != o.status {
		t.Fatalf("finished with %s; want status %d", first, o.status)
	}
	select {
	case early := <-heard:
		t.Fatalf("the stopped process has answered: %s, %v", early.answer, early.err)
	default:
	}
	zombie.signal(syscall.SIGCONT)
	late := <-heard
	if late.err != nil || !late.same(first) || !late.replayed {
		t.Errorf("the process that was stopped answers (marked %v, %v)\n\t%s\nand the answer is\n\t%s", late.replayed,
			late.err, late.answer, first)
	}
	eventually(t, "the process that was stopped says that it was overtaken", func() bool {
		return zombie.said("overtaken")
	})
	if zombie.said("attempt failed") {
		t.Error("not the fence refused the commit of the process that was stopped, but a rule behind it")
	}
	if epoch := number(t, f.db, `
		SELECT max(j.epoch) FROM request_checkpoints j JOIN requests r ON r.id = j.request_id
		WHERE r.account_id = $1 AND r.key = $2`, s.account, r.key); epoch < 2 {
		t.Errorf("the request was finished under epoch %d: nobody took it over", epoch)
	}
	r.wantReplay(t, zombie, first)
	r.wantReplay(t, f.healthy, first)
	f.wantBooks(t, s.merchant, s.amount, o.leaves...)
}
