package postgres_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// difficultSQL has every place in which an @ is no argument, and an argument twice.
const difficultSQL = `SELECT '@text', "@column", E'\'@escaped', $tag$@dollar$tag$, a @> b, -- @comment
	@first + @second + @first /* @more /* @nested */ */ FROM t`

func TestArgs(t *testing.T) {
	t.Parallel()

	rewrite := func(t *testing.T, by pgx.QueryRewriter, sql string) (string, []any, error) {
		t.Helper()
		return by.RewriteQuery(t.Context(), nil, sql, nil)
	}

	t.Run("a statement becomes what pgx makes of it, also when it is known", func(t *testing.T) {
		t.Parallel()
		for sql, given := range map[string]map[string]any{
			difficultSQL: {"first": 1, "second": "two"},
			"SELECT 1":   {},
			"SELECT @a":  {"a": nil},
			"UPDATE t SET a = @b, b = @a WHERE c = @c AND a = @a": {"a": 1, "b": 2, "c": 3},
		} {
			wantSQL, wantArgs, err := rewrite(t, pgx.StrictNamedArgs(given), sql)
			if err != nil {
				t.Fatalf("the test's own arguments are wrong: %v", err)
			}
			for range 3 {
				gotSQL, gotArgs, err := rewrite(t, postgres.Args(given), sql)
				if err != nil || gotSQL != wantSQL || !reflect.DeepEqual(gotArgs, wantArgs) {
					t.Errorf("got %q %v %v\nwant %q %v", gotSQL, gotArgs, err, wantSQL, wantArgs)
				}
			}
		}
	})

	t.Run("a missing name and an extra one are errors, whether the statement is known or new", func(t *testing.T) {
		t.Parallel()
		const sql = "SELECT @here, @there"
		for _, when := range []string{"new", "known"} {
			for name, wrong := range map[string]postgres.Args{
				"missing":           {"here": 1},
				"extra":             {"here": 1, "there": 2, "elsewhere": 3},
				"misspelled":        {"here": 1, "their": 2},
				"nothing":           nil,
				"extra and missing": {"here": 1, "elsewhere": 2, "anywhere": 3},
			} {
				_, _, err := rewrite(t, wrong, sql)
				_, _, want := rewrite(t, pgx.StrictNamedArgs(wrong), sql)
				if err == nil || want == nil {
					t.Errorf("%s statement, %s: got no error", when, name)
				}
			}
			if _, _, err := rewrite(t, postgres.Args{"here": 1, "there": 2}, sql); err != nil {
				t.Errorf("%s statement, right names: %v", when, err)
			}
		}
	})

	t.Run("a name that is given as NULL is given", func(t *testing.T) {
		t.Parallel()
		for range 2 {
			_, args, err := rewrite(t, postgres.Args{"nothing": nil}, "SELECT @nothing::text IS NULL")
			if err != nil || len(args) != 1 || args[0] != nil {
				t.Errorf("got %v %v", args, err)
			}
		}
	})

	t.Run("many goroutines may meet a new statement", func(t *testing.T) {
		t.Parallel()
		var all sync.WaitGroup
		for n := range 32 {
			all.Go(func() {
				for i := range 50 {
					sql := fmt.Sprintf("SELECT @b, @a, %d", i)
					got, args, err := rewrite(t, postgres.Args{"a": n, "b": i}, sql)
					if err != nil || got != fmt.Sprintf("SELECT $1, $2, %d", i) || args[0] != i || args[1] != n {
						t.Errorf("got %q %v %v", got, args, err)
					}
				}
			})
		}
		all.Wait()
	})
}

// order is a row with everything a struct of columns may have.
type order struct {
	ID     string `db:"id"`
	Amount int64  `db:"amount,omitempty"`
	Note   *string
	Skip   string `db:"-"`
	hidden int
}

