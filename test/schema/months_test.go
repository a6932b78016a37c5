package schema_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// thisMonth is when the month of the tests began, and nextMonth when it ends. Both have partitions.
var (
	thisMonth = time.Date(time.Now().UTC().Year(), time.Now().UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
	nextMonth = thisMonth.AddDate(0, 1, 0)
)

const (
	lastMoment  = -time.Millisecond // before the end of this month
	firstMoment = time.Duration(0)
)

// partition is the name of a table's partition.
func partition(table string, month time.Time) string { return table + month.Format("_2006_01") }

// around makes an ID a little before or after the end of this month.
func around(prefix string, moment time.Duration, n int) string {
	return fmt.Sprintf("%s_%s%016d", prefix, id.EncodeTime(nextMonth.Add(moment)), n)
}

// eventOf inserts an event that a request told about an object, with a delivery in a state and its attempt.
func eventOf(eventID, requestID, object, state string) string {
	return fmt.Sprintf(`
		INSERT INTO events (account_id, id, livemode, type, object_id, data, api_version, request_id, created_at)
		VALUES ('acct_1', '%[1]s', false, 'charge.succeeded', '%[3]s', '{}', '2019-12-03', '%[2]s', now());
		INSERT INTO webhook_deliveries (account_id, event_id, endpoint_id, state, attempts, due_at, ended_at,
			created_at)
		SELECT 'acct_1', '%[1]s', 'we_1', s, 1, CASE s WHEN 'pending' THEN now() END,
		       CASE WHEN s <> 'pending' THEN now() END, now() FROM (VALUES ('%[4]s')) v (s);
		INSERT INTO webhook_attempts (account_id, event_id, endpoint_id, attempt, started_at)
		VALUES ('acct_1', '%[1]s', 'we_1', 1, now());`, eventID, requestID, object, state)
}

func archived(requestID string) string {
	return fmt.Sprintf(`INSERT INTO archived_answers (account_id, request_id, headers, body)
		VALUES ('acct_1', '%s', '{}', '{}');`, requestID)
}

func takeAway(kind string) string {
	return fmt.Sprintf(`SELECT take_month_away('%s', '%s')`, kind, thisMonth.Format(time.DateOnly))
}

const silenced = `; SET LOCAL session_replication_role = replica`

var monthPromises = []promise{
	{"an event told twice in a month", eventOf(around("evt", firstMoment, 1), around("req", firstMoment, 1), "ch_1",
		"succeeded"), eventOf(around("evt", firstMoment, 2), around("req", firstMoment, 1), "ch_1", "succeeded"),
		unique, partition("events", nextMonth) + "_one_per_change"},
	{"an event told in the month of its request, and again in the next", eventOf(around("evt", lastMoment, 1),
		around("req", lastMoment, 1), "ch_1", "succeeded") + silenced,
		eventOf(around("evt", firstMoment, 2), around("req", lastMoment, 1), "ch_1", "succeeded"), unique,
		"events_are_told_once"},
	{"an event told in the next month, and again in the month of its request", eventOf(around("evt", firstMoment, 1),
		around("req", firstMoment, 1), "ch_1", "succeeded"),
		eventOf(around("evt", lastMoment, 2), around("req", firstMoment, 1), "ch_1", "succeeded"), unique,
		"events_are_told_once"},
	{"an attempt in a month at no delivery", "", fmt.Sprintf(`
		INSERT INTO webhook_attempts (account_id, event_id, endpoint_id, attempt, started_at)
		VALUES ('acct_1', '%s', 'we_1', 1, now())`, around("evt", firstMoment, 1)), foreignKey,
		"webhook_attempts_delivery_exists"},
	{"a delivery in a month of an event that does not exist", "", fmt.Sprintf(`
		INSERT INTO webhook_deliveries (account_id, event_id, endpoint_id, due_at, created_at)
		VALUES ('acct_1', '%s', 'we_1', now(), now())`, around("evt", firstMoment, 1)), foreignKey,
		"webhook_deliveries_event_exists"},
	{"an event changed in a month while triggers are silenced",
		eventOf(around("evt", firstMoment, 1), "req_1", "ch_1", "succeeded") + silenced,
		`UPDATE ` + partition("events", nextMonth) + ` SET type = 'charge.failed'`, privilege, ""},
	{"an event deleted from a month while triggers are silenced",
		eventOf(around("evt", firstMoment, 1), "req_1", "ch_1", "succeeded") + silenced,
		`DELETE FROM ` + partition("events", nextMonth), privilege, ""},
	{"a month of events that is emptied while triggers are silenced", `SET LOCAL session_replication_role = replica`,
		`TRUNCATE ` + partition("events", nextMonth) + ` CASCADE`, privilege, ""},
	{"a response deleted from a month while triggers are silenced", archived(around("req", firstMoment, 1)) + silenced,
		`DELETE FROM ` + partition("archived_answers", nextMonth), privilege, ""},
	{"a month of responses that is emptied while triggers are silenced",
		`SET LOCAL session_replication_role = replica`,
		`TRUNCATE ` + partition("archived_answers", nextMonth), privilege, ""},
	{"a month of events detached that is not over", "",
		`SELECT detach_month('events', date_trunc('month', now())::date)`, "22023", ""},
	{"a month of events detached that was over a moment ago", "",
		`SELECT detach_month('events', (date_trunc('month', now()) - interval '1 month')::date)`, "22023", ""},
	{"a month detached that does not exist", "", `SELECT detach_month('events', '2001-01-01')`, "42P01", ""},
	{"a month detached of a table that has none", "", `SELECT detach_month('requests', '2001-01-01')`, "42P01", ""},
	{"a month detached of which an event is still being delivered",
		eventOf(around("evt", lastMoment, 1), "req_1", "ch_1", "pending"), takeAway("events"), "55000", ""},
	{"a month detached twice", "", `
		INSERT INTO detached_months (kind, month, first_id, next_id, rows)
		VALUES ('events', '2001-01-01', '', 'evt_0', 0)`, unique, "detached_months_pkey"},
	{"a month of something else detached", "", `
		INSERT INTO detached_months (kind, month, first_id, next_id, rows)
		VALUES ('requests', '2001-01-01', '', 'req_0', 0)`, check, "detached_months_kind_is_known"},
}

// TestAMonthOfEventsAndResponsesIsDetached has rows in the last moment of a month and in the first one of the next.
func TestAMonthOfEventsAndResponsesIsDetached(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t).Pool
	mustExec(t, pool, `
		INSERT INTO accounts (id, name) VALUES ('acct_1', 'Shop');`+
		eventOf(around("evt", lastMoment, 1), around("req", lastMoment, 1), "ch_1", "succeeded")+
		eventOf(around("evt", firstMoment, 2), around("req", lastMoment, 1), "ch_2", "pending")+
		archived(around("req", lastMoment, 1))+archived(around("req", firstMoment, 2)))
	for _, table := range []string{"events", "webhook_deliveries", "webhook_attempts", "archived_answers"} {
		for _, month := range []time.Time{thisMonth, nextMonth} {
			if n := number(t, pool, `SELECT count(*) FROM `+partition(table, month)); n != 1 {
				t.Errorf("%s has %d rows, want 1", partition(table, month), n)
			}
		}
	}

	for _, kind := range []string{"events", "archived_answers"} {
		if n := number(t, pool, takeAway(kind)); n != 1 {
			t.Errorf("%d rows of %s went with the month, want 1", n, kind)
		}
	}
	for _, table := range []string{"events", "webhook_deliveries", "webhook_attempts", "archived_answers"} {
		if n := number(t, pool, `SELECT count(*) FROM `+table); n != 1 {
			t.Errorf("%s keeps %d rows, want that of the next month", table, n)
		}
		if n := number(t, pool, `SELECT count(*) FROM months_detached.`+partition(table, thisMonth)); n != 1 {
			t.Errorf("the month of %s has %d rows, want 1", table, n)
		}
	}

	t.Run("what is told of that time later has a partition", func(t *testing.T) {
		mustExec(t, pool, eventOf(around("evt", lastMoment, 3), around("req", lastMoment, 3), "ch_3", "succeeded")+
			archived(around("req", lastMoment, 3)))
		if n := number(t, pool, `SELECT count(*) FROM events_default`); n != 1 {
			t.Errorf("%d events have no month, want 1", n)
		}
	})
	t.Run("the month is restored, with its guards", func(t *testing.T) {
		mustExec(t, pool, fmt.Sprintf(`
			ALTER TABLE months_detached.%[1]s SET SCHEMA public;
			ALTER TABLE archived_answers DISABLE TRIGGER archived_answers_are_kept;
			DELETE FROM archived_answers_default;
			ALTER TABLE archived_answers ENABLE ALWAYS TRIGGER archived_answers_are_kept;
			ALTER TABLE archived_answers ATTACH PARTITION %[1]s
				FOR VALUES FROM (MINVALUE) TO (id_at('req', '%[2]s'))`,
			partition("archived_answers", thisMonth), nextMonth.Format(time.RFC3339)))
		try(t, pool, promise{given: `SET LOCAL session_replication_role = replica`,
			refused: `DELETE FROM ` + partition("archived_answers", thisMonth), state: privilege})
	})
}

