package schema_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A session keeps the plans of its triggers, and the first ones are made while the tables are small. A request that
// comes when they are large reads the rows of its key and no others.
func TestTriggersLookRowsUpByKey(t *testing.T) {
	db := seeded(t)
	conn, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	run := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run(`ANALYZE; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;
		SET enable_hashjoin = off; SET enable_mergejoin = off`) // as the program's sessions do
	run(begunAndFinished("early", 50))
	run(begunAndFinished("more", 3000))
	run(`SELECT pg_stat_force_next_flush()`) // what was read so far is not counted below

	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, err := tx.Exec(t.Context(), begunAndFinished("last", 3)); err != nil {
		t.Fatal(err)
	}
	type reads struct {
		Table string
		Rows  int
	}
	rows, err := tx.Query(t.Context(), `
		SELECT relname AS table, (coalesce(idx_tup_fetch, 0) + seq_tup_read)::int AS rows
		FROM pg_stat_xact_user_tables WHERE relname IN ('requests', 'runs', 'answers')`)
	if err != nil {
		t.Fatal(err)
	}
	read, err := pgx.CollectRows(rows, pgx.RowToStructByName[reads])
	if err != nil {
		t.Fatal(err)
	}
	if len(read) != 3 {
		t.Fatalf("got the reads of %d tables, want 3", len(read))
	}
	for _, r := range read {
		if r.Rows == 0 || r.Rows > 100 {
			t.Errorf("three requests read %d rows of %s, want at least one and at most 100", r.Rows, r.Table)
		}
	}
}

// begunAndFinished are two statements: as a group of claims and a group of finishes.
func begunAndFinished(name string, n int) string {
	return fmt.Sprintf(`
	WITH asked AS (
		INSERT INTO requests SELECT (jsonb_populate_record(q, jsonb_build_object('id', 'req_%[1]s' || n,
			'key', '%[1]s' || n))).*
		FROM requests q, generate_series(1, %[2]d) n WHERE q.account_id = 'acct_1' AND q.id = 'req_running'
		RETURNING id)
	INSERT INTO runs SELECT (jsonb_populate_record(r, jsonb_build_object('request_id', id,
		'call_keys', ARRAY['key under ' || id]))).*
	FROM runs r, asked WHERE r.account_id = 'acct_1' AND r.request_id = 'req_running';
	WITH ended AS (
		DELETE FROM runs WHERE account_id = 'acct_1' AND request_id = ANY (ARRAY(
			SELECT 'req_%[1]s' || n FROM generate_series(1, %[2]d) n))
		RETURNING *)
	INSERT INTO answers (account_id, request_id, status, headers, body, recovery_points, reached_at, reached_epochs,
		call_phases, call_keys, call_generations, call_sent_at, call_attempts, finished_at, expires_at)
	SELECT account_id, request_id, 200, '{}', '{}', recovery_points || '{authorized,captured}'::text[],
		reached_at || ARRAY[now(), now()], reached_epochs || '{2,2}', call_phases, call_keys, call_generations,
		call_sent_at, call_attempts, now(), now() FROM ended;`, name, n)
}
