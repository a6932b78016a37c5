package schema_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/verify"
)

// A dump brings the trail to a cluster that counts its transactions from the
// beginning: new rows have lower ids than what is sealed already.
func TestTheTrailGoesOnInAnotherCluster(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	// A cluster that has lived: a new one has used up about as many ids as its migrations need.
	mustExec(t, db.Pool, `DO $$ BEGIN FOR n IN 1..5000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$`)
	leaveTrail(t, db.Pool, "aud_sealed", 3)
	sealAll(t, db.Pool)
	leaveTrail(t, db.Pool, "aud_left", 2)

	cluster := pgtest.Durable(t) // it has the roles: they belong to servers
	elsewhere := restoredOn(t, db, &pgtest.DB{URL: cluster.URL, Pool: cluster.Pool})
	leaveTrail(t, elsewhere, "aud_new", 3)
	if n := number(t, elsewhere, `
		SELECT count(*) FROM audit_events n
		WHERE n.id LIKE 'aud_new%' AND n.xid < (SELECT max(to_xid) FROM audit_blocks)`); n != 3 {
		t.Fatalf("%d of 3 new rows have lower transaction ids than the last block: the test tests nothing", n)
	}

	sealAll(t, elsewhere)
	if n := number(t, elsewhere, `SELECT sum(rows) FROM audit_blocks`); n != 8 {
		t.Errorf("%d rows are sealed, want 3, 2 and 3", n)
	}
	if n := number(t, elsewhere, `SELECT count(DISTINCT cluster) FROM audit_blocks`); n != 2 {
		t.Errorf("blocks of %d clusters, want 2", n)
	}
	if wrong := brokenChain(t, elsewhere); len(wrong) > 0 {
		t.Errorf("the chain does not hold: %v", wrong)
	}
	leaveTrail(t, elsewhere, "aud_later", 1)
	sealAll(t, elsewhere)
	if wrong := brokenChain(t, elsewhere); len(wrong) > 0 {
		t.Errorf("the chain does not go on: %v", wrong)
	}

	for _, id := range []string{"aud_sealed1", "aud_left1", "aud_new1", "aud_later1"} {
		mustExec(t, elsewhere, `
			ALTER TABLE audit_events DISABLE TRIGGER audit_events_are_final;
			UPDATE audit_events SET actor = 'nobody' WHERE id = '`+id+`'`)
		if wrong := brokenChain(t, elsewhere); len(wrong) != 1 {
			t.Errorf("%s was changed, and the chain says %v", id, wrong)
		}
		mustExec(t, elsewhere, `UPDATE audit_events SET actor = 'key_1' WHERE id = '`+id+`'`)
	}
}

// A cluster that nothing has been written to since the restore begins its part of the chain
// all the same, so that the sealer need not look for leftovers again and again.
func TestABlockLinksTwoClusters(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t).Pool
	leaveTrail(t, pool, "aud_old", 1)
	sealAll(t, pool)
	mustExec(t, pool, `
		CREATE OR REPLACE FUNCTION this_cluster() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT 4711::bigint'`)
	for range 3 {
		if _, err := (audit.Sealer{Pool: pool, Keys: chainKey}).Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := number(t, pool, `SELECT count(*) FROM audit_blocks WHERE cluster = 4711 AND rows = 0`); n != 1 {
		t.Errorf("%d blocks link the new cluster, want 1", n)
	}
	if wrong := brokenChain(t, pool); len(wrong) > 0 {
		t.Errorf("the chain does not hold: %v", wrong)
	}
}

