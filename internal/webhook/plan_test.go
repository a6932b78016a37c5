package webhook

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// TestDueDeliveriesAreFoundByTheirTime has one endpoint with a long queue of retries.
func TestDueDeliveriesAreFoundByTheirTime(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	do(t, db.Pool, makeEndpoint)
	do(t, db.Pool, makeEvents, 20_000)
	do(t, db.Pool, `INSERT INTO webhook_deliveries (account_id, event_id, endpoint_id, due_at, created_at)
		SELECT 'acct_1', id, 'we_1', now() + (row_number() OVER ()) * interval '1 minute', now() FROM events`)
	do(t, db.Pool, `ANALYZE webhook_deliveries`)
	endpoint := func(more pgx.StrictNamedArgs) pgx.StrictNamedArgs {
		more["account_id"], more["endpoint_id"] = shop.AccountID, shop.EndpointID
		return more
	}
	for name, c := range map[string]struct {
		sql   string
		args  pgx.StrictNamedArgs
		bound string
	}{
		"to claim one": {claimDelivery,
			endpoint(pgx.StrictNamedArgs{"lanes": lanes, "owner": "wk_1", "claim_time": claimTime}),
			"(due_at <= statement_timestamp())"},
		"to cancel them": {cancelDue, endpoint(pgx.StrictNamedArgs{"limit": cancelAtOnce}),
			"(due_at <= statement_timestamp())"},
		"to wake a worker": {wakeOverdue,
			pgx.StrictNamedArgs{"kind": Wake{}.Kind(), "queue": Queue, "overdue_after": overdueAfter},
			"(due_at < (statement_timestamp() - "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := db.Plan(t, c.sql, c.args)
			searched := false
			for line := range strings.Lines(plan) {
				searched = searched || strings.Contains(line, "Index Cond:") && strings.Contains(line, c.bound)
			}
			if !searched {
				t.Errorf("the index is not searched for what is due:\n%s", plan)
			}
		})
	}
}