func TestMonthsArePrepared(t *testing.T) {
	t.Parallel()
	farMonth := thisMonth.AddDate(0, 8, 0)
	far := fmt.Sprintf("%s%016d", id.EncodeTime(farMonth.Add(time.Hour)), 1)

	t.Run("each month once, for all tables", func(t *testing.T) {
		t.Parallel()
		pool := pgtest.New(t).Pool
		if n := number(t, pool, `SELECT prepare_months(3)`); n != 0 {
			t.Errorf("%d months were missing after the migration", n)
		}
		if n := number(t, pool, `SELECT prepare_months(8)`); n != 2*5 {
			t.Errorf("%d months were made, want five for events and five for responses", n)
		}
		mustExec(t, pool, `INSERT INTO accounts (id, name) VALUES ('acct_1', 'Shop');`+
			eventOf("evt_"+far, "req_"+far, "ch_1", "pending")+archived("req_"+far))
		for _, table := range []string{"events", "webhook_deliveries", "webhook_attempts", "archived_answers"} {
			if n := number(t, pool, `SELECT count(*) FROM `+partition(table, farMonth)); n != 1 {
				t.Errorf("%s has %d rows, want 1", partition(table, farMonth), n)
			}
		}
	})

	t.Run("a month that is missing stops nothing, and is left alone once rows of it are stored", func(t *testing.T) {
		t.Parallel()
		pool := pgtest.New(t).Pool
		mustExec(t, pool, `INSERT INTO accounts (id, name) VALUES ('acct_1', 'Shop');`+
			eventOf("evt_"+far, "req_"+far, "ch_1", "pending")+archived("req_"+far))
		if n := number(t, pool, `SELECT prepare_months(8)`); n != 2*4 {
			t.Errorf("%d months were made, want four for events and four for responses", n)
		}
		if n := number(t, pool, `SELECT count(*) FROM events_default`); n != 1 {
			t.Errorf("%d events have no month, want 1", n)
		}
	})

	t.Run("a new month is stored as the old one", func(t *testing.T) {
		t.Parallel()
		pool := pgtest.New(t).Pool
		const columns = `
			SELECT format('%%s %%s %%s ', attname, attstorage, attcompression) || coalesce(reloptions::text, '')
			FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
			WHERE c.relname = '%s' AND attnum > 0 ORDER BY attnum`
		for _, table := range []string{"events", "webhook_deliveries", "webhook_attempts", "archived_answers"} {
			was := column(t, pool, fmt.Sprintf(columns, partition(table, thisMonth)))
			is := column(t, pool, fmt.Sprintf(columns, partition(table, nextMonth)))
			if len(was) == 0 || fmt.Sprint(was) != fmt.Sprint(is) {
				t.Errorf("%s: %q and then %q", table, was, is)
			}
		}
	})
}

