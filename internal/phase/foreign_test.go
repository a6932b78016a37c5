package phase_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

func TestUnknownOutcome(t *testing.T) {
	t.Parallel()

	t.Run("an answer that was lost once is asked for again at once", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.bank.has(silentAfterActing)
		s.process().answers("k", http.StatusOK)
		if keys := s.bank.keys(phase.Send); len(keys) != 2 || keys[0] != keys[1] {
			t.Errorf("asked under %v, want one key twice", keys)
		}
		s.bank.wantMoved(t, 1)
	})

	t.Run("it is parked, never stored, and the retry finishes under the same key", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.bank.has(silent, silentAfterActing)
		p := s.process()
		refusal := p.refuses("k", http.StatusServiceUnavailable)
		if refusal.Retry != "true" || refusal.RetryAfter == 0 {
			t.Errorf("refused with %+v", refusal)
		}
		s.wantState("k", idempotency.Parked)
		s.want("attempts", 1, "SELECT attempts FROM request_status")
		s.want("answers stored", 0, "SELECT count(*) FROM request_status WHERE status IS NOT NULL")
		s.want("calls of unknown fate", 1,
			"SELECT count(*) FROM request_calls WHERE outcome = 'unknown' AND attempts = 1")

		answer := s.process().answers("k", http.StatusOK)
		if answer.Replayed {
			t.Error("the first answer there is says that it is a replay")
		}
		keys := s.bank.keys(phase.Send)
		if len(slices.Compact(keys)) != 1 {
			t.Errorf("asked under %v, want one key", keys)
		}
		s.bank.wantMoved(t, 1)
	})

	t.Run("the pause before the next attempt grows up to five minutes", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		for _, tc := range []struct {
			attempts int
			wait     time.Duration
		}{{0, time.Second}, {1, 2 * time.Second}, {6, 64 * time.Second}, {9, 5 * time.Minute}, {38, 5 * time.Minute}} {
			key := fmt.Sprintf("k%d", tc.attempts)
			s.bank.has(silent, silent, silent, silent)
			p.refuses(key, http.StatusServiceUnavailable)
			if tc.attempts > 0 {
				s.exec(`
					UPDATE runs SET attempts = $2
					WHERE request_id = (SELECT id FROM requests WHERE key = $1)`, key, tc.attempts)
				p.refuses(key, http.StatusServiceUnavailable)
			} else {
				s.bank.days = nil
			}
			var wait time.Duration
			err := s.pool.QueryRow(t.Context(), "SELECT due_at - clock_timestamp() FROM request_status WHERE key = $1",
				key).Scan(&wait)
			if err != nil {
				t.Fatal(err)
			}
			if wait > tc.wait || wait < tc.wait-time.Second*30 {
				t.Errorf("after %d attempts it waits %s, want %s", tc.attempts, wait, tc.wait)
			}
		}
	})

	t.Run("after too many attempts it is held for a person, and a retry is told not to come back", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.bank.has(silent, silent, silent, silent)
		p := s.process()
		p.refuses("k", http.StatusServiceUnavailable)
		s.exec("UPDATE runs SET attempts = 39, due_at = clock_timestamp()")
		p.completes() // the attempt that gives up
		s.wantState("k", idempotency.Held)
		if refusal := p.refuses("k", http.StatusInternalServerError); refusal.Retry != "false" {
			t.Errorf("refused with %+v", refusal)
		}
		if n := p.completes(); n != 0 {
			t.Error("the completer took a request that waits for a person")
		}
	})

	t.Run("a client that retries in a loop burns no attempts", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		for range 5 {
			s.bank.has(silent, silent)
			p.refuses("k", http.StatusServiceUnavailable)
		}
		s.want("attempts", 1, "SELECT attempts FROM request_status")
		s.want("sends", 5, "SELECT attempts FROM request_calls")
	})

	t.Run("work that kills whoever touches it ends up held", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.bank.has(killsBefore)
		s.process().dies("k")
		s.exec("UPDATE runs SET attempts = 39") // as many have died
		s.process().completes()
		s.wantState("k", idempotency.Held)
		s.bank.wantMoved(t, 0)
	})
}

func TestNotSent(t *testing.T) {
	t.Parallel()

	t.Run("what never left burns no attempt, however often", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		for range 3 {
			s.bank.has(closed)
			p.refuses("k", http.StatusServiceUnavailable)
		}
		s.wantState("k", idempotency.Parked)
		s.want("attempts", 0, "SELECT attempts FROM request_status")
		s.want("sends", 0, "SELECT attempts FROM request_calls")
		p.answers("k", http.StatusOK)
		s.bank.wantMoved(t, 1)
	})
}