func TestRow(t *testing.T) {
	t.Parallel()

	rewrite := func(t *testing.T, value any, sql string) (string, []any, error) {
		t.Helper()
		return postgres.Row(value).RewriteQuery(t.Context(), nil, sql, nil)
	}

	t.Run("fields become arguments by their tags or names, as pgx does it", func(t *testing.T) {
		t.Parallel()
		const sql = "INSERT INTO orders VALUES (@amount, @id, @Note, @id)"
		for i := range 3 {
			value := order{ID: fmt.Sprint("o", i), Amount: int64(i), Skip: "no", hidden: 1}
			wantSQL, wantArgs, err := pgx.StrictStructArgs(value).RewriteQuery(t.Context(), nil, sql, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, given := range []any{value, &value} {
				gotSQL, gotArgs, err := rewrite(t, given, sql)
				if err != nil {
					t.Fatal(err)
				}
				if gotSQL != wantSQL || !reflect.DeepEqual(gotArgs, wantArgs) {
					t.Errorf("got %q %v, want %q %v", gotSQL, gotArgs, wantSQL, wantArgs)
				}
			}
		}
	})

	t.Run("two types share a statement", func(t *testing.T) {
		t.Parallel()
		const sql = "SELECT @a, @b"
		_, one, errOne := rewrite(t, struct {
			A int `db:"a"`
			B int `db:"b"`
		}{1, 2}, sql)
		_, two, errTwo := rewrite(t, struct {
			B int `db:"b"`
			A int `db:"a"`
		}{2, 1}, sql)
		if errOne != nil || errTwo != nil || !reflect.DeepEqual(one, two) {
			t.Errorf("got %v %v and %v %v", one, errOne, two, errTwo)
		}
	})

	t.Run("a field without a name in the statement, and a name without a field, are errors", func(t *testing.T) {
		t.Parallel()
		for _, sql := range []string{"SELECT @id, @amount", "SELECT @id, @amount, @Note, @other", "SELECT @id, @amount, @Note, @Skip"} {
			for range 2 {
				if _, _, err := rewrite(t, order{}, sql); err == nil {
					t.Errorf("%s: got no error", sql)
				}
			}
		}
	})

	t.Run("what is no struct is an error, and no panic", func(t *testing.T) {
		t.Parallel()
		for _, value := range []any{nil, 1, "text", (*order)(nil), map[string]any{}, struct {
			A int `db:"x"`
			B int `db:"x"`
		}{}, struct {
			A int `db:",omitempty"`
		}{}} {
			if _, _, err := rewrite(t, value, "SELECT 1"); err == nil {
				t.Errorf("%T: got no error", value)
			}
		}
	})
}

func TestArgsReachTheServer(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	ctx := t.Context()

	if _, err := db.Pool.Exec(ctx, "CREATE TABLE orders (id text, amount bigint, note text)"); err != nil {
		t.Fatal(err)
	}
	note := "for Jenny"
	batch := &pgx.Batch{}
	batch.Queue("INSERT INTO orders VALUES (@id, @amount, @Note)", postgres.Row(&order{ID: "o1", Amount: 5, Note: &note}))
	batch.Queue("UPDATE orders SET amount = amount + @more WHERE id = @id", postgres.Args{"id": "o1", "more": 2})
	if err := db.Pool.SendBatch(ctx, batch).Close(); err != nil {
		t.Fatal(err)
	}
	var amount int64
	var said string
	err := db.Pool.QueryRow(ctx, "SELECT amount, note FROM orders WHERE id = @id", postgres.Args{"id": "o1"}).Scan(&amount, &said)
	if err != nil || amount != 7 || said != note {
		t.Errorf("got %d, %q, %v", amount, said, err)
	}
}

func BenchmarkArgs(b *testing.B) {
	sql := "INSERT INTO t VALUES (@a, @b, @c)" + strings.Repeat(" -- a line of prose about the statement\n", 20)
	for name, args := range map[string]pgx.QueryRewriter{
		"pgx":    pgx.StrictNamedArgs{"a": 1, "b": 2, "c": 3},
		"cached": postgres.Args{"a": 1, "b": 2, "c": 3},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := args.RewriteQuery(b.Context(), nil, sql, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
