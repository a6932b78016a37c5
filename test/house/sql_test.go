package house_test

import (
	"testing"

	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/lab/consumer"
	"github.com/ratchet-pay/ratchet/internal/lab/design"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/test/statements"
)

// TestEveryStatementFitsTheSchema has PostgreSQL prepare all SQL there is in
// constants: names and types are checked, nothing is run. A column that a
// migration renames is missed here and not in production.
func TestEveryStatementFitsTheSchema(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	createEverySchema(t, db)
	conn, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()

	all, err := statements.Find(root, "internal")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Errorf("found %d statements; the search is broken", len(all))
	}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			sql, _ := s.Numbered()
			_, err := conn.Conn().Prepare(t.Context(), "", sql)
			if err != nil {
				t.Errorf("%s: %v\n%s", s.At, err, s.SQL)
			}
		})
	}
}

// createEverySchema adds to Ratchet's schema those of the acquirer and the lab.
func createEverySchema(t *testing.T, db *pgtest.DB) {
	t.Helper()
	acquirertest.Start(t, db.URL) // makes the acquirer's own schema
	if err := design.CreateSchema(t.Context(), db.Pool); err != nil {
		t.Fatal(err)
	}
	if err := consumer.CreateSchema(t.Context(), db.Pool); err != nil {
		t.Fatal(err)
	}
}
