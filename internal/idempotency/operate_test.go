package idempotency_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// ask announces a call of a request, as the transaction in front of it does.
func ask(t *testing.T, pool *pgxpool.Pool, r *idempotency.Request, phase string) (key string) {
	t.Helper()
	key = idempotency.DeriveKey(secret, r, phase, 1)
	lay(t, pool, idempotency.Announce(r, idempotency.ForeignCall{Phase: phase, Generation: 1, Key: key}))
	return key
}

// lay sends a statement that lays a running request aside.
func lay(t *testing.T, pool *pgxpool.Pool, s idempotency.Statement) {
	t.Helper()
	batch := &pgx.Batch{}
	batch.Queue(s.SQL, s.Args)
	if err := pool.SendBatch(t.Context(), batch).Close(); err != nil {
		t.Fatal(err)
	}
}

func summary(t *testing.T, pool *pgxpool.Pool, name string) idempotency.Summary {
	t.Helper()
	found, err := idempotency.LookUp(t.Context(), pool, name)
	if err != nil || len(found) != 1 {
		t.Fatalf("look up %s: %v, %v", name, found, err)
	}
	return found[0]
}

func TestOperator(t *testing.T) {
	t.Parallel()
	ok := &idempotency.StoredResponse{
		Status:   200,
		Headers:  map[string]string{},
		Body:     []byte(`{"id":"or_1"}`),
		ObjectID: "or_1",
	}

	t.Run("a request is found by its id and by its key, with its answer even from the archive", func(t *testing.T) {
		t.Parallel()
		pool := shop(t)
		claim(t, pool, "old", idempotency.AnswerRetention+time.Hour, ok)
		for _, state := range []string{idempotency.Finished, idempotency.Archived} {
			for _, name := range []string{"old", "req_old"} {
				r := summary(t, pool, name)
				if r.State != state || string(r.Body) != `{"id":"or_1"}` || *r.ObjectID != "or_1" {
					t.Errorf("%s is %s with %s", name, r.State, r.Body)
				}
			}
			if _, err := idempotency.Reap(t.Context(), pool, 10); err != nil {
				t.Fatal(err)
			}
		}
	})

	t.Run("what is unfinished is listed oldest first, and nothing else", func(t *testing.T) {
		t.Parallel()
		pool := shop(t)
		claim(t, pool, "1_running", time.Hour, nil)
		lay(t, pool, idempotency.Hold(claim(t, pool, "2_held", time.Hour, nil), "why"))
		claim(t, pool, "3_finished", time.Hour, ok)
		lay(t, pool, idempotency.Park(claim(t, pool, "4_parked", time.Hour, nil), time.Hour, true, true))
		found, err := idempotency.List(t.Context(), pool, idempotency.Unfinished(), "", 10)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, r := range found {
			keys = append(keys, r.Key)
		}
		if got := strings.Join(keys, " "); got != "1_running 2_held 4_parked" {
			t.Error(got)
		}
		if found[0].Executing {
			t.Error("a request whose process left no liveness row counts as driven")
		}
		none, err := idempotency.List(t.Context(), pool, idempotency.Unfinished(), "acct_another", 10)
		if err != nil || len(none) != 0 {
			t.Errorf("another account has %v, %v", none, err)
		}
	})

	t.Run("a held request that is tried again has all its attempts before it, a parked one does not", func(t *testing.T) {
		t.Parallel()
		pool := shop(t)
		for key, c := range map[string]struct {
			lay      func(*idempotency.Request) idempotency.Statement
			attempts int32
		}{
			"held": {func(r *idempotency.Request) idempotency.Statement { return idempotency.Hold(r, "why") }, 0},
			"parked": {func(r *idempotency.Request) idempotency.Statement {
				return idempotency.Park(r, time.Hour, false, false)
			}, 7},
		} {
			lay(t, pool, c.lay(claim(t, pool, key, time.Hour, nil)))
			if _, err := pool.Exec(t.Context(), `
				UPDATE runs SET attempts = 7
				WHERE request_id = (SELECT id FROM requests WHERE key = $1)`, key); err != nil {
				t.Fatal(err)
			}
			if err := idempotency.TryNow(t.Context(), pool, account, "req_"+key); err != nil {
				t.Fatal(err)
			}
			r := summary(t, pool, key)
			if r.State != idempotency.Parked || r.DueAt.After(r.Now) || r.Attempts != c.attempts {
				t.Errorf("%s: %s, due %v, %d attempts", key, r.State, r.DueAt, r.Attempts)
			}
		}
	})

	t.Run("nobody but its driver touches a running request, and nobody a finished one", func(t *testing.T) {
		t.Parallel()
		pool := shop(t)
		pgtest.AllowImmortals(t, pool)
		if _, err := pool.Exec(t.Context(),
			"INSERT INTO workers VALUES ('wk_dead', 'test', 'here', 1, now(), 'infinity')"); err != nil {
			t.Fatal(err)
		}
		claim(t, pool, "running", 0, nil)
		claim(t, pool, "finished", 0, ok)
		for _, id := range []string{"req_running", "req_finished", "req_nobodys"} {
			if err := idempotency.TryNow(t.Context(), pool, account, id); !errors.Is(err, idempotency.ErrNotYours) {
				t.Errorf("try %s now: %v", id, err)
			}
			err := release(t, pool, id, "")
			if !errors.Is(err, idempotency.ErrNotYours) {
				t.Errorf("release %s: %v", id, err)
			}
		}
	})

	t.Run("a request whose process is dead is made due, however far ahead its lease lies", func(t *testing.T) {
		t.Parallel()
		pool := shop(t)
		claim(t, pool, "k", 0, nil)
		_, err := pool.Exec(t.Context(), `
			INSERT INTO workers VALUES ('wk_dead', 'test', 'here', 1, now(), now() + interval '1 hour');
			UPDATE runs SET lease_until = now() + interval '1 hour'`)
		if err != nil {
			t.Fatal(err)
		}
		if err := idempotency.TryNow(t.Context(), pool, account, "req_k"); err != nil {
			t.Error(err)
		}
		if r := summary(t, pool, "k"); r.State != idempotency.Parked || r.DueAt.After(r.Now) || r.Attempts != 1 {
			t.Errorf("%s, due %v, %d attempts", r.State, r.DueAt, r.Attempts)
		}
	})

	t.Run("a release proves the old key unused and announces the next one, both or neither", func(t *testing.T) {
		t.Parallel()
		pool := shop(t)
		r := claim(t, pool, "held", time.Hour, nil)
		old := ask(t, pool, r, "paid")
		lay(t, pool, idempotency.Hold(r, "why"))
		if err := release(t, pool, r.ID, ""); err != nil {
			t.Fatal(err)
		}
		calls, err := idempotency.Calls(t.Context(), pool, account, r.ID)
		if err != nil || len(calls) != 2 {
			t.Fatalf("%v, %v", calls, err)
		}
		if calls[0].DerivedKey != old || calls[0].Outcome != "not_executed" || *calls[0].Proof != "I asked them" {
			t.Errorf("the old call is %+v", calls[0])
		}
		if calls[1].DerivedKey != idempotency.DeriveKey(secret, r, "paid", 2) || calls[1].Generation != 2 ||
			calls[1].Outcome != "unknown" {
			t.Errorf("the next call is %+v", calls[1])
		}
		if got := summary(t, pool, "held").State; got != idempotency.Parked {
			t.Errorf("the request is %s", got)
		}
	})

	t.Run("a key that is proven unused already is not for a person to release", func(t *testing.T) {
		t.Parallel()
		pool := shop(t)
		r := claim(t, pool, "held", time.Hour, nil)
		ask(t, pool, r, "paid")
		lay(t, pool, idempotency.Retire(r, "paid", "they said so"))
		lay(t, pool, idempotency.Hold(r, "why"))
		if err := release(t, pool, r.ID, ""); err == nil || !strings.Contains(err.Error(), "resume it") {
			t.Errorf("released: %v", err)
		}
	})

	t.Run("of several calls without a verdict one has to be named, and of none there is nothing to release", func(t *testing.T) {
		t.Parallel()
		pool := shop(t)
		r := claim(t, pool, "held", time.Hour, nil)
		lay(t, pool, idempotency.Hold(r, "why"))
		if err := release(t, pool, r.ID, ""); err == nil || !strings.Contains(err.Error(), "nothing to decide") {
			t.Errorf("no call: %v", err)
		}
		ask(t, pool, r, "paid")
		ask(t, pool, r, "shipped")
		if err := release(t, pool, r.ID, ""); err == nil || !strings.Contains(err.Error(), "name one of them") {
			t.Errorf("two calls: %v", err)
		}
		if err := release(t, pool, r.ID, "shipped"); err != nil {
			t.Error(err)
		}
	})
}

func release(t *testing.T, pool *pgxpool.Pool, id, phase string) error {
	t.Helper()
	return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		_, _, err := idempotency.Release(t.Context(), tx, secret, account, id, phase, "I asked them")
		return err
	})
}
