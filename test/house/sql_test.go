package house_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/lab"
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
			if err := prepare(t, conn.Conn(), s); err != nil {
				t.Errorf("%s: %v\n%s", s.At, err, s.SQL)
			}
		})
	}
}

const enterSchema = `SELECT set_config('search_path', $1, false)`

// prepare has PostgreSQL prepare a statement. Those of the lab's designs are for the schema of any of them.
func prepare(t *testing.T, conn *pgx.Conn, s statements.Statement) (err error) {
	t.Helper()
	sql, _ := s.Numbered()
	schemas := []string{"public"}
	if strings.HasPrefix(s.Name, ofDesigns) {
		schemas = nil
		for _, d := range lab.Designs {
			schemas = append(schemas, design.Schema(d.Name))
		}
	}
	for _, schema := range schemas {
		if _, err := conn.Exec(t.Context(), enterSchema, schema); err != nil {
			t.Fatal(err)
		}
		if _, err = conn.Prepare(t.Context(), "", sql); err == nil {
			return nil
		}
	}
	return err
}

// createEverySchema adds to Ratchet's schema those of the acquirer and the lab.
func createEverySchema(t *testing.T, db *pgtest.DB) {
	t.Helper()
	acquirertest.Start(t, db.URL) // makes the acquirer's own schema
	if err := design.CreateSchemas(t.Context(), db.Pool); err != nil {
		t.Fatal(err)
	}
	if err := consumer.CreateSchema(t.Context(), db.Pool); err != nil {
		t.Fatal(err)
	}
}