// A month that is over can leave; the blocks stay, and so does the proof of the rest.
func TestAMonthIsDetached(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t).Pool
	mustExec(t, pool, `
		CREATE TABLE audit_events_2020_01 PARTITION OF audit_events FOR VALUES FROM ('2020-01-01 00:00+0') TO
		    ('2020-02-01 00:00+0');
		CREATE TRIGGER audit_events_are_not_emptied BEFORE TRUNCATE
		    ON audit_events_2020_01 FOR EACH STATEMENT EXECUTE FUNCTION reject_change('the audit trail is append-only');
		ALTER TABLE audit_events_2020_01 ENABLE ALWAYS TRIGGER audit_events_are_not_emptied`)
	mustExec(t, pool, `
		INSERT INTO audit_events (at, id, account_id, livemode, request_id, actor, operation, status, commitment)
		SELECT '2020-01-15', 'aud_old' || n, 'acct_1', false, 'op_1', 'operator:me', 'x', 200, sha256('1')
		FROM generate_series(1, 3) AS n`)
	sealAll(t, pool)
	leaveTrail(t, pool, "aud_new", 2)
	sealAll(t, pool)

	if n := number(t, pool, `SELECT detach_audit_month('2020-01-01')`); n != 3 {
		t.Errorf("%d rows left with the month, want 3", n)
	}
	if n := number(t, pool, `SELECT count(*) FROM audit_events`); n != 2 {
		t.Errorf("%d rows stay, want 2", n)
	}
	if wrong := brokenChain(t, pool); len(wrong) > 0 {
		t.Errorf("the chain does not hold without the month: %v", wrong)
	}
	leaveTrail(t, pool, "aud_later", 1)
	sealAll(t, pool)

	mustExec(t, pool, `
		ALTER TABLE audit_events DISABLE TRIGGER audit_events_are_kept; DELETE FROM audit_events WHERE id = 'aud_new1'`)
	if wrong := brokenChain(t, pool); len(wrong) != 1 {
		t.Errorf("a row went that no month took along, and the chain says %v", wrong)
	}

	t.Run("and attached again it is proved by the same blocks", func(t *testing.T) {
		const attach = `ALTER TABLE audit_detached.audit_events_2020_01 SET SCHEMA public;
			ALTER TABLE audit_events ATTACH PARTITION audit_events_2020_01 FOR VALUES FROM ('2020-01-01 00:00+0') TO
			    ('2020-02-01 00:00+0')`
		mustExec(t, pool, `
			UPDATE audit_detached.audit_events_2020_01 SET actor = 'nobody' WHERE id = 'aud_old1'; `+attach)
		if wrong := brokenChain(t, pool); len(wrong) != 2 {
			t.Errorf("a row was changed while its month was away, and besides what was deleted above the chain says "+
				"%v", wrong)
		}
	})
}

var chainKey = secret.OneKey([]byte("the key of the chain"))

// leaveTrail writes rows as operators leave them, each in a separate transaction.
func leaveTrail(t *testing.T, pool *pgxpool.Pool, id string, rows int) {
	t.Helper()
	for n := range rows {
		_, err := pool.Exec(t.Context(), `
			INSERT INTO audit_events (at, id, account_id, livemode, request_id, actor, operation, status, commitment)
			VALUES (clock_timestamp(), $1 || $2::int, 'acct_1', false, 'op_1', 'key_1', 'x', 200,
				sha256('1'))`, id, n+1)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// sealAll waits until nothing is left to seal: no transaction of the server,
// another test's neither, may be older than the rows.
func sealAll(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	const left = `SELECT count(*) FROM audit_events e
		WHERE NOT EXISTS (SELECT FROM audit_blocks b
		    WHERE b.cluster = e.cluster AND e.xid >= b.from_xid AND e.xid < b.to_xid)`
	for deadline := time.Now().Add(5 * time.Minute); number(t, pool, left) > 0; time.Sleep(10 * time.Millisecond) {
		if _, err := (audit.Sealer{Pool: pool, Keys: chainKey}).Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("not everything could be sealed for a minute")
		}
	}
}

// brokenChain is what the proof of the chain finds wrong.
func brokenChain(t *testing.T, pool *pgxpool.Pool) []verify.Violation {
	t.Helper()
	report, err := verify.Run(t.Context(), verify.Config{Pool: pool, AuditKeys: chainKey, AllowEmpty: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		if c.Rule == "the audit trail's chain is unbroken" {
			if c.Unchecked != "" {
				t.Fatal(c.Unchecked)
			}
			return c.Violations
		}
	}
	t.Fatal("the chain was not looked at")
	return nil
}

func number(t *testing.T, pool *pgxpool.Pool, query string) (n int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%v\nin: %s", err, query)
	}
	return n
}
