package phase_test

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

// mostFrames is how many functions may stand between Serve and a phase: the
// engine has to be read in a stack trace, too.
const mostFrames = 4

func TestFrames(t *testing.T) {
	t.Parallel()
	s := setup(t)
	frames := map[string][]string{}
	s.shop.record = func(*phase.Tx, order) error {
		frames["an atomic phase"] = above("recordOrder")
		return nil
	}
	s.bank.has(func(_ context.Context, honest func() (string, error)) (string, error) {
		frames["a foreign phase"] = above("askBank")
		return honest()
	})
	s.process().answers("k", http.StatusOK)
	for kind, between := range frames {
		if len(between) == 0 || len(between) > mostFrames {
			t.Errorf("%d frames between Serve and %s, want 1 to %d: %v", len(between), kind, mostFrames, between)
		}
	}
	if len(frames) != 2 {
		t.Errorf("looked at %d phases, want 2", len(frames))
	}
}

// above are the functions between a phase and Serve, the phase's caller first.
func above(name string) (between []string) {
	var callers [64]uintptr
	stack := runtime.CallersFrames(callers[:runtime.Callers(1, callers[:])])
	inside := false
	for {
		frame, more := stack.Next()
		switch {
		case strings.HasSuffix(frame.Function, ".Serve"):
			return between
		case inside && strings.Contains(frame.Function, "internal/phase."):
			between = append(between, frame.Function)
		case strings.HasSuffix(frame.Function, "."+name), strings.Contains(frame.Function, "."+name+"-fm"):
			inside = true
		}
		if !more {
			return nil
		}
	}
}
