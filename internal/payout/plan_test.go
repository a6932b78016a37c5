package payout

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// A plan is kept for the life of a session, and may be made while an account has no charges yet. When it has a million,
// settling a part still reads the charges of the part, and no others.
func TestMovementsLookTheirChargesUp(t *testing.T) {
	db := pgtest.New(t)
	moved := movementArgs([]acquirer.SettledMovement{{Kind: "sale", Authorization: "a", Reference: "r", Amount: 1}})
	insert := pgx.StrictNamedArgs{"account_id": "acct_1", "livemode": false, "request_id": "req_1", "batch": "b",
		"part": 1, "currency": "usd", "posting_id": "txn_1", "settled_at": time.Now(), "now": time.Now(),
		"paid": acquirer.PaidKinds, "taken": acquirer.TakenKinds}
	compare := pgx.StrictNamedArgs{"account_id": "acct_1", "livemode": false, "currency": "usd"}
	for name, value := range moved {
		insert[name], compare[name] = value, value
	}
	for name, statement := range map[string]struct {
		sql    string
		args   pgx.StrictNamedArgs
		lookUp []string
	}{
		"insert": {insertMovements, insert, []string{"(acquirer_reference = t.authorization_id)"}},
		"compare": {compareMovements, compare, []string{"Index Scan using settlements_one_per_movement",
			"(id = settlements.charge_id)", "Index Scan using movements_waiting_one_per_movement"}},
	} {
		t.Run(name, func(t *testing.T) {
			plan := explain(t, db, statement.sql, statement.args)
			for _, condition := range statement.lookUp {
				if !strings.Contains(plan, condition) {
					t.Errorf("no index is searched with %s in:\n%s", condition, plan)
				}
			}
			if strings.Contains(plan, "Hash Right Join") || strings.Contains(plan, "Hash Left Join") {
				t.Errorf("a whole account is hashed in:\n%s", plan)
			}
		})
	}
}

// explain is the plan of a statement in a session of transactions.
func explain(t *testing.T, db *pgtest.DB, sql string, args pgx.StrictNamedArgs) string {
	t.Helper()
	conn, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for name, value := range phase.TransactionSession {
		if _, err := conn.Exec(t.Context(), "SELECT set_config($1, $2, false)", name, value); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := conn.Query(t.Context(), "EXPLAIN "+sql, args)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
