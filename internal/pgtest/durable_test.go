package pgtest_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

func TestDurable(t *testing.T) {
	t.Parallel()
	d := pgtest.Durable(t)

	for setting, want := range map[string]string{"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"} {
		if got := readSetting(t, d.Pool, setting); got != want {
			t.Errorf("%s = %s, want %s", setting, got, want)
		}
	}

	_, err := d.Pool.Exec(t.Context(), `INSERT INTO accounts (id, name) VALUES ('acct_committed', 'x')`)
	if err != nil {
		t.Fatal(err)
	}
	open, err := d.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = open.Exec(t.Context(), `INSERT INTO accounts (id, name) VALUES ('acct_open', 'x')`)
	if err != nil {
		t.Fatal(err)
	}

	d.Kill()
	err = open.Commit(t.Context())
	if !postgres.ConnectionLost(err) {
		t.Errorf("a commit sent to a dead server: %v", err)
	}
	d.Restart()

	var accounts string
	err = d.Pool.QueryRow(t.Context(), `SELECT string_agg(id, ' ') FROM accounts`).Scan(&accounts)
	if err != nil {
		t.Fatal(err)
	}
	if accounts != "acct_committed" {
		t.Errorf("after the crash there are %q; want what was committed and nothing else", accounts)
	}
}

func readSetting(t *testing.T, pool *pgxpool.Pool, name string) string {
	t.Helper()
	var value string
	err := pool.QueryRow(t.Context(), `SELECT current_setting($1)`, name).Scan(&value)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
