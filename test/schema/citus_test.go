package schema_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// citus are functions with the names of Citus's. They check its rules for unique constraints and foreign keys, and that
// tables of one join have one type of distribution column. The rules are on Citus's page "Creating and Modifying
// Distributed Objects".
const citus = `
	CREATE TABLE spread (name text PRIMARY KEY, is_copied boolean NOT NULL);

	CREATE FUNCTION create_reference_table(of_table regclass) RETURNS void LANGUAGE sql AS $$
	    INSERT INTO spread VALUES (of_table::text, true)
	$$;

	CREATE FUNCTION create_distributed_table(of_table regclass, by_column text) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
	    wrong text;
	BEGIN
	    SELECT i.indexrelid::regclass || ' does not contain ' || by_column INTO wrong FROM pg_index i
	     WHERE i.indrelid = of_table AND i.indisunique AND NOT EXISTS (
	         SELECT FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attname = by_column
	            AND a.attnum = ANY (i.indkey::smallint[]));
	    IF wrong IS NULL THEN
	        SELECT c.conname || ' refers to ' || c.confrelid::regclass || ', or not by ' || by_column INTO wrong
	          FROM pg_constraint c LEFT JOIN spread s ON s.name = c.confrelid::regclass::text
	         WHERE c.conrelid = of_table AND c.contype = 'f' AND c.conparentid = 0 AND NOT coalesce(s.is_copied, false)
	           AND (s.name IS NULL AND c.confrelid <> of_table
	                OR pg_get_constraintdef(c.oid) !~ (by_column || '.*REFERENCES.*' || by_column));
	    END IF;
	    IF wrong IS NULL THEN
	        SELECT by_column || ' is of another type or collation' INTO wrong FROM pg_attribute a
	         WHERE a.attrelid = of_table AND a.attname = by_column
	           AND (a.atttypid <> 'text'::regtype OR a.attcollation <> '"C"'::regcollation);
	    END IF;
	    IF wrong IS NOT NULL THEN
	        RAISE EXCEPTION '%: %', of_table, wrong;
	    END IF;
	    INSERT INTO spread VALUES (of_table::text, false);
	END $$;`

// TestCitus runs the DDL of docs/tour/17-growth.md, and compares the tables that it leaves on one node with those that
// the chapter lists.
func TestCitus(t *testing.T) {
	t.Parallel()
	chapter, err := os.ReadFile("../../docs/tour/17-growth.md")
	if err != nil {
		t.Fatal(err)
	}
	ddl := regexp.MustCompile("(?s)```sql\n(.*?)```").FindSubmatch(chapter)
	local := regexp.MustCompile(`(?s)\| local, on the coordinator .*?\n\n`).Find(chapter)
	if ddl == nil || local == nil {
		t.Fatal("the chapter has no DDL, or no list of local tables")
	}
	var listed []string
	for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllSubmatch(local, -1) {
		listed = append(listed, string(name[1]))
	}
	conn, err := pgx.Connect(t.Context(), pgtest.New(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), citus); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), string(ddl[1])); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), `
		SELECT relname::text FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
		  AND relname <> 'spread' AND relname NOT IN (SELECT name FROM spread)`)
	if err != nil {
		t.Fatal(err)
	}
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(left)
	slices.Sort(listed)
	if !slices.Equal(left, listed) {
		t.Errorf("these tables are left on one node:\n%s\nand these are listed:\n%s", strings.Join(left, " "),
			strings.Join(listed, " "))
	}
}
