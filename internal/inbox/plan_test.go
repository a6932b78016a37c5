package inbox

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestDueMessagesAreFoundByTheirTime(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), `
		INSERT INTO inbox (source, event_id, kind, digest, body, state, reason, due_at)
		SELECT 'acquirer', 'ev_' || n, 'batch.settled', sha256('{}'), '{}', 'waiting', 'no such charge',
		       now() + n * interval '1 minute'
		FROM generate_series(1, 20000) n;
		ANALYZE inbox`)
	if err != nil {
		t.Fatal(err)
	}
	plan := db.Plan(t, dueKept, pgx.StrictNamedArgs{"limit": dueAtOnce})
	if !strings.Contains(plan, "Index Cond: (due_at <= statement_timestamp())") {
		t.Errorf("the index is not searched for what is due:\n%s", plan)
	}
}

func TestAMessageThatWaitsIsDueWhenTheClockFallsBack(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t).Pool
	applies := Open(pool, func(context.Context, Message) error {
		return NotYet("no such charge")
	}, slog.New(slog.DiscardHandler))
	for _, waits := range []struct {
		ahead string
		want  int
	}{{"4 minutes", 0}, {"1 hour", 1}} {
		_, err := pool.Exec(t.Context(), `
			INSERT INTO inbox (source, event_id, kind, digest, body, state, reason, due_at)
			VALUES ('acquirer', $1, 'movement.settled', sha256('{}'), '{}', 'waiting', 'no such charge',
				now() + $1::text::interval)`, waits.ahead)
		if err != nil {
			t.Fatal(err)
		}
		tried, err := applies.ApplyDue(t.Context())
		if err != nil || tried != waits.want {
			t.Errorf("%d messages were tried when one was due in %s and none waits longer than five minutes, want "+
				"%d; error %v", tried, waits.ahead, waits.want, err)
		}
	}
}

// An error that may pass says nothing about the other messages.
func TestAMessageThatMeetsALockHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t).Pool
	var applied []string
	applies := Open(pool, func(_ context.Context, m Message) error {
		if m.EventID == "ev_locked" {
			return &pgconn.PgError{Code: "55P03"}
		}
		applied = append(applied, m.EventID)
		return nil
	}, slog.New(slog.DiscardHandler))
	_, err := pool.Exec(t.Context(), `
		INSERT INTO inbox (source, event_id, kind, digest, body, state, reason, due_at)
		SELECT 'acquirer', id, 'refund.failed', sha256('{}'), '{}', 'waiting', 'no such charge', now() - before
		FROM (VALUES ('ev_locked', interval '2 s'), ('ev_free', interval '1 s')) m (id, before)`)
	if err != nil {
		t.Fatal(err)
	}
	tried, err := applies.ApplyDue(t.Context())
	if err == nil || tried != 2 || !slices.Equal(applied, []string{"ev_free"}) {
		t.Errorf("%d messages were tried and %q applied, want both and ev_free; error %v", tried, applied, err)
	}
}
