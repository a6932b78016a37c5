package postgres_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// thing has a field of every kind that a column takes.
type thing struct {
	AccountID string
	ID        string
	Amount    int64
	Place     *int64
	Live      bool
	Note      *string
	Tags      []string
	Metadata  map[string]string
	Card      struct{ Brand string }
	Outcome   *struct{ Reason string }
	LastError json.RawMessage
	DueAt     *time.Time
	CreatedAt time.Time
	Shown     string // in no column
}

const thingColumns = `account_id, id, amount, place, live, note, tags, metadata, card, outcome, last_error, due_at,
	created_at`

var (
	insertThings = postgres.InsertRows[thing]("things", thingColumns)
	updateThings = postgres.UpdateRows[thing]("things", "amount, metadata, place = t.place + 1", "t.live = m.live")
)

func TestRowsOfATable(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), `
		CREATE TABLE things (account_id text, id text, amount bigint NOT NULL, place bigint, live boolean NOT NULL,
		note text, tags text[], metadata json, card json NOT NULL, outcome json, last_error json, due_at timestamptz,
		created_at timestamptz NOT NULL, PRIMARY KEY (account_id, id))`)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	place, note := int64(7), `a "note", with \ and {braces}`
	full := thing{
		AccountID: "acct_1",
		ID:        "full",
		Amount:    100,
		Place:     &place,
		Live:      true,
		Note:      &note,
		Tags:      []string{`a,"b"`, "", `\`},
		Metadata:  map[string]string{"order": "é\n"},
		Card:      struct{ Brand string }{"visa"},
		Outcome:   &struct{ Reason string }{"ok"},
		LastError: json.RawMessage(`{"code": 1}`),
		DueAt:     &at,
		CreatedAt: at,
	}
	empty := thing{AccountID: "acct_1", ID: "empty", CreatedAt: at}
	stored := func(t *testing.T) map[string]thing {
		t.Helper()
		rows, err := db.Pool.Query(t.Context(), "SELECT "+thingColumns+", '' AS shown FROM things")
		if err != nil {
			t.Fatal(err)
		}
		things, err := pgx.CollectRows(rows, pgx.RowToStructByName[thing])
		if err != nil {
			t.Fatal(err)
		}
		byID := map[string]thing{}
		for _, thing := range things {
			thing.CreatedAt = thing.CreatedAt.UTC()
			if thing.DueAt != nil {
				*thing.DueAt = thing.DueAt.UTC()
			}
			byID[thing.ID] = thing
		}
		return byID
	}
	want := func(t *testing.T, things ...thing) {
		t.Helper()
		got := stored(t)
		for _, thing := range things {
			if !reflect.DeepEqual(got[thing.ID], thing) {
				t.Errorf("the table has %+v, want %+v", got[thing.ID], thing)
			}
		}
	}

	t.Run("one statement inserts the rows of two sets, and nil is null", func(t *testing.T) {
		_, err := db.Pool.Exec(t.Context(), insertThings, postgres.Join(postgres.RowsOf(full), postgres.RowsOf(empty)))
		if err != nil {
			t.Fatal(err)
		}
		want(t, full, empty)
		var nulls bool
		if err := db.Pool.QueryRow(t.Context(), `
			SELECT tags IS NULL AND metadata IS NULL AND outcome IS NULL AND last_error IS NULL
			FROM things WHERE id = 'empty'`).Scan(&nulls); err != nil || !nulls {
			t.Errorf("a nil list, map, pointer or JSON is not null (%v)", err)
		}
	})

	t.Run("an update changes the columns it names, of each row to its own values", func(t *testing.T) {
		changedFull, changedEmpty := full, empty
		changedFull.Amount, changedFull.Metadata, changedFull.Note = 200, nil, nil
		changedEmpty.Amount, changedEmpty.Metadata = 300, map[string]string{"a": "b"}
		if _, err := db.Pool.Exec(t.Context(), updateThings, postgres.RowsOf(changedFull, changedEmpty)); err != nil {
			t.Fatal(err)
		}
		next := place + 1
		changedFull.Note, changedFull.Place = full.Note, &next
		want(t, changedFull, changedEmpty)
	})

	t.Run("an update that misses a row, or meets one twice, changes none", func(t *testing.T) {
		before := stored(t)
		other, absent, guarded := full, full, full
		other.Amount, absent.ID, guarded.Live = 1, "absent", false
		for name, rows := range map[string]postgres.Rows{
			"a row that does not exist":      postgres.RowsOf(other, absent),
			"a row that the guard leaves":    postgres.RowsOf(guarded),
			"two sets of values for one row": postgres.RowsOf(other, full),
		} {
			if _, err := db.Pool.Exec(t.Context(), updateThings, rows); err == nil {
				t.Errorf("%s: the update succeeded", name)
			}
		}
		if after := stored(t); !reflect.DeepEqual(before, after) {
			t.Errorf("the table has %+v, want %+v", after, before)
		}
	})

	t.Run("a column without a field is a mistake in the program", func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("it was accepted")
			}
		}()
		postgres.InsertRows[thing]("things", "account_id, id, color")
	})

	t.Run("a name without a field is an error", func(t *testing.T) {
		_, err := db.Pool.Exec(t.Context(), "SELECT @account_id::text[], @color::text[]", postgres.RowsOf(full))
		if err == nil {
			t.Error("it was accepted")
		}
	})
}
