package phase_test

import (
	"net/http"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

func TestFormerly(t *testing.T) {
	t.Parallel()
	const orderShipped = "order_shipped"
	upgraded := func(s *env) *process {
		p := s.process()
		p.buy = phase.Define("order.buy", 2, phase.Atomic(orderRecorded, s.shop.recordOrder),
			phase.Foreign(bankPaid, bankPort, askBank), phase.Atomic(orderShipped, s.shop.deliverOrder))
		if err := p.engine.Register(t.Context(), p.buy, p.buy.Formerly(1, orderShipped, orderDelivered)); err != nil {
			t.Fatal(err)
		}
		return p
	}

	for _, tc := range []struct {
		name      string
		completer bool
	}{
		{"the completer finishes what an older program left, under the older points", true},
		{"a client's retry finishes it, too", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.bank.has(killsAfter)
			s.process().dies("k")
			p := upgraded(s)
			if tc.completer {
				if n := p.completes(); n != 1 {
					t.Errorf("it took %d requests over, want 1", n)
				}
			}
			p.answers("k", http.StatusOK)
			s.wantState("k", idempotency.Finished)
			s.want("older path", 1, `SELECT count(*) FROM answers
				WHERE recovery_points = '{order_recorded,bank_paid,order_delivered}'`)
			s.bank.wantMoved(t, 1)
		})
	}

	t.Run("a new request has the present version's points", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		upgraded(s).answers("k", http.StatusOK)
		s.want("present path", 1, `SELECT count(*) FROM answers
			WHERE recovery_points = '{order_recorded,bank_paid,order_shipped}'`)
	})

	t.Run("a point that the flow does not have is refused", func(t *testing.T) {
		t.Parallel()
		defer func() {
			if recover() == nil {
				t.Error("it did not panic")
			}
		}()
		s := setup(t)
		s.shop.buy().Formerly(0, orderShipped, "order_sent")
	})
}
