package verify

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer/simulator"
)

// unnoticed lists the columns that can be changed without a rule noticing, one per line,
// each with the reason why that is in order. UPDATE_UNNOTICED=1 adds the missing ones
// without a reason; the test fails until you have written one.
//
//go:embed unnoticed.txt
var unnoticed string

// selectColumns are the columns of every table of ours, partitions and generated
// columns left out: those follow from others. What follows are the generated columns of its table, and the table
// itself where the column chooses the partition.
const selectColumns = `
	SELECT t.relname || '.' || a.attname AS name, t.relname AS table_name, a.attname AS column_name,
	       format_type(a.atttypid, NULL) AS type,
	       ARRAY(SELECT g.attname::text FROM pg_attribute g WHERE g.attrelid = t.oid AND g.attgenerated <> ''
	             UNION ALL SELECT t.relname::text FROM pg_partitioned_table p
	             WHERE p.partrelid = t.oid AND a.attnum = ANY (p.partattrs)) AS follows
	FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid
	WHERE t.relnamespace = 'public'::regnamespace AND t.relkind IN ('r', 'p') AND NOT t.relispartition
	  AND t.relname <> 'schema_revision'
	  AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
	ORDER BY 1`

type tableColumn struct {
	Name, TableName, ColumnName, Type string
	Follows                           []string
}

// changed is the SQL of another value of the same type. NULL becomes a value.
func (c tableColumn) changed() string {
	name := pgx.Identifier{c.ColumnName}.Sanitize()
	switch {
	case c.Type == "boolean":
		return "NOT coalesce(" + name + ", false)"
	case c.Type == "smallint" || c.Type == "integer" || c.Type == "bigint":
		return "coalesce(" + name + ", 0) + 10000"
	case c.Type == "bytea":
		return "sha256(coalesce(" + name + ", ''))"
	case c.Type == "json" || c.Type == "jsonb":
		return `'{"changed": true}'`
	case c.Type == "date":
		return "coalesce(" + name + ", '2020-01-01') + 1"
	case strings.HasPrefix(c.Type, "timestamp with time zone") && strings.HasSuffix(c.Type, "[]"):
		return "array_fill(timestamptz '2020-01-01', ARRAY[greatest(cardinality(" + name + "), 1)])"
	case strings.HasPrefix(c.Type, "timestamp"):
		return "coalesce(nullif(" + name + ", '-infinity'), now()) + interval '40 years'"
	case strings.HasSuffix(c.Type, "[]") && strings.HasPrefix(c.Type, "text"):
		return "array_append(" + name + ", 'changed')"
	case strings.HasSuffix(c.Type, "[]"):
		return name + " || " + name
	case c.Type == "ledger_account":
		// no account twice in a period
		return "CASE " + name + " WHEN 'fee_revenue' THEN 'rounding' ELSE " + name + " END"
	}
	return "coalesce(" + name + ", '') || 'x'"
}

// damage changes a column in every row of its table. Constraints and unique indexes
// would refuse much of it, so all but the primary keys go before, which the rules need to
// group by: what is proved is the rules alone.
func (c tableColumn) damage(t *testing.T, tx pgx.Tx) (rows int64) {
	t.Helper()
	table := pgx.Identifier{c.TableName}.Sanitize()
	column := pgx.Identifier{c.ColumnName}.Sanitize()
	tag, err := tx.Exec(t.Context(), fmt.Sprintf("UPDATE %s SET %s = %s", table, column, c.changed()))
	if err != nil {
		t.Errorf("change %s: %v", c.Name, err)
		return 0
	}
	return tag.RowsAffected()
}

const constraintsOff = `DO $$ DECLARE c record; BEGIN
	FOR c IN SELECT conrelid::regclass AS place, conname FROM pg_constraint
	          WHERE connamespace = 'public'::regnamespace AND contype = 'f' AND conparentid = 0 AND conrelid <> 0 LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.place, c.conname);
	END LOOP;
	FOR c IN SELECT conrelid::regclass AS place, conname FROM pg_constraint
	          WHERE connamespace = 'public'::regnamespace AND contype IN ('c', 'u', 'x') AND conparentid = 0
	            AND conrelid <> 0 AND coninhcount = 0 LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.place, c.conname);
	END LOOP;
	FOR c IN SELECT indexrelid::regclass AS place FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
	          WHERE t.relnamespace = 'public'::regnamespace AND i.indisunique AND NOT i.indisprimary
	            AND NOT t.relispartition LOOP
		EXECUTE format('DROP INDEX %s', c.place);
	END LOOP;
	FOR c IN SELECT attrelid::regclass AS place, attname FROM pg_attribute a JOIN pg_class t ON t.oid = a.attrelid
	          WHERE t.relnamespace = 'public'::regnamespace AND t.relkind IN ('r', 'p') AND a.attnum > 0
	            AND a.attidentity <> '' LOOP
		EXECUTE format('ALTER TABLE %s ALTER COLUMN %I DROP IDENTITY', c.place, c.attname);
	END LOOP; END $$`

