package developers

import (
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// answered is a database in which one account has many finished requests and none under way.
func answered(t *testing.T) *pgtest.DB {
	t.Helper()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), `
		INSERT INTO accounts (id, name) VALUES ('acct_1', 'Toboggans');
		INSERT INTO flows VALUES ('charge', 1, 'digest');
		INSERT INTO recovery_points VALUES ('charge', 1, 'started', 0, 'atomic');
		WITH asked AS (
			INSERT INTO requests (account_id, id, livemode, key, key_generated, method, path, fingerprint,
				fingerprint_version, params, context, flow, version, created_at)
			SELECT 'acct_1', 'req_' || to_char(n, 'FM00000000'), false, 'key ' || n, false, 'POST', '/v1/charges',
			       '\x01', 1, '{}', '{}', 'charge', 1, now()
			FROM generate_series(1, 3000) n
			RETURNING account_id, id
		)
		INSERT INTO answers (account_id, request_id, status, headers, body, recovery_points, reached_at, reached_epochs,
			finished_at, expires_at)
		SELECT account_id, id, 200, '{}', '{}', '{started}', ARRAY[now()], '{1}', now(), now() FROM asked;
		ANALYZE requests, answers, runs, accounts`)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// lookedUp is in a plan that looks rows up by IDs that it has read before. PostgreSQL 15 and 16 write ($0),
// and 17 and later write ((InitPlan 2).col1).
var lookedUp = regexp.MustCompile(`Index Cond: .*\bid = ANY \((\$\d|\(InitPlan \d)`)

func TestPlans(t *testing.T) {
	t.Parallel()
	db := answered(t)

	t.Run("unfinished requests are looked up by the IDs of their runs", func(t *testing.T) {
		t.Parallel()
		for name, sql := range map[string]string{"down": unfinishedDown, "up": unfinishedUp} {
			args := pgx.StrictNamedArgs{"account_id": "acct_1", "livemode": false, "least": firstID, "most": lastID,
				"path": "", "flow": "", "status": "", "again": false, "by": byAnybody, "keyed": false,
				"states": idempotency.Unfinished(), "limit": 26}
			if name == "down" {
				args["before"] = ""
			} else {
				args["after"] = "req_00000001"
			}
			plan := db.Plan(t, sql, args)
			if strings.Contains(plan, "Seq Scan on requests") || !lookedUp.MatchString(plan) {
				t.Errorf("%s, all requests are read:\n%s", name, plan)
			}
		}
	})
}
