package schema_test

import (
	"fmt"
	"testing"
)

var roles = []string{"ratchet_api", "ratchet_worker", "ratchet_auditor"}

// The triggers refuse even the owner; these roles do not get as far. Both
// answer with the same SQLSTATE, so the grants themselves are read too.
func TestNoRoleCanRewriteHistory(t *testing.T) {
	t.Parallel()
	db := seeded(t)

	for _, role := range roles {
		pool := db.PoolAs(t, role)
		t.Run(role, func(t *testing.T) {
			for _, table := range frozenTables {
				for _, sql := range []string{
					fmt.Sprintf(`UPDATE %s SET %s`, table.name, table.change),
					`DELETE FROM ` + table.name,
					`TRUNCATE ` + table.name + ` CASCADE`,
					`ALTER TABLE ` + table.name + ` DISABLE TRIGGER ALL`,
					`ALTER TABLE ` + table.name + ` ADD COLUMN note text`,
					`DROP TABLE ` + table.name + ` CASCADE`,
				} {
					try(t, pool, promise{refused: sql, state: privilege})
				}
			}
		})
	}

	t.Run("no role is granted a right to change or delete that it does not need", func(t *testing.T) {
		excess := column(t, db.Pool, `
			SELECT format('%s may %s %s', role, right_, r.relname)
			  FROM pg_class r, unnest(ARRAY['ratchet_api', 'ratchet_worker', 'ratchet_auditor']) role,
			       unnest(ARRAY['UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) right_
			 WHERE r.relnamespace = 'public'::regnamespace AND r.relkind IN ('r', 'p')
			   AND has_table_privilege(role, r.oid, right_)
			   AND NOT (right_ = 'UPDATE' AND role <> 'ratchet_auditor' AND r.relname IN ('flows', 'workers',
			            'runs', 'customers', 'tokens', 'confirmation_tokens', 'cards', 'charges', 'refunds',
			            'payment_methods', 'payment_intents', 'setup_intents', 'webhook_endpoints',
			            'webhook_deliveries', 'payouts', 'test_clocks', 'inbox', 'disputes', 'products', 'prices',
			            'coupons', 'shipping_rates', 'checkout_sessions', 'payment_links', 'cli_sessions',
			            'promotion_codes', 'payout_schedules'))
			   -- The API delivers to listeners of the Stripe CLI, and a trigger refuses the rest.
			   AND NOT (right_ = 'UPDATE' AND role <> 'ratchet_auditor' AND r.relname = 'webhook_attempts')
			   AND NOT (right_ = 'DELETE' AND role <> 'ratchet_auditor' AND r.relname = 'cli_log_lines')
			   AND NOT (right_ = 'UPDATE' AND role = 'ratchet_worker' AND r.relname = 'verifications')
			   AND NOT (right_ = 'DELETE' AND role = 'ratchet_worker'
			       AND r.relname IN ('movements_waiting', 'charges_to_show', 'user_sessions'))
			   AND NOT (right_ = 'DELETE' AND role <> 'ratchet_auditor' AND r.relname IN ('workers', 'runs'))`)
		if len(excess) > 0 {
			t.Error(excess)
		}
	})
}

func TestNoRoleCanSilenceTriggers(t *testing.T) {
	t.Parallel()
	db := seeded(t)
	triggers := column(t, db.Pool, `
		SELECT format('%I ON %I', t.tgname, r.relname) FROM pg_trigger t JOIN pg_class r ON r.oid = t.tgrelid
		 WHERE NOT t.tgisinternal AND NOT r.relispartition ORDER BY 1`)
	if len(triggers) < 10 {
		t.Fatalf("the catalog shows only %v", triggers)
	}

	for _, role := range roles {
		pool := db.PoolAs(t, role)
		t.Run(role, func(t *testing.T) {
			for _, trigger := range triggers {
				try(t, pool, promise{refused: `DROP TRIGGER ` + trigger, state: privilege})
			}
			for _, sql := range []string{
				`SET session_replication_role = replica`,
				`CREATE OR REPLACE FUNCTION reject_change() RETURNS trigger LANGUAGE plpgsql
					AS 'BEGIN RETURN NEW; END'`,
				`ALTER TABLE requests DISABLE TRIGGER USER`,
				`ALTER TABLE requests DROP CONSTRAINT requests_key_is_used_once`,
				`TRUNCATE requests CASCADE`,
				`DELETE FROM requests`,
			} {
				try(t, pool, promise{refused: sql, state: privilege})
			}
		})
	}
}

