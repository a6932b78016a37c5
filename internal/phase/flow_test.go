package phase_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

func next(context.Context, *phase.Tx, order, *purchase) (phase.Outcome, error) {
	return phase.Next, nil
}

func ask(context.Context, phase.ForeignCall[bankAPI], order, *purchase) error { return nil }

func TestDefine(t *testing.T) {
	t.Parallel()
	atomic := func(point string) phase.Phase[order, purchase] { return phase.Atomic(point, next) }
	foreign := func(point string) phase.Phase[order, purchase] { return phase.Foreign(point, bankPort, ask) }

	for _, tc := range []struct {
		refuses string
		phases  []phase.Phase[order, purchase]
	}{
		{"a table without phases", nil},
		{"a call whose key is not durable yet", []phase.Phase[order, purchase]{foreign("paid"), atomic("delivered")}},
		{"a call whose answer nobody writes down", []phase.Phase[order, purchase]{atomic("recorded"), foreign("paid")}},
		{"two points of one name",
			[]phase.Phase[order, purchase]{atomic("recorded"), foreign("paid"), atomic("recorded")}},
		{"a point that is the engine's own", []phase.Phase[order, purchase]{atomic("recorded"), atomic("abandoned")}},
	} {
		t.Run("it refuses "+tc.refuses, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("it did not")
				}
			}()
			phase.Define("order.buy", 1, tc.phases...)
		})
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	edited := func(version int16) *phase.Flow[order, purchase] {
		return phase.Define("order.buy", version, phase.Atomic(orderRecorded, next),
			phase.Foreign(bankPaid, bankPort, ask),
			phase.Atomic("order_packed", next), phase.Atomic(orderDelivered, next))
	}

	t.Run("a version whose points have changed is refused, and the points it has stay", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		err := p.engine.Register(t.Context(), edited(1))
		if err == nil || !strings.Contains(err.Error(), "give it a new version") {
			t.Errorf("error %v", err)
		}
		s.want("points", 3, "SELECT count(*) FROM recovery_points WHERE flow = 'order.buy'")
		if err := p.engine.Register(t.Context(), edited(2)); err != nil {
			t.Errorf("the new version is refused, too: %v", err)
		}
	})

	t.Run("a flow whose port is not connected is refused, by name, and nothing is registered", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		unconnected := phase.NewEngine(phase.Config{Pool: s.pool, Secret: engineSecret, Owner: "wk_test"})
		err := unconnected.Register(t.Context(), s.shop.buy())
		if err == nil || !strings.Contains(err.Error(), `order.buy`) ||
			!strings.Contains(err.Error(), `port "bank" is not connected`) {
			t.Errorf("error %v, want one that names the flow and the port", err)
		}
		s.want("points", 0, "SELECT count(*) FROM recovery_points")
		phase.Connect[bankAPI](unconnected, bankPort, s.bank)
		if err := unconnected.Register(t.Context(), s.shop.buy()); err != nil {
			t.Errorf("with its port connected, the flow is refused, too: %v", err)
		}
	})

	t.Run("registering the same version again, from any number of processes, changes nothing", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.process()
		s.process()
		s.want("points", 3, "SELECT count(*) FROM recovery_points")
	})

	t.Run("a deploy cannot drop a point, for requests stand on it or have passed it", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.bank.has(silent, silent)
		s.process().refuses("k", http.StatusServiceUnavailable)
		for _, point := range []string{orderRecorded, bankPaid} {
			_, err := s.pool.Exec(t.Context(), "DELETE FROM recovery_points WHERE name = $1", point)
			if err == nil || !strings.Contains(err.Error(), "requests stand on recovery points") {
				t.Errorf("error %v, want one that says why", err)
			}
		}
	})
}
