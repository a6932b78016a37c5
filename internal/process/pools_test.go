package process

import (
	"testing"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestPoolsUseNoParallelWorkers(t *testing.T) {
	t.Parallel()
	p := &parts{leader: &postgres.Leader{}}
	t.Cleanup(p.close)
	pool, err := p.open(t.Context(), postgres.Config{URL: pgtest.New(t).URL, MaxConns: 1,
		Session: map[string]string{"plan_cache_mode": "force_generic_plan"}})
	if err != nil {
		t.Fatal(err)
	}
	for setting, want := range map[string]string{
		"max_parallel_workers_per_gather": "0",
		"plan_cache_mode":                 "force_generic_plan", // of this pool
	} {
		var got string
		if err := pool.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
}
