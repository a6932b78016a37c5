package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Rows are the arguments of a statement that takes any number of rows. Each @name in
// the statement is an array with that field of every row, for unnest:
//
//	INSERT INTO t (id, note) SELECT id, note FROM unnest(@id::text[], @note::text[]) AS m (id, note)
//
// A row is a struct; its fields are named by their db tags, and those of an embedded
// struct count as its own. unnest takes arrays of arrays apart, so a list inside a row
// travels as text (TextArray), and so does JSON (JSONText).
//
// Rows of two transactions that run the same statement can be joined, so that one
// statement does both.
type Rows struct {
	columns *columns
	rows    []reflect.Value
}

// RowsOf returns rows as arguments.
func RowsOf[T any](rows ...T) Rows {
	r := Rows{columns: columnsOf(reflect.TypeFor[T]()), rows: make([]reflect.Value, len(rows))}
	for i, row := range rows {
		r.rows[i] = reflect.ValueOf(row)
	}
	return r
}

// Len returns the number of rows.
func (r Rows) Len() int { return len(r.rows) }

// Join returns the rows of all sets, which are of one type, in their order.
func Join(sets ...Rows) Rows {
	all := Rows{columns: sets[0].columns}
	for _, set := range sets {
		if set.columns != all.columns {
			panic(fmt.Sprintf("postgres: rows of %s cannot join rows of %s", set.columns.of, all.columns.of))
		}
		all.rows = append(all.rows, set.rows...)
	}
	return all
}

// RewriteQuery replaces the names by positions. pgx calls it.
func (r Rows) RewriteQuery(ctx context.Context, conn *pgx.Conn, sql string, args []any) (string, []any, error) {
	named := make(Args, len(r.columns.names))
	for i, name := range r.columns.names {
		named[name] = r.column(i)
	}
	return named.RewriteQuery(ctx, conn, sql, args)
}

// column is one field of every row. It is never nil: a set without rows is empty arrays.
func (r Rows) column(i int) any {
	field := r.columns.fields[i]
	values := reflect.MakeSlice(reflect.SliceOf(field.Type), len(r.rows), len(r.rows))
	for n, row := range r.rows {
		values.Index(n).Set(row.FieldByIndex(field.Index))
	}
	return values.Interface()
}

// columns are the fields of a row type and their names.
type columns struct {
	of     reflect.Type
	names  []string
	fields []reflect.StructField
}

var columnsByType sync.Map // *columns by reflect.Type

func columnsOf(of reflect.Type) *columns {
	if known, is := columnsByType.Load(of); is {
		return known.(*columns)
	}
	c := &columns{of: of}
	for _, field := range reflect.VisibleFields(of) {
		if field.Anonymous {
			continue
		}
		name, tagged := field.Tag.Lookup("db")
		if !tagged {
			panic(fmt.Sprintf("postgres: field %s of %s has no db tag", field.Name, of))
		}
		c.names, c.fields = append(c.names, name), append(c.fields, field)
	}
	known, _ := columnsByType.LoadOrStore(of, c)
	return known.(*columns)
}

// TextArray is a list as the text of a PostgreSQL array.
func TextArray(list []string) string {
	var text strings.Builder
	text.WriteByte('{')
	for i, element := range list {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteByte('"')
		text.WriteString(quotedElement.Replace(element))
		text.WriteByte('"')
	}
	text.WriteByte('}')
	return text.String()
}

var quotedElement = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// JSONText is a value as JSON, for a field of a row. The values are the program's own
// types, which can always be encoded.
func JSONText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic("postgres: " + err.Error())
	}
	return string(text)
}

// JSONTextOrNull is JSONText of what value points to, or nil for a nil pointer.
func JSONTextOrNull[T any](value *T) *string {
	if value == nil {
		return nil
	}
	text := JSONText(value)
	return &text
}
