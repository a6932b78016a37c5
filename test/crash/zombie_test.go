//go:build unix

package crash_test

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/crashpoint"
	"github.com/ratchet-pay/ratchet/web/webtest"
)

// TestZombie halts a process that has charged a card and not yet written it
// down, for longer than its liveness lasts. Another process finishes the request.
// Then the process goes on, as if no time had passed.
func TestZombie(t *testing.T) {
	t.Parallel()
	acquirer := startAcquirer(t)
	alone := installOnFastServer(t, acquirer)
	staffed := installOnFastServer(t, acquirer)
	for _, i := range []*installation{alone, staffed} {
		i.env = append(i.env, "RATCHET_DASHBOARD=on")
	}
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
	done := make(chan outcome, 1)
	go func() {
		a, err := r.to(zombie, append(o.headers(at), crashpoint.HowHeader, crashpoint.Stop)...)
		done <- outcome{a, err}
	}()
	eventually(t, "the process is stopped", zombie.stopped)

	first := f.finish(t, f, r, death{n: at, stored: true})
	if first.status != o.status {
		t.Fatalf("finished with %s; want status %d", first, o.status)
	}
	select {
	case early := <-done:
		t.Fatalf("the stopped process has answered: %s, %v", early.answer, early.err)
	default:
	}
	zombie.signal(syscall.SIGCONT)
	late := <-done
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
	refusals := number(t, f.db, `
		SELECT count(*) FROM fence_refusals f JOIN requests r
		ON (r.account_id, r.id) = (f.account_id, f.request_id)
		WHERE r.account_id = $1 AND r.key = $2`, s.account, r.key)
	f.wantInspected(t, zombie, refusals, s.account, r.key)
	r.wantReplay(t, zombie, first)
	r.wantReplay(t, f.healthy, first)
	f.wantBooks(t, s.merchant, s.amount, o.leaves...)
}

// wantInspected wants the inspector's page to show the process that came back as one that
// stalled, with the fence that refused it, and not as one that died.
func (f *finisher) wantInspected(t *testing.T, zombie *process, recorded int, account, key string) {
	t.Helper()
	if recorded != 1 {
		t.Errorf("%d refusals are recorded, want 1", recorded)
	}
	var id string
	if err := f.db.QueryRow(t.Context(), "SELECT id FROM requests WHERE account_id = $1 AND key = $2", account,
		key).Scan(&id); err != nil {
		t.Fatal(err)
	}
	page := f.healthy.page(t, "/dashboard/requests/"+id)
	pid := fmt.Sprint("process ", zombie.cmd.Process.Pid)
	for _, want := range []string{pid + " stalled at", pid + " came back, and the fence refused its commit",
		`<g class="fence">`, "1 stalled process, fenced off"} {
		if !strings.Contains(page, want) {
			t.Errorf("the inspector does not show %q", want)
		}
	}
	if strings.Contains(page, `class="death"`) {
		t.Error("the inspector draws the death of a process that lives")
	}
}

// page is a page of the dashboard.
func (p *process) page(t *testing.T, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := webtest.Read(response)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v\n%s", path, response.Status, err, body)
	}
	return body
}
