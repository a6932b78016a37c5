package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer/simulator"
)

// TestMonthsOfEventsAndResponsesThatAreAway takes the month with all events, and with all responses, away.
func TestMonthsOfEventsAndResponsesThatAreAway(t *testing.T) {
	t.Parallel()
	const (
		emittedRule = "every change has its event, and every event has its change"
		kept        = "every finished request keeps its answer"
	)
	b := newBooks(t)
	run := func(sql string) {
		t.Helper()
		if _, err := b.ours.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%v in: %s", err, sql)
		}
	}
	requireOK := func(when string) {
		t.Helper()
		for _, since := range []time.Time{{}, time.Now().Add(-time.Hour)} {
			report, err := Run(t.Context(), Config{Pool: b.ours, Acquirer: simulator.Records{DB: b.theirs},
				AuditKeys: chainKey, Since: since})
			if err != nil {
				t.Fatal(err)
			}
			if report.ExitCode() != OK {
				var text strings.Builder
				_ = report.Print(&text)
				t.Fatalf("does not hold %s:\n%s", when, text.String())
			}
		}
	}
	// noticed damages the books in a transaction that is rolled back.
	noticed := func(what, sql, rule string) {
		t.Helper()
		tx := begin(t, b.ours)
		if _, err := tx.Exec(t.Context(), triggersOff+"; "+sql); err != nil {
			t.Fatal(err)
		}
		theirs := readBefore(t.Context(), simulator.Records{DB: begin(t, b.theirs)})
		report, err := Config{AuditKeys: chainKey}.prove(t.Context(), tx, theirs)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(broken(report), rule) {
			t.Errorf("%s is not noticed; what is: %q", what, broken(report))
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	run(`
		UPDATE webhook_deliveries SET state = 'succeeded', attempts = 1, due_at = NULL, ended_at = now();
		INSERT INTO webhook_attempts (account_id, event_id, endpoint_id, attempt, started_at, ended_at, status)
		SELECT account_id, event_id, endpoint_id, 1, now(), now(), 200 FROM webhook_deliveries;
		INSERT INTO archived_answers (account_id, request_id, headers, body)
		SELECT account_id, request_id, headers, body FROM answers;
		UPDATE answers SET archived_at = now(), headers = NULL, body = NULL`)
	requireOK("with the months")
	var month string
	if err := b.ours.QueryRow(t.Context(), `SELECT right(min(relname), 7) FROM pg_class
		WHERE relname ~ '^events_\d{4}_\d{2}$'`).Scan(&month); err != nil {
		t.Fatal(err)
	}
	first := strings.ReplaceAll(month, "_", "-") + "-01"
	run(fmt.Sprintf(`SELECT take_month_away('events', '%[1]s'), take_month_away('archived_answers', '%[1]s')`, first))
	requireOK("without them")

	const ofAnotherMonth = `
		UPDATE requests SET created_at = created_at + interval '2 months' WHERE flow = 'charge.create';
		UPDATE answers SET finished_at = finished_at + interval '2 months'
		WHERE request_id IN (SELECT id FROM requests WHERE flow = 'charge.create')`
	noticed("an event that is missing beside the month", ofAnotherMonth, emittedRule)
	noticed("a response that is missing beside the month", `
		UPDATE detached_months SET next_id = 'req_0' WHERE kind = 'archived_answers'`, kept)

	for table, prefix := range map[string]string{"events": "evt", "webhook_deliveries": "evt",
		"webhook_attempts": "evt", "archived_answers": "req"} {
		run(fmt.Sprintf(`
			ALTER TABLE months_detached.%[1]s_%[2]s SET SCHEMA public;
			ALTER TABLE %[1]s ATTACH PARTITION %[1]s_%[2]s
				FOR VALUES FROM (MINVALUE) TO (id_at('%[3]s', (timestamptz '%[4]s 00:00+0' + interval '1 month')))`,
			table, month, prefix, first))
	}
	requireOK("with the months, attached again")
	noticed("an event that is missing from a month that is back", `DELETE FROM events WHERE type = 'charge.succeeded'`,
		emittedRule)
	noticed("a response that is missing from a month that is back", `DELETE FROM archived_answers`, kept)
}

// TestAMonthThatIsGuardedLess: what is missing from one partition is not missing from its parent.
func TestAMonthThatIsGuardedLess(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	var month string
	if err := b.ours.QueryRow(t.Context(), `SELECT right(max(relname), 7) FROM pg_class
		WHERE relname ~ '^events_\d{4}_\d{2}$'`).Scan(&month); err != nil {
		t.Fatal(err)
	}
	for _, damage := range []string{
		"ALTER TABLE events_%[1]s DROP CONSTRAINT events_%[1]s_one_per_change",
		"ALTER TABLE webhook_deliveries_%[1]s DROP CONSTRAINT webhook_deliveries_event_exists",
		"ALTER TABLE webhook_attempts_%[1]s DROP CONSTRAINT webhook_attempts_delivery_exists",
		"DROP TRIGGER events_are_told_once ON events_%[1]s",
		"ALTER TABLE events_%[1]s DISABLE TRIGGER events_are_told_once",
		"DROP TRIGGER events_are_not_emptied ON events_%[1]s",
		"DROP TRIGGER archived_answers_are_not_emptied ON archived_answers_%[1]s",
		"GRANT UPDATE ON events_%[1]s TO ratchet_worker",
	} {
		damage = fmt.Sprintf(damage, month)
		tx := begin(t, b.ours)
		if _, err := tx.Exec(t.Context(), damage); err != nil {
			t.Fatal(err)
		}
		if found := secondLine(t.Context(), tx); len(found.Violations) != 1 {
			t.Errorf("%s: %+v", damage, found.Violations)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
