package idempotency_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

const account = "acct_test"

// claim inserts a request that was made age ago, with an answer or without.
func claim(
	t *testing.T, pool *pgxpool.Pool, key string, age time.Duration, answer *idempotency.StoredResponse,
) *idempotency.Request {
	t.Helper()
	made := time.Now().Add(-age)
	r := &idempotency.Request{
		AccountID: account, ID: "req_" + key, Key: key, Method: "POST", Path: "/v1/orders",
		Fingerprint: []byte{1}, FingerprintVersion: 1, Params: []byte("{}"), Flow: "order.buy", Version: 1,
		Point: "recorded", StateData: []byte("{}"), Epoch: 1, CreatedAt: made,
	}
	step := &idempotency.Step{
		Points:    []string{"recorded"},
		Position:  1,
		StateData: []byte("{}"),
		Owner:     "wk_dead",
		Finish:    answer,
	}
	batch := &pgx.Batch{}
	s := idempotency.Claim(r, step, made)
	batch.Queue(s.SQL, s.Args)
	if err := pool.SendBatch(t.Context(), batch).Close(); err != nil {
		t.Fatal(err)
	}
	return r
}

func shop(t *testing.T) *pgxpool.Pool {
	t.Helper()
	return shopOn(t, pgtest.New(t))
}