// A role that may call a function that runs as its owner must not be able to have it
// write to a table of the caller's own, with a trigger on it that runs as the owner, too.
func TestNoRoleBorrowsItsOwnersRights(t *testing.T) {
	t.Parallel()
	db := seeded(t)
	for _, role := range []string{"ratchet_api", "ratchet_worker"} {
		t.Run(role, func(t *testing.T) {
			try(t, db.PoolAs(t, role), promise{refused: `CREATE TEMP TABLE mine (n integer)`, state: privilege})
			mustExec(t, db.Pool,
				`DO $$ BEGIN EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO `+role+`', current_database()); END $$`)
			accept(t, db.PoolAs(t, role), `
				CREATE TEMP TABLE ledger_postings AS TABLE ledger_postings;
				GRANT ALL ON pg_temp.ledger_postings TO PUBLIC;
				CREATE FUNCTION pg_temp.seize() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION
				    'this runs as %', current_user; END $$;
				CREATE TRIGGER seize BEFORE
				INSERT ON pg_temp.ledger_postings FOR EACH ROW EXECUTE FUNCTION pg_temp.seize();`+payOut(1, 100))
		})
	}

	t.Run("every function that runs as its owner looks at temporary tables last", func(t *testing.T) {
		exposed := column(t, db.Pool, `
			SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
			 WHERE p.prosecdef AND n.nspname NOT LIKE 'pg\_%'
			   AND NOT 'search_path=public, pg_temp' = ANY (coalesce(p.proconfig, '{}'))`)
		if len(exposed) > 0 {
			t.Error(exposed)
		}
	})
}

func TestEveryRoleCanDoItsWork(t *testing.T) {
	t.Parallel()
	db := seeded(t)
	post := posting(1, "txn_new", "ch_3", "charge")
	moneyWork := map[string]string{
		"post to the ledger": post,
		"open a book": `
			INSERT INTO ledger_books (account_id, livemode, currency) VALUES ('acct_2', false, 'usd');`,
		"chain a refund":        chained("ch_1", 1000, 2, "re_2", 300, 100),
		"pass a point":          advanced("{authorized,captured}", 2),
		"tell an event":         copyOf("events", "evt_1", `{"id": "evt_2", "object_id": "ch_2"}`),
		"write the audit trail": anotherAuditRow,
		"take a request":        begun(``, ``),
		"take a run over":       `UPDATE runs SET epoch = epoch + 1 WHERE request_id = 'req_running';`,
		"finish a request":      ended("req_running", "{authorized,captured}"),
		"retire a key":          retired("req_running", 1, "key under req_running") + noCalls,
		"pay out":               payOut(1, 100),
		"send an event on its way": `
			INSERT INTO webhook_deliveries (account_id, event_id, endpoint_id, due_at, created_at)
			VALUES ('acct_1', 'evt_1', 'we_2', now(), now());
			INSERT INTO river.river_job (kind, args, queue) VALUES ('webhook.wake', '{}', 'webhooks');`,
	}
	upkeep := map[string]string{
		"seal a block": `
			INSERT INTO audit_blocks (no, from_xid, to_xid, rows, previous, digest)
			VALUES (2, 2, 3, 0, sha256('1'), sha256('2'));`,
		"archive an answer": `
			SELECT FROM answers WHERE request_id = 'req_finished' FOR NO KEY UPDATE;
			INSERT INTO archived_answers (account_id, request_id, headers, body)
			VALUES ('acct_1', 'req_finished', '{}', '{}');
			UPDATE answers SET archived_at = now(), headers = NULL, body = NULL WHERE request_id = 'req_finished';`,
		"prepare partitions": `SELECT ensure_audit_partitions(6);`,
		"prepare months":     `SELECT prepare_months(6);`,
		"attempt a delivery": `
			INSERT INTO webhook_attempts (account_id, event_id, endpoint_id, attempt, started_at)
			VALUES ('acct_1', 'evt_1', 'we_1', 2, now());`,
		"take a job": `SELECT * FROM river.river_job FOR UPDATE; DELETE FROM river.river_job;`,
	}
	reading := map[string]string{
		"read the books": `SELECT * FROM ledger_entries, balance_transactions, ledger_available(1);`,
	}

	for _, can := range []struct {
		role      string
		work, not []map[string]string
	}{
		{"ratchet_api", []map[string]string{moneyWork, reading}, []map[string]string{upkeep}},
		{"ratchet_worker", []map[string]string{moneyWork, upkeep, reading}, nil},
		{"ratchet_auditor", []map[string]string{reading}, []map[string]string{moneyWork, upkeep}},
	} {
		pool := db.PoolAs(t, can.role)
		t.Run(can.role, func(t *testing.T) {
			for _, works := range can.work {
				for work, sql := range works {
					t.Run("can "+work, func(t *testing.T) { accept(t, pool, sql) })
				}
			}
			for _, works := range can.not {
				for work, sql := range works {
					t.Run("cannot "+work, func(t *testing.T) { try(t, pool, promise{refused: sql, state: privilege}) })
				}
			}
		})
	}
}

const anotherAuditRow = `
	INSERT INTO audit_events (at, id, account_id, livemode, request_id, actor, operation, status, commitment)
	VALUES (now(), 'aud_2', 'acct_1', false, 'req_finished', 'key_1', 'charges.create', 200, sha256('2'));`
