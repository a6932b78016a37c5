//go:build unix

package bank_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-pay/ratchet/examples/bank"
	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/phase/phasetest"
)

func open(t *testing.T, path string) *bank.Bank {
	t.Helper()
	b, err := bank.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// lossy loses orders and answers, as a network does.
type lossy struct{ *bank.Bank }

type loses struct{}

var errLost = errors.New("no answer")

func (l lossy) Authorize(ctx context.Context, p phase.Permit, o acquirer.Order) (acquirer.Result, error) {
	if ctx.Value(loses{}) == "order" {
		return acquirer.Result{}, errLost
	}
	answer, err := l.Bank.Authorize(ctx, p, o)
	if ctx.Value(loses{}) == "answer" {
		return acquirer.Result{}, errLost
	}
	return answer, err
}

func subject(t *testing.T) acquirertest.Subject {
	b, closed := open(t, filepath.Join(t.TempDir(), "books")), open(t, filepath.Join(t.TempDir(), "books"))
	closed.Close()
	lose := func(what string) func(context.Context) context.Context {
		return func(ctx context.Context) context.Context { return context.WithValue(ctx, loses{}, what) }
	}
	return acquirertest.Subject{
		Adapter:     lossy{b},
		Unreachable: closed,
		Merchant:    "acct_conformance",
		Card:        "visa",
		Declined:    "visa_declined",
		Account:     "ba_us",
		LoseOrder:   lose("order"),
		LoseAnswer:  lose("answer"),
		Notify: func(t *testing.T, url, secret string) {
			notifying, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); b.Notify(notifying, url, secret) }()
			t.Cleanup(func() { stop(); <-ended })
		},
		Settle: func(t *testing.T) {
			if err := b.Settle(); err != nil {
				t.Error(err)
			}
		},
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	acquirertest.Conformance(t, subject(t))
}

func TestRestart(t *testing.T) {
	t.Parallel()
	sale := acquirer.Order{Merchant: "acct_1", Card: "visa", Amount: 1000, Currency: "usd", Capture: true}

	t.Run("another process answers as the first one did", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "books")
		permit := phasetest.Permit(t, "key", phase.Send)
		first, err := open(t, path).Authorize(t.Context(), permit, sale)
		if err != nil {
			t.Fatal(err)
		}
		again, err := open(t, path).Authorize(t.Context(), permit, sale)
		if err != nil || again.Reference != first.Reference || !again.Replayed {
			t.Errorf("answered %+v, and after a restart %+v, %v", first, again, err)
		}
	})

	t.Run("a line that its writer did not finish is no order", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "books")
		if err := os.WriteFile(path, []byte(`{"Key":"key","Verb":"authorize","Ord`), 0o600); err != nil {
			t.Fatal(err)
		}
		b := open(t, path)
		_, err := b.Authorize(t.Context(), phasetest.Permit(t, "key", phase.Lookup), sale)
		if !errors.Is(err, phase.ErrNotExecuted) {
			t.Errorf("looked up: %v", err)
		}
		answer, err := b.Authorize(t.Context(), phasetest.Permit(t, "key", phase.Send), sale)
		if err != nil || !answer.Approved || answer.Replayed {
			t.Errorf("answered %+v, %v", answer, err)
		}
	})
}
