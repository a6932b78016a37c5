package acquirer

import (
	"testing"
	"time"
)

func TestBreaker(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	opened := func(t *testing.T) *breaker {
		t.Helper()
		b := &breaker{limit: 3, pause: time.Second}
		for range 3 {
			if !b.allow(now) {
				t.Fatal("refused before the limit was reached")
			}
			b.failed(now)
		}
		return b
	}

	t.Run("it refuses after so many failures in a row", func(t *testing.T) {
		t.Parallel()
		if opened(t).allow(now.Add(999 * time.Millisecond)) {
			t.Error("allowed a call during the pause")
		}
	})

	t.Run("an answer in between starts the count again", func(t *testing.T) {
		t.Parallel()
		b := &breaker{limit: 3, pause: time.Second}
		for range 10 {
			b.failed(now)
			b.failed(now)
			b.answered()
		}
		if !b.allow(now) {
			t.Error("refused although no three failures came in a row")
		}
	})

	t.Run("one probe is let through when the pause is over", func(t *testing.T) {
		t.Parallel()
		b := opened(t)
		later := now.Add(time.Second)
		if !b.allow(later) {
			t.Error("refused the probe")
		}
		if b.allow(later) {
			t.Error("allowed a second call while the probe was out")
		}
	})

	t.Run("an answered probe closes it and a failed one does not", func(t *testing.T) {
		t.Parallel()
		b := opened(t)
		later := now.Add(time.Second)
		b.allow(later)
		b.failed(later)
		if b.allow(later.Add(500 * time.Millisecond)) {
			t.Error("allowed a call right after a failed probe")
		}
		b.allow(later.Add(time.Second))
		b.answered()
		for range 2 { // a probe would be let through alone
			if !b.allow(later.Add(time.Second)) {
				t.Error("refused a call after the probe was answered")
			}
		}
	})

	t.Run("a negative limit never opens it", func(t *testing.T) {
		t.Parallel()
		b := &breaker{limit: -1, pause: time.Second}
		for range 100 {
			b.failed(now)
		}
		if !b.allow(now) {
			t.Error("refused")
		}
	})
}
