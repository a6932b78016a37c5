package phase_test

import (
	"bytes"
	"context"
	"net/http"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

func TestCompleter(t *testing.T) {
	t.Parallel()

	t.Run("it finishes what a process left when it died before asking", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.bank.has(killsBefore)
		s.process().dies("k")
		p := s.process()
		p.completes()
		s.wantState("k", idempotency.Finished)
		if !p.answers("k", http.StatusOK).Replayed {
			t.Error("the client's retry ran the operation again")
		}
		s.bank.wantMoved(t, 1)
	})

	t.Run("it finishes what a process left when it died with the answer in its hands", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.shop.deliver = func(context.Context, *phase.Tx) (bool, error) {
			s.shop.deliver = nil
			runtime.Goexit()
			return false, nil
		}
		s.process().dies("k")
		s.process().completes()
		s.wantState("k", idempotency.Finished)
		s.want("deliveries", 1, "SELECT count(*) FROM deliveries")
		s.bank.wantMoved(t, 1)
	})

	t.Run("it acts for the original caller", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.bank.has(killsAfter)
		s.process().dies("k")
		s.process().completes()
		s.want("deliveries for the merchant", 1, "SELECT count(*) FROM deliveries WHERE actor = 'the merchant'")
		s.want("trail of the merchant", 1, "SELECT count(*) FROM trail WHERE actor = 'the merchant'")
	})

	t.Run("it leaves alone what a live process drives, however slowly", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		slow, held := s.process(), newStall()
		s.bank.has(held.day)
		done := make(chan struct{})
		go func() { defer close(done); _, _ = slow.serve("k") }()
		<-held.began
		if n := s.process().completes(); n != 0 {
			t.Errorf("it took %d requests over", n)
		}
		close(held.release)
		<-done
		s.wantState("k", idempotency.Finished)
	})

	t.Run("it leaves what is parked alone until that is due", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.bank.has(silent, silent)
		p := s.process()
		p.refuses("k", http.StatusServiceUnavailable)
		s.exec("UPDATE runs SET due_at = clock_timestamp() + interval '1 minute'")
		taken, err := idempotency.ResumeUnfinished(t.Context(), s.pool, p.engine.Known(), p.owner, 10)
		if err != nil || len(taken) != 0 {
			t.Errorf("it took %d requests over, error %v", len(taken), err)
		}
	})

	t.Run("one account's backlog does not keep another's request waiting", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		for _, key := range []string{"a", "b", "c"} {
			p.parks(account, key)
		}
		p.parks("acct_zz", "d")
		if accounts := p.takes(2); !slices.Equal(accounts, []string{account, "acct_zz"}) {
			t.Errorf("two requests were taken from %v", accounts)
		}
	})

	t.Run("nor does what is driven for it already", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		for _, key := range []string{"a", "b", "c"} {
			p.parks(account, key)
		}
		p.takes(1)
		p.parks("acct_zz", "d")
		if accounts := p.takes(1); !slices.Equal(accounts, []string{"acct_zz"}) {
			t.Errorf("the next place went to %v", accounts)
		}
	})

	t.Run("of two accounts the one that has waited longer is first", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		p.parks(account, "a")
		p.parks("acct_zz", "d")
		s.exec("UPDATE runs SET due_at = due_at - interval '1 second' WHERE account_id = 'acct_zz'")
		if accounts := p.takes(1); !slices.Equal(accounts, []string{"acct_zz"}) {
			t.Errorf("the next place went to %v", accounts)
		}
	})

	t.Run("it leaves a version it does not know to others, and a retry there hears 503", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.bank.has(silent, silent)
		s.process().refuses("k", http.StatusServiceUnavailable)

		older := phase.NewEngine(phase.Config{
			Pool:   s.pool,
			Secret: engineSecret,
			Owner:  "wk_older",
			Record: recordInTrail,
			Refuse: apirequest.Refuse,
		})
		taken, err := idempotency.ResumeUnfinished(t.Context(), s.pool, older.Known(), "wk_older", 10)
		if err != nil || len(taken) != 0 {
			t.Errorf("it took %d requests over, error %v", len(taken), err)
		}
		in := order{Amount: 2000}
		answer, err := s.shop.buy().Serve(t.Context(), older, call("k", in), in)
		wantRefusal(t, answer, err, http.StatusServiceUnavailable)
		s.bank.wantMoved(t, 0)
	})
}