func TestIDsOfATimeAreThoseOfTheProgram(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t).Pool
	for _, at := range []time.Time{thisMonth, nextMonth, time.UnixMilli(0), time.UnixMilli(61), time.UnixMilli(62),
		time.Date(2038, 1, 19, 3, 14, 7, 999e6, time.UTC), id.Latest} {
		var got string
		if err := pool.QueryRow(t.Context(), `SELECT id_at('evt', $1)`, at).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if want := "evt_" + id.EncodeTime(at); got != want {
			t.Errorf("at %s it is %s, want %s", at, got, want)
		}
	}
}

// A month is detached by the owner, or by the worker through the one function that leaves young months alone.
func TestWhoDetachesMonths(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	worker := db.PoolAs(t, "ratchet_worker")
	firstMonthEnded(t, db.Pool)
	for _, refused := range []string{takeAway("events"), `SELECT detach_month('events', '2020-01-01')`} {
		try(t, worker, promise{refused: refused, state: privilege})
	}
	try(t, db.PoolAs(t, "ratchet_api"), promise{refused: `SELECT detach_oldest_month('events', 1)`, state: privilege})

	var month *time.Time
	oldest := func(keep int) *time.Time {
		t.Helper()
		month = nil
		err := worker.QueryRow(t.Context(), `SELECT detach_oldest_month('events', $1)`, keep).Scan(&month)
		if err != nil {
			t.Fatal(err)
		}
		return month
	}
	if got := oldest(12 * 100); got != nil {
		t.Errorf("kept for a century, and %s was detached", got)
	}
	if got := oldest(12); got == nil || got.Year() != 2020 {
		t.Errorf("%v was detached, want January 2020", got)
	}
	if got := oldest(12); got != nil {
		t.Errorf("%s was detached as well", got)
	}
}

// firstMonthEnded makes an installation older: its first partitions end with January 2020.
func firstMonthEnded(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	for table, prefix := range map[string]string{"events": "evt", "webhook_deliveries": "evt",
		"webhook_attempts": "evt", "archived_answers": "req"} {
		mustExec(t, pool, fmt.Sprintf(`
			ALTER TABLE %[1]s DETACH PARTITION %[2]s;
			ALTER TABLE %[2]s RENAME TO %[1]s_2020_01;
			ALTER TABLE %[1]s ATTACH PARTITION %[1]s_2020_01
				FOR VALUES FROM (MINVALUE) TO (id_at('%[3]s', '2020-02-01 00:00+0'))`,
			table, partition(table, thisMonth), prefix))
	}
}
