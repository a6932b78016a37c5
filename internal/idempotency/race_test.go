package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
)

// TestRaces runs two transactions on one request: the first has done its part and not
// committed when the second begins. For every pair, the request has either a run or an
// answer in the end.
func TestRaces(t *testing.T) {
	t.Parallel()
	ok := &idempotency.StoredResponse{Status: 200, Headers: map[string]string{}, Body: []byte("{}\n"), ObjectID: "or_1"}
	step := func(finish *idempotency.StoredResponse) *idempotency.Step {
		return &idempotency.Step{
			From:      "recorded",
			Points:    []string{"paid", "shipped"},
			StateData: []byte("{}"),
			Owner:     "wk_dead",
			Finish:    finish,
		}
	}
	type act func(ctx context.Context, tx pgx.Tx, r *idempotency.Request) error
	send := func(statement func(r *idempotency.Request) idempotency.Statement) act {
		return func(ctx context.Context, tx pgx.Tx, r *idempotency.Request) error {
			s := statement(r)
			_, err := tx.Exec(ctx, s.SQL, s.Args)
			return err
		}
	}
	exec := func(sql string) act {
		return func(ctx context.Context, tx pgx.Tx, r *idempotency.Request) error {
			_, err := tx.Exec(ctx, sql, r.ID)
			return err
		}
	}
	acts := []struct {
		name string
		do   act
	}{
		{"claim", send(func(r *idempotency.Request) idempotency.Statement {
			return idempotency.Claim(r,
				&idempotency.Step{Points: []string{"recorded"}, StateData: []byte("{}"), Owner: "wk_dead"}, time.Now())
		})},
		{"answer at once", send(func(r *idempotency.Request) idempotency.Statement {
			return idempotency.Claim(r, &idempotency.Step{Points: []string{"recorded"}, Finish: ok}, time.Now())
		})},
		{"advance", send(func(r *idempotency.Request) idempotency.Statement {
			return idempotency.Advance(r, step(nil), time.Now())
		})},
		{"finish", send(func(r *idempotency.Request) idempotency.Statement {
			return idempotency.Advance(r, step(ok), time.Now())
		})},
		{"park", send(func(r *idempotency.Request) idempotency.Statement {
			return idempotency.Park(r, time.Minute, true, true)
		})},
		{"hold", send(func(r *idempotency.Request) idempotency.Statement { return idempotency.Hold(r, "why") })},
		{"take over", func(ctx context.Context, tx pgx.Tx, r *idempotency.Request) error {
			_, err := idempotency.Resume(ctx, tx, r.AccountID, r.ID, r.Epoch, "wk_2")
			return err
		}},
		{"establish", func(ctx context.Context, tx pgx.Tx, r *idempotency.Request) error {
			_, err := idempotency.ResolveCommitOn(ctx, tx.Conn(), idempotency.Key{AccountID: r.AccountID, Key: r.Key})
			return err
		}},
		{"archive", func(ctx context.Context, tx pgx.Tx, _ *idempotency.Request) error {
			_, err := idempotency.Reap(ctx, tx, 100)
			return err
		}},
		{"redact", exec("UPDATE answers SET body = redact_pii(body), redacted_at = now() WHERE request_id = $1")},
		{"insert a run", exec(`
			INSERT INTO runs (account_id, request_id, flow, version, state, recovery_points, reached_at, reached_epochs,
				state_data, reason)
			VALUES ('acct_test', $1, 'order.buy', 1, 'needs_review', '{recorded}', ARRAY[now()], '{1}', '{}', 'why')`)},
		{"insert an answer", exec(`
			INSERT INTO answers (account_id, request_id, status, headers, body, recovery_points, reached_at,
				reached_epochs, finished_at, expires_at)
			VALUES ('acct_test', $1, 200, '{}', '{}', '{recorded}', ARRAY[now()], '{1}', now(), now())`)},
		{"delete the run", exec("DELETE FROM runs WHERE request_id = $1")},
	}
	for _, begins := range []string{"not there", "running", "finished"} {
		t.Run("a request that is "+begins, func(t *testing.T) {
			t.Parallel()
			pool := shop(t)
			n := 0
			for _, first := range acts {
				for _, second := range acts {
					n++
					key := fmt.Sprintf("k%d", n)
					r := &idempotency.Request{
						AccountID:          account,
						ID:                 "req_" + key,
						Key:                key,
						Method:             "POST",
						Path:               "/v1/orders",
						Fingerprint:        []byte{1},
						FingerprintVersion: 1,
						Params:             []byte("{}"),
						Flow:               "order.buy",
						Version:            1,
						Point:              "recorded",
						Epoch:              1,
					}
					switch begins {
					case "running":
						claim(t, pool, key, time.Hour, nil)
					case "finished":
						claim(t, pool, key, idempotency.AnswerRetention+time.Hour, ok)
					}
					pair := first.name + ", then " + second.name
					race(t, pool, pair, func(tx pgx.Tx) error { return first.do(t.Context(), tx, r) },
						func(tx pgx.Tx) error { return second.do(t.Context(), tx, r) })
					wantOneOfTwo(t, pool, pair)
				}
			}
		})
	}
}