func TestGenerations(t *testing.T) {
	t.Parallel()

	t.Run("a key that is proven unused is followed by the next one", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.bank.has(keyRetiredByBank)
		s.process().answers("k", http.StatusOK)
		keys := s.bank.keys(phase.Send)
		if len(keys) != 2 || keys[0] == keys[1] {
			t.Errorf("asked under %v, want two keys", keys)
		}
		s.want("proofs", 1, `
			SELECT count(*) FROM request_calls
			WHERE generation = 1 AND outcome = 'not_executed' AND proof LIKE '%failed for good'`)
		s.want("executed", 1, "SELECT count(*) FROM request_calls WHERE generation = 2 AND outcome = 'executed'")
		s.bank.wantMoved(t, 1)
	})

	t.Run("there is no second key while the first may still have acted", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.bank.has(silent, silent)
		s.process().refuses("k", http.StatusServiceUnavailable)
		for _, sql := range []string{
			"UPDATE runs SET call_generations = '{2}', call_keys = '{another key}'",
			`
				UPDATE runs SET call_phases = call_phases || call_phases,
				call_generations = call_generations || 2::smallint, call_keys = call_keys || 'another key'::text,
				call_sent_at = call_sent_at || call_sent_at, call_attempts = call_attempts || 0`,
		} {
			if _, err := s.pool.Exec(t.Context(), sql); err == nil {
				t.Errorf("the database accepted a second generation without proof: %s", sql)
			}
		}
	})

	t.Run("a port that refuses every key leaves the request to a person", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.bank.has(keyRetiredByBank, keyRetiredByBank, keyRetiredByBank, keyRetiredByBank, keyRetiredByBank)
		s.process().refuses("k", http.StatusInternalServerError)
		s.wantState("k", idempotency.Held)
		s.want("proofs", 5, "SELECT count(*) FROM request_calls WHERE outcome = 'not_executed' AND proof IS NOT NULL")
		s.bank.wantMoved(t, 0)
	})

	t.Run("once that person has it tried again, it is asked under the next key", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.bank.has(keyRetiredByBank, keyRetiredByBank, keyRetiredByBank, keyRetiredByBank, keyRetiredByBank)
		p := s.process()
		p.refuses("k", http.StatusInternalServerError)
		p.tryNow("k")
		p.completes()
		p.answers("k", http.StatusOK)
		s.want("executed", 1, "SELECT count(*) FROM request_calls WHERE generation = 6 AND outcome = 'executed'")
		s.bank.wantMoved(t, 1)
	})

	t.Run("and it is held again after as many more", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		for range 10 {
			s.bank.has(keyRetiredByBank)
		}
		p := s.process()
		p.refuses("k", http.StatusInternalServerError)
		p.tryNow("k")
		p.refuses("k", http.StatusInternalServerError)
		s.wantState("k", idempotency.Held)
		s.want("proofs", 10, "SELECT count(*) FROM request_calls WHERE outcome = 'not_executed'")
		s.bank.wantMoved(t, 0)
	})
}

func TestDerivedKey(t *testing.T) {
	t.Parallel()

	t.Run("a failover that forgot the request does not make its retry pay twice", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		first := s.process().answers("k", http.StatusOK)
		s.failOver()
		again := s.process().answers("k", http.StatusOK)
		if !bytes.Equal(first.Body, again.Body) {
			t.Errorf("first %q, after the failover %q", first.Body, again.Body)
		}
		s.bank.wantMoved(t, 1)
	})

	t.Run("nor does one after attempts, takeovers and a second generation", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		s.bank.has(silent, silent)
		p.refuses("k", http.StatusServiceUnavailable)
		s.bank.has(keyRetiredByBank)
		p.answers("k", http.StatusOK) // in the second epoch, under the second generation
		s.failOver()
		s.bank.has(keyRetiredByBank)
		p.answers("k", http.StatusOK) // in the first epoch
		s.bank.wantMoved(t, 1)
	})

	t.Run("the acquirer cannot read the caller's key in it", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.process().answers("an order number", http.StatusOK)
		if keys := s.bank.keys(phase.Send); bytes.Contains([]byte(keys[0]), []byte("order")) {
			t.Errorf("asked under %q", keys[0])
		}
	})
}

func TestMemoryWindow(t *testing.T) {
	t.Parallel()

	t.Run("a call whose key the acquirer may have forgotten is looked up and never sent again", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.bank.has(silent, silentAfterActing)
		p := s.process()
		p.refuses("k", http.StatusServiceUnavailable)
		s.backdate("k", bankKeyRetention+time.Minute)
		p.answers("k", http.StatusOK)
		if asked := len(s.bank.keys(phase.Send)); asked != 2 {
			t.Errorf("asked %d times, want the 2 before the window closed", asked)
		}
		if looked := len(s.bank.keys(phase.Lookup)); looked != 1 {
			t.Errorf("looked up %d times, want once", looked)
		}
		s.bank.wantMoved(t, 1)
	})

	t.Run("where the lookup finds nothing, a person decides", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.bank.has(silent, silent)
		p := s.process()
		p.refuses("k", http.StatusServiceUnavailable)
		s.backdate("k", bankKeyRetention+time.Minute)
		if refusal := p.refuses("k", http.StatusInternalServerError); refusal.Retry != "false" {
			t.Errorf("refused with %+v", refusal)
		}
		s.wantState("k", idempotency.Held)
		s.bank.wantMoved(t, 0)
	})
}

func TestReversed(t *testing.T) {
	t.Parallel()
	reversed := func(context.Context, func() (string, error)) (string, error) { return "", phase.ErrReversed }

	t.Run("a call that the acquirer reversed ends as abandoned, and that is final", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.shop.limit = time.Hour
		s.bank.has(reversed)
		p := s.process()
		first := p.answers("k", http.StatusPaymentRequired)
		again := p.answers("k", http.StatusPaymentRequired)
		if !again.Replayed || !bytes.Equal(first.Body, again.Body) {
			t.Errorf("first %q, then %q", first.Body, again.Body)
		}
		s.want("calls proven undone", 1, "SELECT count(*) FROM request_calls WHERE outcome = 'not_executed'")
		s.want("journal lines", 1, "SELECT count(*) FROM request_checkpoints WHERE recovery_point = 'abandoned'")
		s.want("deliveries", 0, "SELECT count(*) FROM deliveries")
	})

	t.Run("an operation without a way back leaves it to a person", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.bank.has(reversed)
		s.process().refuses("k", http.StatusInternalServerError)
		s.wantState("k", idempotency.Held)
	})
}
