package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestOpen(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)

	open := func(t *testing.T, cfg postgres.Config) *pgxpool.Pool {
		t.Helper()
		pool, err := postgres.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		return pool
	}
	one := func(t *testing.T, pool *pgxpool.Pool, query string) string {
		t.Helper()
		var value string
		err := pool.QueryRow(t.Context(), query).Scan(&value)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}

	t.Run("every session has its limits before its first statement", func(t *testing.T) {
		t.Parallel()
		pool := open(t, postgres.Config{URL: db.URL, ApplicationName: "the-test"})
		for setting, want := range map[string]string{
			"statement_timeout":                   "3s",
			"lock_timeout":                        "1s",
			"idle_in_transaction_session_timeout": "5s",
			"default_transaction_isolation":       "read committed",
			"TimeZone":                            "UTC",
			"application_name":                    "the-test",
		} {
			if got := one(t, pool, `SELECT current_setting('`+setting+`')`); got != want {
				t.Errorf("%s = %s, want %s", setting, got, want)
			}
		}
	})

	t.Run("statements run with the role's grants and not with the login's", func(t *testing.T) {
		t.Parallel()
		pool := open(t, postgres.Config{URL: db.URL, Role: "ratchet_api", MaxConns: 1})
		_, err := pool.Exec(t.Context(), `DELETE FROM ledger_postings`)
		if postgres.Code(err) != "42501" { // insufficient_privilege
			t.Errorf("the API's role could delete from the ledger: %v", err)
		}

		_, err = pool.Exec(t.Context(), `RESET ROLE`)
		if err != nil {
			t.Fatal(err)
		}
		if got := one(t, pool, `SELECT current_user::text`); got != "ratchet_api" {
			t.Errorf("after RESET ROLE we are %s", got)
		}
	})

	t.Run("without a role it is the login that acts", func(t *testing.T) {
		t.Parallel()
		pool := open(t, postgres.Config{URL: db.URL})
		if one(t, pool, `SELECT current_user::text`) != one(t, pool, `SELECT session_user::text`) {
			t.Error("the session acts for somebody else")
		}
	})

	t.Run("a role that does not exist is noticed when opening", func(t *testing.T) {
		t.Parallel()
		_, err := postgres.Open(t.Context(), postgres.Config{URL: db.URL, Role: "nobody_at_all"})
		if err == nil || !strings.Contains(err.Error(), "nobody_at_all") {
			t.Errorf("got %v", err)
		}
	})

	t.Run("an error never shows the password", func(t *testing.T) {
		t.Parallel()
		for _, url := range []string{
			"postgres://u:hunter2@127.0.0.1:1/db",
			"postgres://u:hunter2@127.0.0.1:1/db?sslmode=nonsense",
			"host=127.0.0.1 port=one password=hunter2",
		} {
			_, err := postgres.Open(t.Context(), postgres.Config{URL: url})
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v", err)
			}
		}
	})

	t.Run("the pool has the size that was asked for", func(t *testing.T) {
		t.Parallel()
		pool := open(t, postgres.Config{URL: db.URL, MaxConns: 3})
		if got := pool.Stat().MaxConns(); got != 3 {
			t.Errorf("MaxConns = %d", got)
		}
	})
}
