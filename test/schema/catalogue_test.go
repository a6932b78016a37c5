package schema_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// No row breaks these alone: they repeat a narrower key, for a foreign key to
// refer to more columns than that has.
var impliedByNarrowerKeys = []string{"ledger_refund_chain_one_total_per_place"}

// A constraint that is added without an attempt at breaking it is found here.
func TestEveryConstraintIsTried(t *testing.T) {
	t.Parallel()
	tried := make(map[string]bool)
	for _, p := range allPromises() {
		tried[p.constraint] = true
	}

	// Of partitions the parent's are enough, and schema_revision is not ours. PostgreSQL 18 also lists every NOT NULL.
	names := column(t, seeded(t).Pool, `
		SELECT conname FROM pg_constraint c JOIN pg_class r ON r.oid = c.conrelid
		 WHERE r.relnamespace = 'public'::regnamespace AND NOT r.relispartition AND r.relname <> 'schema_revision'
		   AND c.contype <> 'n'
		   AND NOT (r.relkind = 'p' AND c.contype = 'p') -- reported under the name of the partition's
		UNION
		SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class r ON r.oid = x.indrelid
		 WHERE x.indisunique AND r.relnamespace = 'public'::regnamespace AND NOT r.relispartition AND r.relkind = 'r'
		   AND r.relname <> 'schema_revision'
		 ORDER BY 1`)
	if len(names) < 50 {
		t.Fatalf("the catalog shows only %d constraints: %v", len(names), names)
	}
	for _, name := range names {
		if !tried[name] && !slices.Contains(impliedByNarrowerKeys, name) {
			t.Errorf("no promise is about %s", name)
		}
	}
}

// TestConstraintsAreNamedAfterTheirTableAndRule holds constraints and unique indexes to one form: an error that
// names charges_amount_is_positive says where to look. A foreign key to a row's account keeps PostgreSQL's name.
func TestConstraintsAreNamedAfterTheirTableAndRule(t *testing.T) {
	t.Parallel()
	names := column(t, seeded(t).Pool, `
		WITH ours AS (
			SELECT oid, relname FROM pg_class WHERE NOT relispartition AND relkind IN ('r', 'p')
			   AND relnamespace IN ('public'::regnamespace, 'shop'::regnamespace) AND relname <> 'schema_revision'
		), named AS (
			SELECT relname, conname AS name FROM pg_constraint JOIN ours ON ours.oid = conrelid
			 WHERE contype <> 'n' -- PostgreSQL names NOT NULL itself
			UNION
			SELECT ours.relname, i.relname FROM pg_index x JOIN ours ON ours.oid = x.indrelid
			  JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indisunique
			UNION
			SELECT relname, tgname FROM pg_trigger JOIN ours ON ours.oid = tgrelid
			 WHERE NOT tgisinternal AND tgfoid <> 'reject_change'::regproc
		)
		SELECT relname || ': ' || name FROM named ORDER BY 1`)
	if len(names) < 250 {
		t.Fatalf("the catalog shows only %d names: %v", len(names), names)
	}
	for _, name := range names {
		table, name, _ := strings.Cut(name, ": ")
		if !strings.HasPrefix(name, table+"_") {
			t.Errorf("%s of %s does not begin with the table's name", name, table)
		}
	}
}

// Merchants choose keys and see identifiers; what is unique without its merchant
// lets one of them collide with, and so learn of, another.
func TestNothingIsUniqueAcrossMerchants(t *testing.T) {
	t.Parallel()
	const uniqueIndexes = `
		SELECT i.relname, EXISTS (SELECT FROM pg_attribute a
		       WHERE a.attrelid = x.indexrelid AND a.attname IN ('account_id', 'book_id'))
		  FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
		 WHERE x.indisunique AND x.indrelid = $1::regclass`
	pool := seeded(t).Pool

	for _, table := range []string{"requests", "runs", "answers", "foreign_calls", "takeovers",
		"fence_refusals", "charges", "refunds",
		"customers", "cards", "tokens", "confirmation_tokens",
		"events", "webhook_endpoints", "webhook_deliveries", "webhook_attempts",
		"cli_sessions", "cli_log_lines",
		"ledger_postings", "ledger_refund_chain", "disputes",
		"settlements", "settlement_parts", "movements_waiting", "movements_set_aside", "charges_to_show"} {
		t.Run(table, func(t *testing.T) {
			rows, err := pool.Query(t.Context(), uniqueIndexes, table)
			if err != nil {
				t.Fatal(err)
			}
			var index string
			var hasMerchant bool
			found, err := pgx.ForEachRow(rows, []any{&index, &hasMerchant}, func() error {
				if !hasMerchant {
					t.Errorf("%s contains neither account_id nor book_id", index)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if found.RowsAffected() == 0 {
				t.Error("it has no unique index at all")
			}
		})
	}
}

func column(t *testing.T, pool *pgxpool.Pool, query string) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	values, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return values
}
