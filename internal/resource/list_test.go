package resource

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
)

// recorder is a database that only records its arguments.
type recorder struct {
	sql  string
	args pgx.StrictNamedArgs
}

var errRecorded = errors.New("recorded")

func (l *recorder) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	l.sql, l.args = sql, args[len(args)-1].(pgx.StrictNamedArgs)
	return nil, errRecorded
}

type listed struct{}

func (*listed) Render() any { return nil }

func TestAFilterByTimeIsABoundOnIDs(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 5, 17, 0, 0, 0, 0, time.UTC)
	at := func(days int) string { return "ch_" + id.EncodeTime(day.AddDate(0, 0, days)) }
	seconds := func(n int64) *int64 { return &n }
	for name, test := range map[string]struct {
		prefix        string
		created       form.Created
		after, before string
	}{
		"no filter bounds nothing":          {"ch", form.Created{}, FirstID, LastID},
		"an upper bound has a day of slack": {"ch", form.Created{LT: seconds(day.Unix())}, FirstID, at(1)},
		"a lower bound has a day of slack":  {"ch", form.Created{GTE: seconds(day.Unix())}, at(-1), LastID},
		"both bounds": {"ch", form.Created{GTE: seconds(day.Unix()), LT: seconds(day.Unix())}, at(-1),
			at(1)},
		"IDs of the caller's have no time":    {"", form.Created{LT: seconds(day.Unix())}, FirstID, LastID},
		"no ID is older than 1970":            {"ch", form.Created{GTE: seconds(0)}, FirstID, LastID},
		"no ID encodes the end of all time":   {"ch", form.Created{LTE: seconds(253402300799)}, FirstID, LastID},
		"nothing is made at the end of times": {"ch", form.Created{GTE: seconds(253402300799)}, LastID, LastID},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked recorder
			_, err := ListPage[listed](t.Context(), &asked, Principal{}, List{Created: test.created},
				Listing{Prefix: test.prefix})
			if !errors.Is(err, errRecorded) {
				t.Fatal(err)
			}
			if asked.args["after"] != test.after || asked.args["before"] != test.before {
				t.Errorf("IDs from %v to %v, want from %q to %q", asked.args["after"], asked.args["before"], test.after,
					test.before)
			}
		})
	}
}
