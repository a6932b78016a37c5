package api_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/process"
)

// TestOpenBreaker lets an acquirer hang up on every call, and counts what the
// requests that it strands are charged for that.
func TestOpenBreaker(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	s := newEnv(t, func(c *process.Config) {
		c.Limits.BreakerFailures, c.Limits.BreakerPause = 3, time.Hour
		c.AcquirerURL = overhear(t, c.AcquirerURL, func(*http.Request) {
			asked.Add(1)
			panic(http.ErrAbortHandler)
		})
	})
	attempts := func(t *testing.T, key string) (count, sends, epoch int) {
		t.Helper()
		err := s.db.Pool.QueryRow(t.Context(), `
			SELECT r.attempts, sum(c.attempts), r.epoch FROM request_status r
			JOIN request_calls c ON c.account_id = r.account_id AND c.request_id = r.id
			WHERE r.key = $1 GROUP BY r.attempts, r.epoch`, key).Scan(&count, &sends, &epoch)
		if err != nil {
			t.Fatal(err)
		}
		return count, sends, epoch
	}
	charge := func(key string) sent {
		return sent{target: "/v1/charges", body: mug, header: header("Idempotency-Key", key)}
	}
	unfinished := func(t *testing.T, a answer) {
		t.Helper()
		requireRefusal(t, a, refused{status: http.StatusServiceUnavailable, want: fault{Type: "api_error"}})
	}

	unfinished(t, s.ask(t, charge("asked twice")))
	unfinished(t, s.ask(t, charge("opens it")))
	if n := asked.Load(); n != 3 {
		t.Fatalf("the acquirer was asked %d times, want 3", n)
	}
	t.Run("a question that was sent counts, also where the breaker kept the second one back", func(t *testing.T) {
		for _, key := range []string{"asked twice", "opens it"} {
			if count, sends, _ := attempts(t, key); count != 1 || sends != 1 {
				t.Errorf("%s: %d attempts, %d sends, want 1 and 1", key, count, sends)
			}
		}
	})
	t.Run("a charge that finds it open is parked without an attempt, and so are its retries", func(t *testing.T) {
		for range 5 {
			unfinished(t, s.ask(t, charge("held back")))
		}
		if count, sends, epoch := attempts(t, "held back"); count != 0 || sends != 0 || epoch < 5 {
			t.Errorf("%d attempts, %d sends, taken over %d times", count, sends, epoch-1)
		}
	})
	t.Run("the completer burns none of a request's attempts either", func(t *testing.T) {
		_, _, before := attempts(t, "held back")
		s.config.Limits.BreakerFailures = 1
		s.work(t, nil)
		await(t, "the completer has tried five times", func() bool {
			s.exec(t, `UPDATE runs SET due_at = now() WHERE state = 'parked' AND due_at > now()`)
			_, _, now := attempts(t, "held back")
			return now >= before+5
		})
		// The first to call opens the completer's own breaker; it may be this one.
		if count, _, _ := attempts(t, "held back"); count > 1 {
			t.Errorf("%d attempts are gone", count)
		}
	})
	if n := s.sim.Holds(); n != 0 {
		t.Errorf("the acquirer has acted %d times", n)
	}
}
