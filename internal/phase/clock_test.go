package phase_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// skew is how far the database's clock is ahead of this machine's.
const skew = 3 * time.Hour

// aheadOfUs puts another clock_timestamp in front of the database's own.
const aheadOfUs = `
	CREATE SCHEMA ahead;
	CREATE FUNCTION ahead.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
		$$ SELECT pg_catalog.clock_timestamp() + interval '3 hours' $$`

func TestClock(t *testing.T) {
	t.Parallel()

	t.Run("every stored time is the database's, no matter what this machine's clock says", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		if _, err := db.Pool.Exec(t.Context(), aheadOfUs); err != nil {
			t.Fatal(err)
		}
		address, err := url.Parse(db.URL)
		if err != nil {
			t.Fatal(err)
		}
		query := address.Query()
		query.Set("search_path", "ahead,pg_catalog,public")
		address.RawQuery = query.Encode()
		pool, err := postgres.Open(t.Context(), postgres.Config{URL: address.String()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)

		s := setupOn(t, pool)
		s.process().answers("k", http.StatusOK)
		for _, column := range []string{"created_at", "finished_at", "expires_at - interval '30 days'"} {
			s.wantAhead(column, "SELECT "+column+" FROM request_status")
		}
		s.wantAhead("what a phase stores", "SELECT at FROM deliveries")
	})
}

// fallible is a clock of the database that a test can set back.
const fallible = `
	CREATE SCHEMA fallible;
	CREATE TABLE fallible.ahead (by interval NOT NULL);
	INSERT INTO fallible.ahead VALUES ('1 hour');
	CREATE FUNCTION fallible.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
		$$ SELECT pg_catalog.clock_timestamp() + by FROM fallible.ahead $$;
	CREATE FUNCTION fallible.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS
		$$ SELECT pg_catalog.statement_timestamp() + by FROM fallible.ahead $$`

// TestClockFallsBack has the database's clock fall by an hour with work in hand. What
// was set by the clock before lies an hour ahead then.
func TestClockFallsBack(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T) *env {
		t.Helper()
		db := pgtest.New(t)
		if _, err := db.Pool.Exec(t.Context(), fallible); err != nil {
			t.Fatal(err)
		}
		address, err := url.Parse(db.URL)
		if err != nil {
			t.Fatal(err)
		}
		query := address.Query()
		query.Set("search_path", "fallible,pg_catalog,public")
		address.RawQuery = query.Encode()
		pool, err := postgres.Open(t.Context(), postgres.Config{URL: address.String()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		return setupOn(t, pool)
	}
	finishes := func(t *testing.T, s *env) {
		t.Helper()
		p := s.process()
		taken, err := idempotency.ResumeUnfinished(t.Context(), s.pool, p.engine.Known(), p.owner, 10)
		if err != nil || len(taken) != 1 {
			t.Fatalf("the completer took %d requests over, error %v; want the one", len(taken), err)
		}
		for _, r := range taken {
			_ = p.engine.Resume(t.Context(), r) // how it ended is in the row
		}
		s.wantState("k", idempotency.Finished)
		s.bank.wantMoved(t, 1)
	}

	t.Run("what a dead process held is taken over at once", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.bank.has(killsBefore)
		p := s.process()
		p.dies("k")
		// The process's last sign of life, as it was when it died.
		s.exec(`
			INSERT INTO workers VALUES ($1, 'test', 'here', 1, clock_timestamp(),
				clock_timestamp() + interval '1 second')`, p.owner)
		s.exec("UPDATE fallible.ahead SET by = '0'")
		finishes(t, s)
	})

	t.Run("what was parked is due at once", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.bank.has(silent, silent)
		s.process().refuses("k", http.StatusServiceUnavailable)
		s.exec("UPDATE fallible.ahead SET by = '0'")
		finishes(t, s)
	})

	t.Run("what a living process holds is its own again with its next sign of life and step", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		s.exec("UPDATE fallible.ahead SET by = '0'")
		p.answers("k", http.StatusOK)
		s.bank.wantMoved(t, 1)
	})
}

func (s *env) wantAhead(what, sql string) {
	s.t.Helper()
	var stored time.Time
	if err := s.pool.QueryRow(s.t.Context(), sql).Scan(&stored); err != nil {
		s.t.Fatal(err)
	}
	if ahead := time.Until(stored); ahead < skew/2 {
		s.t.Errorf("%s is %s from this machine's clock, want about %s", what, ahead, skew)
	}
}