// parks leaves an account's request behind, due at once.
func (p *process) parks(account, key string) {
	p.t.Helper()
	p.exec("INSERT INTO accounts (id, name) VALUES ('" + account + "', 'Small') ON CONFLICT DO NOTHING")
	p.bank.has(silent, silent)
	c := call(key, order{Amount: 2000})
	c.AccountID = account
	_, _ = p.buy.Serve(p.t.Context(), p.engine, c, order{Amount: 2000}) // its outcome is unknown
	p.exec("UPDATE runs SET due_at = clock_timestamp() WHERE state = 'parked'")
}

// takes returns whose requests are taken over for so many places.
func (p *process) takes(places int) (accounts []string) {
	p.t.Helper()
	taken, err := idempotency.ResumeUnfinished(p.t.Context(), p.pool, p.engine.Known(), p.owner, places)
	if err != nil || len(taken) != places {
		p.t.Fatalf("%d requests were taken over, error %v", len(taken), err)
	}
	for _, r := range taken {
		accounts = append(accounts, r.AccountID)
	}
	slices.Sort(accounts)
	return accounts
}

func TestAbandon(t *testing.T) {
	t.Parallel()

	t.Run("old work that was never sent is reversed, not done out of the blue", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.shop.limit = 10 * time.Minute
		s.bank.has(killsBefore)
		s.process().dies("k")
		s.backdate("k", 11*time.Minute)
		p := s.process()
		p.completes()
		looked, reversed := len(s.bank.keys(phase.Lookup)), len(s.bank.keys(phase.Reverse))
		if looked != 1 || reversed != 1 {
			t.Errorf("looked up %d times and reversed %d times, want once each", looked, reversed)
		}
		p.answers("k", http.StatusPaymentRequired)
		s.bank.wantMoved(t, 0)
	})

	t.Run("a late packet under its key is refused", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.shop.limit = 10 * time.Minute
		s.bank.has(killsBefore)
		s.process().dies("k")
		s.backdate("k", 11*time.Minute)
		s.process().completes()
		s.failOver() // even a standby that knows nothing of it cannot make it act
		s.process().answers("k", http.StatusPaymentRequired)
		s.bank.wantMoved(t, 0)
	})

	t.Run("old work that was sent is settled", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.shop.limit = 10 * time.Minute
		s.bank.has(killsAfter)
		s.process().dies("k")
		s.backdate("k", 11*time.Minute)
		p := s.process()
		p.completes()
		p.answers("k", http.StatusOK)
		if asked := len(s.bank.keys(phase.Send)); asked != 1 {
			t.Errorf("asked %d times, want the one before the crash", asked)
		}
		s.bank.wantMoved(t, 1)
	})

	t.Run("young work is completed: its client may be about to retry", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.shop.limit = 10 * time.Minute
		s.bank.has(killsBefore)
		s.process().dies("k")
		s.process().completes()
		s.bank.wantMoved(t, 1)
	})

	t.Run("old work whose client comes back is completed after all", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.shop.limit = 10 * time.Minute
		s.bank.has(killsBefore)
		s.process().dies("k")
		s.backdate("k", 11*time.Minute)
		s.process().answers("k", http.StatusOK)
		s.bank.wantMoved(t, 1)
	})

	t.Run("a reversal whose outcome is unknown is tried again", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.shop.limit = 10 * time.Minute
		s.bank.has(killsBefore, nil, silent) // the lookup is honest, the reversal gets lost
		s.process().dies("k")
		s.backdate("k", 11*time.Minute)
		p := s.process()
		p.completes()
		s.wantState("k", idempotency.Parked)
		p.completes()
		p.answers("k", http.StatusPaymentRequired)
		s.bank.wantMoved(t, 0)
	})

	t.Run("unsent work that came without a key is abandoned at any age", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.shop.limit = 10 * time.Minute
		s.bank.has(killsBefore)
		s.process().dies("")
		s.process().completes()
		s.want("abandoned", 1, `
			SELECT count(*) FROM request_status WHERE key_generated AND recovery_point = 'abandoned' AND status = 402`)
		s.bank.wantMoved(t, 0)
	})

	t.Run("sent work that came without a key is settled", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.shop.limit = 10 * time.Minute
		s.bank.has(killsAfter)
		s.process().dies("")
		s.process().completes()
		s.want("settled", 1, "SELECT count(*) FROM request_status WHERE key_generated AND status = 200")
		s.bank.wantMoved(t, 1)
	})
}

const countRefusals = "SELECT count(*) FROM fence_refusals"