// race begins a second transaction while a first one is open. What the database
// refuses is rolled back.
func race(t *testing.T, pool *pgxpool.Pool, pair string, first, second func(pgx.Tx) error) {
	t.Helper()
	refused := func(err error) bool { return errors.As(err, new(*pgconn.PgError)) }
	done := make(chan error, 1)
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		err := first(tx)
		go func() { done <- pgx.BeginFunc(t.Context(), pool, second) }()
		select { // it is through, or it waits for the first
		case later := <-done:
			done <- later
		case <-time.After(30 * time.Millisecond):
		}
		return err
	})
	for _, err := range []error{err, <-done} {
		if err != nil && !refused(err) {
			t.Errorf("%s: %v", pair, err)
		}
	}
}

func wantOneOfTwo(t *testing.T, pool *pgxpool.Pool, pair string) {
	t.Helper()
	var wrong int
	err := pool.QueryRow(t.Context(), `
		SELECT (SELECT count(*) FROM requests q WHERE
			(SELECT count(*) FROM runs r WHERE r.request_id = q.id) + (SELECT count(*) FROM answers a
			    WHERE a.request_id = q.id) <> 1)
		     + (SELECT count(*) FROM runs r WHERE NOT EXISTS (SELECT FROM requests q WHERE q.id = r.request_id))
		     + (SELECT count(*) FROM answers a
		         WHERE NOT EXISTS (SELECT FROM requests q WHERE q.id = a.request_id))`).Scan(&wrong)
	if err != nil {
		t.Fatal(err)
	}
	if wrong > 0 {
		t.Fatalf("%s: %d requests have both a run and an answer, or neither", pair, wrong)
	}
}

func TestEstablish(t *testing.T) {
	t.Parallel()

	t.Run("it waits for a finish that has not committed yet, and then knows of it", func(t *testing.T) {
		t.Parallel()
		pool := shop(t)
		r := claim(t, pool, "k", 0, nil)
		key := idempotency.Key{AccountID: account, Key: "k"}
		s := idempotency.Advance(r,
			&idempotency.Step{
				From:   "recorded",
				Points: []string{"paid"},
				Finish: &idempotency.StoredResponse{Status: 200, Body: []byte("{}")},
			}, time.Now())
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }() // if it did not come to its commit
		if _, err := tx.Exec(t.Context(), s.SQL, s.Args); err != nil {
			t.Fatal(err)
		}
		type found struct {
			at  *idempotency.CommitStatus
			err error
		}
		done := make(chan found, 1)
		go func() {
			at, err := idempotency.ResolveCommit(t.Context(), pool, key)
			done <- found{at, err}
		}()
		select {
		case f := <-done:
			t.Fatalf("it did not wait: %+v, %v", f.at, f.err)
		case <-time.After(200 * time.Millisecond):
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if f := <-done; f.err != nil || f.at == nil || f.at.State != idempotency.Finished || f.at.Point != "paid" ||
			f.at.Epoch != 1 {
			t.Errorf("it found %+v, %v", f.at, f.err)
		}
	})

	t.Run("it writes even where the request is finished, so that its commit waits for a standby", func(t *testing.T) {
		t.Parallel()
		pool := shop(t)
		claim(t, pool, "k", 0, &idempotency.StoredResponse{Status: 200, Body: []byte("{}")})
		xid := func() (n int64) {
			err := pool.QueryRow(t.Context(), "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint").Scan(&n)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := xid()
		if _, err := idempotency.ResolveCommit(t.Context(), pool,
			idempotency.Key{AccountID: account, Key: "k"}); err != nil {
			t.Fatal(err)
		}
		if xid() == before {
			t.Error("no transaction has written anything")
		}
	})

	t.Run("a request that has lost its rows is damaged, which neither a look nor this takes for unanswered", func(t *testing.T) {
		t.Parallel()
		pool := shop(t)
		claim(t, pool, "k", 0, nil)
		_, err := pool.Exec(t.Context(), "ALTER TABLE runs DISABLE TRIGGER runs_end_with_an_answer; DELETE FROM runs")
		if err != nil {
			t.Fatal(err)
		}
		key := idempotency.Key{AccountID: account, Key: "k"}
		if _, _, err := idempotency.Find(t.Context(), pool, key); !errors.Is(err, idempotency.ErrDamaged) {
			t.Errorf("find: %v", err)
		}
		if _, err := idempotency.ResolveCommit(t.Context(), pool, key); !errors.Is(err, idempotency.ErrDamaged) {
			t.Errorf("establish: %v", err)
		}
	})
}
