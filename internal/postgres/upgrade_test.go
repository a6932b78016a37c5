package postgres_test

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/migrations"
)

// baseline is the last chapter of the first release. It never changes once that is out:
// from then on a database may be at any later chapter, with data in it.
const baseline = 15

// baselineRows is a small installation as a program of the baseline leaves it: a row in
// every table that later chapters have to keep. It belongs to the baseline, so it does
// not follow the schema.
//
//go:embed testdata/baseline.sql
var baselineRows string

// TestUpgrade takes a database of the baseline, with data in it, through every later chapter.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	latest := shippedChapters(t, 0)

	// atBaseline is a populated database that knows no chapter after the baseline.
	atBaseline := func(t *testing.T) (url string, conn *pgx.Conn) {
		t.Helper()
		server := pgtest.New(t)
		url = emptyDatabase(t, server, "m_"+unique(t, server, "up"))
		first := shippedChapters(t, baseline)
		migrateTo(t, url, first, lastOf(t, first))
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		if _, err := conn.Exec(t.Context(), baselineRows); err != nil {
			t.Fatalf("populate the baseline: %v", err)
		}
		return url, conn
	}

	t.Run("the baseline has data in every table of money, people and evidence", func(t *testing.T) {
		t.Parallel()
		_, conn := atBaseline(t)
		rows := countRows(t, conn)
		for table, n := range rows {
			if n == 0 && !mayBeEmpty[table] {
				t.Errorf("%s is empty: a later chapter would be tested without its data", table)
			}
		}
		if len(rows) < 50 {
			t.Errorf("the catalog shows only %d tables", len(rows))
		}
	})

	t.Run("every shipped chapter after it applies, and no row is lost", func(t *testing.T) {
		t.Parallel()
		url, conn := atBaseline(t)
		before := countRows(t, conn)
		last := lastOf(t, latest)
		migrateTo(t, url, latest, last)
		after := countRows(t, conn)
		for table, n := range before {
			if after[table] != n {
				t.Errorf("%s had %d rows, and has %d", table, n, after[table])
			}
		}
	})

	t.Run("events become a month where they are, and those of a clock that was ahead get no month", func(t *testing.T) {
		t.Parallel()
		url, conn := atBaseline(t)
		made := id.New("evt", time.Now())
		for _, sql := range []string{
			`INSERT INTO events (account_id, id, livemode, type, object_id, data, api_version, request_id, created_at)
				SELECT account_id, $1, livemode, 'charge.failed', object_id, data, api_version, request_id, created_at
				FROM events WHERE id = 'evt_1'`,
			`INSERT INTO webhook_deliveries (account_id, event_id, endpoint_id, attempts, due_at, created_at)
				VALUES ('acct_1', $1, 'we_1', 1, now(), now())`,
			`INSERT INTO webhook_attempts (account_id, event_id, endpoint_id, attempt, started_at)
				VALUES ('acct_1', $1, 'we_1', 1, now())`,
		} {
			if _, err := conn.Exec(t.Context(), sql, made); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := conn.Exec(t.Context(), `
			CREATE VIEW their_attempts AS SELECT t.attempt, e.type FROM webhook_attempts t
				JOIN events e ON e.account_id = t.account_id AND e.id = t.event_id;
			GRANT SELECT ON their_attempts TO ratchet_auditor;
			CREATE INDEX attempts_of_a_time ON webhook_attempts (started_at) WHERE attempt > 0`); err != nil {
			t.Fatal(err)
		}
		const files = `SELECT string_agg(relname || ' ' || relfilenode, ' ' ORDER BY relname) FROM pg_class
			WHERE relnamespace = 'public'::regnamespace
			  AND relname ~ '^(events|webhook_deliveries|webhook_attempts)%s(_pkey|_one_per_change)?$'`
		var before, after string
		if err := conn.QueryRow(t.Context(), fmt.Sprintf(files, "")).Scan(&before); err != nil {
			t.Fatal(err)
		}
		migrateTo(t, url, latest, lastOf(t, latest))
		month := time.Now().UTC().Format("_2006_01")
		if err := conn.QueryRow(t.Context(), fmt.Sprintf(files, month)).Scan(&after); err != nil {
			t.Fatal(err)
		}
		if after = strings.ReplaceAll(after, month, ""); before != after {
			t.Errorf("tables and indexes were %s, and are %s: they were copied", before, after)
		}
		var shown, granted, indexed int
		if err := conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM their_attempts),
			has_table_privilege('ratchet_auditor', 'their_attempts', 'SELECT')::integer,
			(SELECT count(*) FROM pg_inherits WHERE inhparent = 'attempts_of_a_time'::regclass)`).
			Scan(&shown, &granted, &indexed); err != nil {
			t.Fatal(err)
		}
		if shown != 2 || granted != 1 || indexed < 3 {
			t.Errorf("a view shows %d attempts (granted: %d), and %d partitions have an index, want 2, 1 and all",
				shown, granted, indexed)
		}
		for _, table := range []string{"events", "webhook_deliveries", "webhook_attempts"} {
			for _, of := range []string{table + month, table + "_default"} {
				var n int
				if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM `+of).Scan(&n); err != nil || n != 1 {
					t.Errorf("%s has %d rows, want 1: %v", of, n, err)
				}
			}
		}
	})

	t.Run("a later chapter changes tables that have data", func(t *testing.T) {
		t.Parallel()
		url, conn := atBaseline(t)
		next := lastOf(t, latest) + 1
		madeUp := withChapter(latest, next, `
			ALTER TABLE charges ADD COLUMN risk_score smallint NOT NULL DEFAULT 0,
				ADD CONSTRAINT charges_risk_score_is_a_percentage CHECK (risk_score BETWEEN 0 AND 100);
			UPDATE charges SET risk_score = 42 WHERE status = 'succeeded';
			CREATE TABLE charge_reviews (
				account_id text COLLATE "C" NOT NULL,
				charge_id  text COLLATE "C" NOT NULL,
				note       text NOT NULL,
				PRIMARY KEY (account_id, charge_id),
				FOREIGN KEY (account_id, charge_id) REFERENCES charges
			);
			INSERT INTO charge_reviews SELECT account_id, id, 'charged before reviews' FROM charges;
			CREATE INDEX charges_by_risk ON charges (risk_score, account_id, id) WHERE risk_score > 0;
			GRANT SELECT ON charge_reviews TO ratchet_api`)

		before := countRows(t, conn)
		migrateTo(t, url, madeUp, next)
		after := countRows(t, conn)
		for table, n := range before {
			if after[table] != n {
				t.Errorf("%s had %d rows, and has %d", table, n, after[table])
			}
		}
		if after["charge_reviews"] != before["charges"] || before["charges"] == 0 {
			t.Errorf("%d charges have %d reviews", before["charges"], after["charge_reviews"])
		}
		var scored, succeeded int
		const score = `SELECT count(*) FILTER (WHERE risk_score = 42), count(*) FILTER (WHERE status = 'succeeded')
			FROM charges`
		if err := conn.QueryRow(t.Context(), score).Scan(&scored, &succeeded); err != nil {
			t.Fatal(err)
		}
		if scored != succeeded || scored == 0 {
			t.Errorf("%d of %d charges have the new score", scored, succeeded)
		}
		migrateTo(t, url, madeUp, next) // there is nothing more to do
	})

	t.Run("the guards of the baseline hold for a later chapter, too", func(t *testing.T) {
		t.Parallel()
		url, conn := atBaseline(t)
		before := countRows(t, conn)
		madeUp := withChapter(latest, lastOf(t, latest)+1, `
			ALTER TABLE ledger_postings ADD COLUMN note text;
			UPDATE ledger_postings SET available_on = available_on + interval '1 day'`)
		err := postgres.MigrateUpFrom(t.Context(), url, madeUp)
		if err == nil || !strings.Contains(err.Error(), "the ledger is append-only") {
			t.Errorf("a chapter that rewrites postings ends with %v", err)
		}
		mustStand(t, url, latest, postgres.Status{Version: lastOf(t, latest), Latest: lastOf(t, latest)})
		if after := countRows(t, conn); after["ledger_postings"] != before["ledger_postings"] {
			t.Errorf("the ledger had %d postings, and has %d", before["ledger_postings"], after["ledger_postings"])
		}
	})

	t.Run("a chapter that the data contradicts leaves the database at the one before", func(t *testing.T) {
		t.Parallel()
		url, conn := atBaseline(t)
		next := lastOf(t, latest) + 1
		madeUp := withChapter(latest, next, `
			ALTER TABLE customers ADD COLUMN vip boolean NOT NULL DEFAULT false;
			ALTER TABLE charges ADD CONSTRAINT charges_are_free CHECK (amount = 0)`)
		if err := postgres.MigrateUpFrom(t.Context(), url, madeUp); err == nil {
			t.Fatal("no error")
		}
		mustStand(t, url, madeUp, postgres.Status{Version: next - 1, Latest: next})
		var half bool
		const hasColumn = `SELECT EXISTS (SELECT FROM information_schema.columns
			WHERE table_name = 'customers' AND column_name = 'vip')`
		if err := conn.QueryRow(t.Context(), hasColumn).Scan(&half); err != nil || half {
			t.Errorf("half of the chapter is there: %v, %v", half, err)
		}
	})
}