// A process that is taken for dead and is not must not be able to do harm.
func TestOvertaken(t *testing.T) {
	t.Parallel()

	// overtaken lets a process stall in its call, be taken for dead, and wake up
	// again at the moment that meanwhile says it may.
	overtaken := func(s *env, meanwhile func(wake func() phase.Response)) {
		s.t.Helper()
		zombie, held := s.process(), newStall()
		s.bank.has(held.day)
		woken := make(chan phase.Response, 1)
		go func() {
			answer, err := zombie.serve("k")
			if err != nil {
				s.t.Errorf("the overtaken process has no answer: %v", err)
			}
			woken <- answer
		}()
		<-held.began
		zombie.expire()
		meanwhile(func() phase.Response {
			close(held.release)
			return <-woken
		})
	}

	t.Run("it answers its client with the winner's bytes, as a replay", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		overtaken(s, func(wake func() phase.Response) {
			winner := s.process().answers("k", http.StatusOK)
			s.want("refusals recorded while it stalls", 0, countRefusals)
			loser := wake()
			s.want("refusals recorded for the takeover that began epoch 2", 1, countRefusals+" WHERE epoch = 2")
			if !bytes.Equal(winner.Body, loser.Body) || winner.Replayed || !loser.Replayed {
				t.Errorf("the winner answered %q (replayed: %v), the overtaken one %q (replayed: %v)",
					winner.Body, winner.Replayed, loser.Body, loser.Replayed)
			}
		})
		s.want("deliveries", 1, "SELECT count(*) FROM deliveries")
		s.bank.wantMoved(t, 1)
	})

	// The two transactions of a phase that only writes and of one that reads
	// first stand behind different fences.
	for name, deliver := range map[string]func(context.Context, *phase.Tx) (bool, error){
		"that only writes": nil,
		"that reads first": func(ctx context.Context, tx *phase.Tx) (bool, error) {
			rows, err := tx.Query(ctx, "SELECT amount FROM orders")
			if err != nil {
				return false, err
			}
			_, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
			return false, err
		},
	} {
		t.Run("it cannot commit a phase "+name+" while its successor is still at work", func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.shop.deliver = deliver
			overtaken(s, func(wake func() phase.Response) {
				successor, held := s.process(), newStall()
				s.bank.has(held.day)
				won := make(chan phase.Response, 1)
				go func() {
					answer, err := successor.serve("k")
					if err != nil {
						t.Errorf("the successor has no answer: %v", err)
					}
					won <- answer
				}()
				<-held.began
				lost := make(chan phase.Response, 1)
				go func() { lost <- wake() }()
				s.untilRefused(t)
				close(held.release)
				winner, loser := <-won, <-lost
				if !bytes.Equal(winner.Body, loser.Body) || winner.Replayed || !loser.Replayed {
					t.Errorf("the winner answered %q (replayed: %v), the overtaken one %q (replayed: %v)",
						winner.Body, winner.Replayed, loser.Body, loser.Replayed)
				}
			})
			s.want("refusals recorded", 1, countRefusals)
			s.want("commits of the last phase by the successor", 1,
				"SELECT count(*) FROM request_checkpoints WHERE recovery_point = $1 AND epoch = 2", orderDelivered)
			s.want("deliveries", 1, "SELECT count(*) FROM deliveries")
			s.want("lines of the trail", 1, "SELECT count(*) FROM trail")
		})
	}

	t.Run("it cannot lay aside what its successor is driving", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		zombie, stuck, executed := s.process(), newStall(), newStall()
		failing := func(context.Context, func() (string, error)) (string, error) {
			close(stuck.began)
			<-stuck.release
			return "", phase.NotSent(errLine)
		}
		s.bank.has(failing, executed.day)
		lost, won := make(chan struct{}), make(chan phase.Response, 1)
		go func() { defer close(lost); _, _ = zombie.serve("k") }()
		<-stuck.began
		zombie.expire()
		successor := s.process()
		go func() {
			answer, err := successor.serve("k")
			if err != nil {
				t.Errorf("the successor has no answer: %v", err)
			}
			won <- answer
		}()
		<-executed.began
		close(stuck.release)
		s.untilRefused(t)
		s.wantState("k", idempotency.Running)
		close(executed.release)
		if answer := <-won; answer.Status != http.StatusOK || answer.Replayed {
			t.Errorf("the successor answered %+v", answer)
		}
		<-lost
	})
}

// untilRefused waits until the fence has refused a process, or a process got past it.
func (s *env) untilRefused(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if s.fenced.Load() > 0 || s.state("k") != idempotency.Running {
			return
		}
	}
	t.Fatal("nobody was refused and nobody got past the fence")
}
