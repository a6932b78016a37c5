package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Example returns a fresh, migrated database for an example function, which has
// no testing.TB, and the function that drops it. It panics if it cannot.
func Example(ctx context.Context) (pool *pgxpool.Pool, drop func()) {
	process.once.Do(func() { process.server, process.err = connect() })
	if process.err != nil {
		panic(fmt.Sprintf("pgtest: %v", process.err))
	}
	s := process.server
	name := "t_example_" + strings.ToLower(rand.Text())
	if _, err := s.admin.Exec(ctx, s.cloneTemplate(name)); err != nil {
		panic(fmt.Sprintf("pgtest: clone the template: %v", err))
	}
	url := Sparing(withDatabase(s.url, name))
	pool, err := postgres.Open(ctx, postgres.Config{URL: url, MaxConns: poolSize, ApplicationName: "pgtest"})
	if err != nil {
		panic(fmt.Sprintf("pgtest: %v", err))
	}
	return pool, func() {
		pool.Close()
		_, _ = s.admin.Exec(ctx, `DROP DATABASE IF EXISTS `+pgx.Identifier{name}.Sanitize()+` WITH (FORCE)`)
	}
}
