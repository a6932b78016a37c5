package inbox

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestDueMessagesAreFoundByTheirTime(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), `
		INSERT INTO inbox (source, event_id, kind, digest, body, state, reason, due_at)
		SELECT 'acquirer', 'ev_' || n, 'movement.settled', sha256('{}'), '{}', 'waiting', 'no such charge', now() + n * interval '1 minute'
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