// mayBeEmpty are tables whose rows later chapters may lose.
var mayBeEmpty = map[string]bool{
	"workers": true, // liveness ends with the processes
}

// shippedChapters are the chapters in this binary up to a number; 0: all of them.
func shippedChapters(t *testing.T, upTo uint) fstest.MapFS {
	t.Helper()
	names, err := fs.Glob(migrations.FS, "*.up.sql")
	if err != nil {
		t.Fatal(err)
	}
	chapters := fstest.MapFS{}
	for _, name := range names {
		if upTo > 0 && numberOf(t, name) > upTo {
			continue
		}
		text, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		chapters[name] = &fstest.MapFile{Data: text}
	}
	return chapters
}

// withChapter is a copy of the chapters with one more.
func withChapter(chapters fstest.MapFS, number uint, sql string) fstest.MapFS {
	more := fstest.MapFS{fmt.Sprintf("%06d_made_up.up.sql", number): {Data: []byte(sql)}}
	for name, file := range chapters {
		more[name] = file
	}
	return more
}

func numberOf(t *testing.T, name string) uint {
	t.Helper()
	digits, _, _ := strings.Cut(name, "_")
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil {
		t.Fatalf("%s has no number: %v", name, err)
	}
	return uint(n)
}

func lastOf(t *testing.T, chapters fstest.MapFS) (last uint) {
	t.Helper()
	for name := range chapters {
		last = max(last, numberOf(t, name))
	}
	return last
}

func migrateTo(t *testing.T, url string, chapters fstest.MapFS, version uint) {
	t.Helper()
	if err := postgres.MigrateUpFrom(t.Context(), url, chapters); err != nil {
		t.Fatal(err)
	}
	mustStand(t, url, chapters, postgres.Status{Version: version, Latest: version})
}

// countRows counts the rows of every table of ours, by its name.
func countRows(t *testing.T, conn *pgx.Conn) map[string]int {
	t.Helper()
	const tables = `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
		AND NOT relispartition AND relname <> 'schema_revision'`
	rows, err := conn.Query(t.Context(), tables)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, name := range names {
		var n int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM `+pgx.Identifier{name}.Sanitize()).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		counts[name] = n
	}
	return counts
}