// TestEveryColumnIsNoticedOrListed changes every column of every table, in all rows at
// once. A rule notices, or unnoticed.txt says why none does.
func TestEveryColumnIsNoticedOrListed(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	columns, err := read[tableColumn](t.Context(), begin(t, b.ours), selectColumns)
	if err != nil {
		t.Fatal(err)
	}
	functions := functionsOf(t, b.ours)
	reasons, found := reasonsOf(t, unnoticed), map[string]bool{}

	// Its rule of the second line sees the constraints that are gone here, and proves nothing.
	// The database is this test's own, and each change a short transaction: a long one would
	// keep every trail on this server from being sealed.
	for _, sql := range []string{triggersOff, constraintsOff} {
		if _, err := b.ours.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	proofs := b.proofs(t)
	if by := noticedBy(t, begin(t, b.ours), proofs); by != "" {
		t.Fatalf("%q does not hold without any change", by)
	}
	for _, c := range columns {
		noticed := false
		err := pgx.BeginFunc(t.Context(), b.ours, func(tx pgx.Tx) error {
			// A rule that runs out of time on a busy machine has noticed nothing.
			if _, err := tx.Exec(t.Context(), "SET LOCAL statement_timeout = 0"); err != nil {
				return err
			}
			noticed = c.damage(t, tx) > 0 && noticedBy(t, tx, c.readBy(proofs, functions)) != ""
			return errUndo
		})
		if !errors.Is(err, errUndo) {
			t.Fatalf("%s: %v", c.Name, err)
		}
		reason, listed := reasons[c.Name]
		found[c.Name] = true
		switch {
		case noticed && listed:
			t.Errorf("%s is noticed: take it off unnoticed.txt", c.Name)
		case !noticed && !listed && os.Getenv("UPDATE_UNNOTICED") != "":
			unnoticed += c.Name + "\t\n"
		case !noticed && strings.TrimSpace(reason) == "":
			t.Errorf("nothing notices a change of %s, and unnoticed.txt does not say why", c.Name)
		}
	}
	for name := range reasons {
		if !found[name] {
			t.Errorf("unnoticed.txt lists %s, which is not there", name)
		}
	}
	if os.Getenv("UPDATE_UNNOTICED") != "" {
		if err := os.WriteFile("unnoticed.txt", []byte(unnoticed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var errUndo = errors.New("undo")

// proof is a check and the SQL that it reads with.
type proof struct {
	check check
	sql   string
}

func (b *books) proofs(t *testing.T) []proof {
	t.Helper()
	side := readBefore(t.Context(), simulator.Records{DB: b.theirs})
	proofs := []proof{{trail{keys: chainKey}.chain, selectBlocks + selectSealed},
		{side.check, selectCharged + selectDerived + selectUnapplied}}
	for _, r := range allRules() {
		proofs = append(proofs, proof{r.check, r.sql})
	}
	return proofs
}

// views are those that rules read. Each may show a changed table.
var views = []string{"ledger_entries", "ledger_totals", "balance_transactions", "request_status",
	"request_checkpoints", "request_calls"}

// wholeRow finds SQL that reads columns without their names: all of them, or a row.
var wholeRow = regexp.MustCompile(`(^|[^(])\*|to_json|\b\w{1,2}::text`)

// selectFunctions are the functions that may read a table.
const selectFunctions = `
	SELECT proname::text FROM pg_proc
	WHERE pronamespace = 'public'::regnamespace AND provolatile <> 'i' AND prorettype <> 'trigger'::regtype`

func functionsOf(t *testing.T, pool *pgxpool.Pool) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), selectFunctions)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) == 0 {
		t.Fatalf("%d functions, %v", len(names), err)
	}
	return names
}

// readBy are the proofs that can read a column: by its name, in a whole row, through a view, or in a function. The
// others cannot notice, and would take minutes. Those that have its name come first, because they are likely to.
func (c tableColumn) readBy(proofs []proof, functions []string) (some []proof) {
	var named, others []proof
	for _, p := range proofs {
		has := func(name string) bool { return strings.Contains(p.sql, name) }
		switch {
		case has(c.TableName) && (has(c.ColumnName) || slices.ContainsFunc(c.Follows, has)):
			named = append(named, p)
		case slices.ContainsFunc(views, has) || slices.ContainsFunc(functions, has) ||
			has(c.TableName) && wholeRow.MatchString(p.sql):
			others = append(others, p)
		}
	}
	return append(named, others...)
}

// noticedBy is the first rule that finds something wrong, or can no longer be proved.
func noticedBy(t *testing.T, tx pgx.Tx, proofs []proof) string {
	t.Helper()
	for _, p := range proofs {
		if c := apart(t.Context(), tx, p.check); len(c.Violations) > 0 || c.Unchecked != "" {
			return c.Rule
		}
	}
	return ""
}

func reasonsOf(t *testing.T, list string) map[string]string {
	t.Helper()
	reasons := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(list)); lines.Scan(); {
		name, reason, _ := strings.Cut(lines.Text(), "\t")
		if _, twice := reasons[name]; twice {
			t.Errorf("unnoticed.txt lists %s twice", name)
		}
		reasons[name] = reason
	}
	return reasons
}
