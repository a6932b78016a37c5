package phase_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

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

	t.Run("every time that is stored is the database's, whatever this machine believes", func(t *testing.T) {
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
			s.wantAhead(column, "SELECT "+column+" FROM requests")
		}
		s.wantAhead("what a phase stores", "SELECT at FROM deliveries")
	})
}

func (s *stand) wantAhead(what, sql string) {
	s.t.Helper()
	var stored time.Time
	if err := s.pool.QueryRow(s.t.Context(), sql).Scan(&stored); err != nil {
		s.t.Fatal(err)
	}
	if ahead := time.Until(stored); ahead < skew/2 {
		s.t.Errorf("%s is %s from this machine's clock, want about %s", what, ahead, skew)
	}
}
