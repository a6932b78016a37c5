package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

func TestConnectionLost(t *testing.T) {
	t.Parallel()

	answered := func(code string) error {
		return fmt.Errorf("commit: %w", &pgconn.PgError{Code: code})
	}
	for name, c := range map[string]struct {
		err  error
		lost bool
	}{
		"no error":                                    {nil, false},
		"a broken connection":                         {io.ErrUnexpectedEOF, true},
		"our own deadline":                            {context.DeadlineExceeded, true},
		"an administrator's shutdown":                 {answered("57P01"), true},
		"a crash of another session":                  {answered("57P02"), true},
		"a server that is starting":                   {answered("57P03"), true},
		"a connection failure the server reports":     {answered("08006"), true},
		"a statement whose completion is unknown":     {answered("40003"), true},
		"a session ended for its idleness":            {answered("25P03"), true},
		"a unique violation":                          {answered("23505"), false},
		"a statement that was canceled":               {answered("57014"), false},
		"a deadlock":                                  {answered("40P01"), false},
		"no rows":                                     {pgx.ErrNoRows, false},
		"a commit that the server answered with none": {fmt.Errorf("commit: %w", pgx.ErrTxCommitRollback), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := postgres.ConnectionLost(c.err); got != c.lost {
				t.Errorf("ConnectionLost(%v) = %v", c.err, got)
			}
		})
	}
}

func TestErrorsOfARealServer(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)

	_, err := db.Pool.Exec(t.Context(), `
		CREATE TABLE seats (number int CONSTRAINT a_seat_is_sold_once UNIQUE,
		    row_label text CONSTRAINT a_label_is_unique UNIQUE);
		INSERT INTO seats VALUES (1, 'A')`)
	if err != nil {
		t.Fatal(err)
	}

	t.Run("a unique violation is recognized by its constraint", func(t *testing.T) {
		t.Parallel()
		_, err := db.Pool.Exec(t.Context(), `INSERT INTO seats VALUES (1, 'B')`)
		if !postgres.IsUniqueViolation(err, "a_seat_is_sold_once") {
			t.Errorf("not recognized: %v", err)
		}
		if postgres.IsUniqueViolation(err, "a_label_is_unique") {
			t.Error("taken for the other constraint")
		}
		if postgres.ConnectionLost(err) || postgres.IsRetryable(err) {
			t.Error("a refusal is final")
		}
	})

	t.Run("a serialization failure can be retried", func(t *testing.T) {
		t.Parallel()
		_, err := db.Pool.Exec(t.Context(), `DO $$ BEGIN RAISE serialization_failure; END $$`)
		if !postgres.IsRetryable(err) {
			t.Errorf("not retryable: %v", err)
		}
	})

	t.Run("a statement that runs out of time is told from one that is wrong", func(t *testing.T) {
		t.Parallel()
		_, err := db.Pool.Exec(t.Context(), `SET LOCAL statement_timeout = '1ms'; SELECT pg_sleep(1)`)
		if !postgres.IsTransient(err) || postgres.IsLockTimeout(err) || postgres.ConnectionLost(err) {
			t.Errorf("a statement timeout: %v", err)
		}
		tx, err := db.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(t.Context()) }()
		_, err = tx.Exec(t.Context(), `LOCK TABLE seats`)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Pool.Exec(t.Context(), `SET LOCAL lock_timeout = '1ms'; SELECT * FROM seats`)
		if !postgres.IsTransient(err) || !postgres.IsLockTimeout(err) || postgres.ConnectionLost(err) {
			t.Errorf("a lock timeout: %v", err)
		}
		_, err = db.Pool.Exec(t.Context(), `SELECT 1/0`)
		if postgres.IsTransient(err) || postgres.IsLockTimeout(err) {
			t.Errorf("a division by zero: %v", err)
		}
	})

	t.Run("a prepared statement whose columns have changed is told from what cannot be done", func(t *testing.T) {
		t.Parallel()
		conn, err := db.Pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
		read := func() error {
			_, err := conn.Exec(t.Context(), `SELECT shape FROM stage WHERE $1`, true)
			return err
		}
		_, err = conn.Exec(t.Context(), `CREATE TABLE stage AS SELECT 'round'::text AS shape`)
		if err != nil {
			t.Fatal(err)
		}
		if err := read(); err != nil {
			t.Fatal(err)
		}
		_, err = conn.Exec(t.Context(), `ALTER TABLE stage ALTER COLUMN shape TYPE varchar`)
		if err != nil {
			t.Fatal(err)
		}
		if err := read(); !postgres.IsStalePlan(err) || !postgres.IsRetryable(err) || !postgres.IsTransient(err) {
			t.Errorf("a stale plan: %v", err)
		}
		if err := read(); err != nil {
			t.Errorf("the second try: %v", err)
		}
		_, err = conn.Exec(t.Context(), `SELECT count(*) FROM stage FOR UPDATE`)
		if postgres.Code(err) != "0A000" || postgres.IsStalePlan(err) || postgres.IsTransient(err) {
			t.Errorf("a lock on an aggregate: %v", err)
		}
	})

	t.Run("a session that is terminated leaves its statement unknown", func(t *testing.T) {
		t.Parallel()
		_, err := db.Pool.Exec(t.Context(), `SELECT pg_terminate_backend(pg_backend_pid())`)
		if !postgres.ConnectionLost(err) {
			t.Errorf("taken for an answer: %v", err)
		}
	})

	t.Run("a commit after a failed statement is known not to have happened", func(t *testing.T) {
		t.Parallel()
		tx, err := db.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = tx.Exec(t.Context(), `SELECT 1/0`)
		if postgres.Code(err) != "22012" {
			t.Errorf("got %v", err)
		}
		err = tx.Commit(t.Context())
		if !errors.Is(err, pgx.ErrTxCommitRollback) || postgres.ConnectionLost(err) {
			t.Errorf("got %v", err)
		}
	})
}