func shopOn(t *testing.T, db *pgtest.DB) *pgxpool.Pool {
	t.Helper()
	pool := db.Pool
	_, err := pool.Exec(t.Context(), `
		INSERT INTO accounts (id, name) VALUES ('acct_test', 'Test');
		INSERT INTO flows VALUES ('order.buy', 1, 'digest');
		INSERT INTO recovery_points
		VALUES ('order.buy', 1, 'recorded', 1, 'atomic'), ('order.buy', 1, 'paid', 2, 'foreign'),
			('order.buy', 1, 'shipped', 3, 'foreign')`)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

func TestReap(t *testing.T) {
	t.Parallel()
	const old = idempotency.AnswerRetention + 24*time.Hour
	ok := &idempotency.StoredResponse{
		Status:   200,
		Headers:  map[string]string{"Content-Type": "application/json"},
		Body:     []byte("{}\n"),
		ObjectID: "or_1",
	}
	find := func(t *testing.T, pool *pgxpool.Pool, key string) *idempotency.Lookup {
		t.Helper()
		found, _, err := idempotency.Find(t.Context(), pool, idempotency.Key{AccountID: account, Key: key})
		if err != nil || found == nil {
			t.Fatalf("find %s: %v, %v", key, found, err)
		}
		return found
	}

	t.Run("an answer past its time moves to the archive and its key stays taken", func(t *testing.T) {
		t.Parallel()
		pool := shop(t)
		claim(t, pool, "old", old, ok)
		n, err := idempotency.Reap(t.Context(), pool, 10)
		if n != 1 || err != nil {
			t.Fatalf("archived %d, %v", n, err)
		}
		found := find(t, pool, "old")
		if found.State != idempotency.Archived || found.Response.ObjectID != "or_1" || found.Response.Body != nil {
			t.Errorf("left behind: %+v", found)
		}
		var body []byte
		err = pool.QueryRow(t.Context(), "SELECT body FROM archived_answers WHERE request_id = 'req_old'").Scan(&body)
		if err != nil || string(body) != "{}\n" {
			t.Errorf("archived %q, %v", body, err)
		}
	})

	t.Run("an answer that is still to be replayed stays", func(t *testing.T) {
		t.Parallel()
		pool := shop(t)
		claim(t, pool, "young", time.Hour, ok)
		n, err := idempotency.Reap(t.Context(), pool, 10)
		if n != 0 || err != nil || find(t, pool, "young").State != idempotency.Finished {
			t.Errorf("archived %d, %v", n, err)
		}
	})

	t.Run("unfinished work is never reaped, however old", func(t *testing.T) {
		t.Parallel()
		pool := shop(t)
		claim(t, pool, "running", old, nil)
		parked := claim(t, pool, "parked", old, nil)
		held := claim(t, pool, "held", old, nil)
		for _, s := range []idempotency.Statement{idempotency.Park(parked, time.Minute, true, true),
			idempotency.Hold(held, "a reason")} {
			if _, err := pool.Exec(t.Context(), s.SQL, s.Args); err != nil {
				t.Fatal(err)
			}
		}
		claim(t, pool, "old", old, ok)
		n, err := idempotency.Reap(t.Context(), pool, 10)
		if n != 1 || err != nil {
			t.Errorf("archived %d, %v; want the finished one", n, err)
		}
		for _, key := range []string{"running", "parked", "held"} {
			want := key
			if key == "held" {
				want = idempotency.Held
			}
			if got := find(t, pool, key).State; got != want {
				t.Errorf("what was %s is %s", key, got)
			}
		}
	})

	t.Run("it takes no more than it is told to", func(t *testing.T) {
		t.Parallel()
		pool := shop(t)
		for _, key := range []string{"a", "b", "c"} {
			claim(t, pool, key, old, ok)
		}
		n, err := idempotency.Reap(t.Context(), pool, 2)
		if n != 2 || err != nil {
			t.Errorf("archived %d, %v", n, err)
		}
	})
}

func TestFinishedAnswer(t *testing.T) {
	t.Parallel()
	ok := &idempotency.StoredResponse{Status: 200, Headers: map[string]string{}, Body: []byte("{}\n")}

	t.Run("not even the owner of the tables changes it or removes its key by mistake", func(t *testing.T) {
		t.Parallel()
		pool := shop(t)
		claim(t, pool, "k", 0, ok)
		for _, sql := range []string{
			"UPDATE answers SET body = 'other'", "UPDATE answers SET status = 402",
			"UPDATE answers SET expires_at = now()", "UPDATE answers SET recovery_points = '{}'",
			"UPDATE requests SET key = 'l'", "DELETE FROM requests", "DELETE FROM answers",
		} {
			if _, err := pool.Exec(t.Context(), sql); err == nil {
				t.Errorf("the database accepted: %s", sql)
			}
		}
	})

	t.Run("a server error cannot be stored as one", func(t *testing.T) {
		t.Parallel()
		pool := shop(t)
		r := &idempotency.Request{
			AccountID:   account,
			ID:          "req_1",
			Key:         "k",
			Fingerprint: []byte{1},
			Params:      []byte("{}"),
			Flow:        "order.buy",
			Version:     1,
		}
		s := idempotency.Claim(r,
			&idempotency.Step{
				Points: []string{"recorded"},
				Finish: &idempotency.StoredResponse{Status: 500, Body: []byte("{}")},
			}, time.Now())
		_, err := pool.Exec(t.Context(), s.SQL, s.Args)
		if err == nil || !strings.Contains(err.Error(), "answers_status_is_an_outcome") {
			t.Errorf("a 500 as an outcome: %v", err)
		}
	})
}

// TestReapLooksAtWhatIsDue holds the reaper to its index: it looks once a minute, and
// few of all finished requests are due.
func TestReapLooksAtWhatIsDue(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, err := shopOn(t, db).Exec(t.Context(), `
		WITH asked AS (
			INSERT INTO requests (account_id, id, livemode, key, key_generated, method, path, fingerprint,
				fingerprint_version, params, context, flow, version, created_at)
			SELECT 'acct_test', 'req_' || n, false, 'key_' || n, false, 'POST', '/v1/orders', '1', 1, '{}', '{}',
			       'order.buy', 1, now()
			FROM generate_series(1, 1000) n
			RETURNING account_id, id)
		INSERT INTO answers (account_id, request_id, status, headers, body, recovery_points, reached_at, reached_epochs,
			finished_at, expires_at)
		SELECT account_id, id, 200, '{}', '{}', '{recorded}', ARRAY[now()], '{1}', now(),
		       now() + row_number() OVER () * interval '1 minute' FROM asked;
		ANALYZE answers`)
	if err != nil {
		t.Fatal(err)
	}
	plan := db.Plan(t, idempotency.ArchiveExpired, pgx.StrictNamedArgs{"limit": 500})
	if !strings.Contains(plan, "Index Cond: (expires_at < statement_timestamp())") {
		t.Errorf("the index is not searched for what is due:\n%s", plan)
	}
}

// A session keeps the plan of the lookup by which an archived response is compared with
// its copy. Planned while the archive is empty, it must not read all of it later.
func TestArchivingFindsCopiesByKey(t *testing.T) {
	t.Parallel()
	pool := shop(t)
	const each = 20
	for n := range 3 * each {
		claim(t, pool, "archived-"+strconv.Itoa(n), 60*24*time.Hour, &idempotency.StoredResponse{
			Status: 200, Headers: map[string]string{}, Body: []byte("{}")})
	}
	if _, err := pool.Exec(t.Context(), "ANALYZE archived_answers"); err != nil {
		t.Fatal(err)
	}
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	for range 3 {
		if n, err := idempotency.Reap(t.Context(), tx, each); err != nil || n != each {
			t.Fatalf("archived %d responses, want %d: %v", n, each, err)
		}
	}
	var read int64
	err = tx.QueryRow(t.Context(), `SELECT coalesce(sum(seq_tup_read), 0) FROM pg_stat_xact_user_tables
		WHERE relname LIKE 'archived\_answers\_%'`).Scan(&read)
	if err != nil {
		t.Fatal(err)
	}
	if read > 0 {
		t.Errorf("the archive was read from end to end: %d rows for %d responses", read, 3*each)
	}
}
