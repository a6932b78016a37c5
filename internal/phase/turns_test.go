package phase_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

// turnstile notes when an account's turns begin and end.
type turnstile struct {
	noted []string
	shut  error // what Enter returns, if anything
}

func (s *turnstile) Enter(_ context.Context, account string) (release func(), err error) {
	s.noted = append(s.noted, "turn of "+account)
	return func() { s.noted = append(s.noted, "end") }, s.shut
}

func TestTurns(t *testing.T) {
	t.Parallel()
	through := func(s *turnstile) func(*phase.Config) { return func(c *phase.Config) { c.Turns = s } }

	t.Run("a request has a turn for each transaction and none during the call", func(t *testing.T) {
		t.Parallel()
		s, turns := setup(t), &turnstile{}
		s.bank.has(func(_ context.Context, honest func() (string, error)) (string, error) {
			turns.noted = append(turns.noted, "call")
			return honest()
		})
		s.processOn(s.pool, through(turns)).answers("k", http.StatusOK)
		turn := "turn of " + account
		if want := []string{turn, "end", "call", turn, "end"}; !slices.Equal(turns.noted, want) {
			t.Errorf("noted %q, want %q", turns.noted, want)
		}
	})

	t.Run("a request whose turn does not come leaves nothing", func(t *testing.T) {
		t.Parallel()
		s, turns := setup(t), &turnstile{shut: context.DeadlineExceeded}
		_, err := s.processOn(s.pool, through(turns)).serve("k")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		s.wantState("k", "no row")
		s.bank.wantMoved(t, 0)
		s.process().answers("k", http.StatusOK)
	})
}
