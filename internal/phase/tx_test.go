package phase_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// A rule that the database checks only when everything else has succeeded: while it
// commits.
const (
	deferredRule    = "CREATE TABLE places (place integer UNIQUE DEFERRABLE INITIALLY DEFERRED)"
	breakRule       = "INSERT INTO places VALUES (1), (1)"
	uniqueViolation = "23505"
)

// read makes the transaction an explicit one, which ends with its own COMMIT.
func read(ctx context.Context, tx *phase.Tx) error {
	rows, err := tx.Query(ctx, "SELECT 1")
	if err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

func TestCommit(t *testing.T) {
	t.Parallel()

	for name, reads := range map[string]bool{"in one packet": false, "behind a read": true} {
		t.Run("a rule that is checked at the very end undoes the claim, "+name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.exec(deferredRule)
			s.shop.record = func(tx *phase.Tx, _ order) error {
				if reads {
					if err := read(t.Context(), tx); err != nil {
						return err
					}
				}
				tx.Write(breakRule, pgx.StrictNamedArgs{})
				return nil
			}
			answer, err := s.process().serve("k")
			if postgres.Code(err) != uniqueViolation {
				t.Fatalf("answered %d, %v", answer.Status, err)
			}
			s.wantState("k", "no row")
			s.want("orders", 0, "SELECT count(*) FROM orders")
			s.want("places", 0, "SELECT count(*) FROM places")
			s.bank.wantMoved(t, 0)
		})

		t.Run("a rule that is checked at the very end undoes the answer, "+name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.exec(deferredRule)
			broken := true
			s.shop.deliver = func(ctx context.Context, tx *phase.Tx) (bool, error) {
				if reads {
					if err := read(ctx, tx); err != nil {
						return false, err
					}
				}
				if broken {
					tx.Write(breakRule, pgx.StrictNamedArgs{})
				}
				return false, nil
			}
			p := s.process()
			p.refuses("k", http.StatusServiceUnavailable)
			s.wantState("k", idempotency.Parked)
			s.want("deliveries", 0, "SELECT count(*) FROM deliveries")
			s.want("places", 0, "SELECT count(*) FROM places")
			broken = false
			p.answers("k", http.StatusOK)
			s.want("deliveries", 1, "SELECT count(*) FROM deliveries")
			s.bank.wantMoved(t, 1)
		})
	}

	t.Run("a claim that is lost with its connection every time is refused, not tried for ever", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		tries := 0
		s.shop.record = func(tx *phase.Tx, _ order) error {
			tries++
			tx.Write("SELECT pg_terminate_backend(pg_backend_pid())", pgx.StrictNamedArgs{})
			return nil
		}
		p := s.process()
		p.refuses("k", http.StatusServiceUnavailable)
		if tries > 10 {
			t.Errorf("it was tried %d times", tries)
		}
		s.wantState("k", "no row")
		s.bank.wantMoved(t, 0)
		s.shop.record = nil
		p.answers("k", http.StatusOK)
	})
}
