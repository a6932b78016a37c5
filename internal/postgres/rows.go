package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unicode"

	"github.com/jackc/pgx/v5"
)

// Rows are the arguments of a statement that takes any number of rows. Each @name in
// the statement is an array with that field of every row, for unnest:
//
//	INSERT INTO t (id, note) SELECT id, note FROM unnest(@id::text[], @note::text[]) AS m (id, note)
//
// A row is a struct. Its fields are named by their db tags, or else like a column:
// CustomerID is customer_id. The fields of an embedded struct count as its own. A
// statement of InsertRows or UpdateRows takes the fields that it names; any other has to
// name them all. unnest takes arrays of arrays apart, so a list inside a row travels as
// text, and so does JSON.
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

// Join returns the rows of all sets, which have one type, in their order.
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
func (r Rows) RewriteQuery(ctx context.Context, conn *pgx.Conn, sql string, _ []any) (string, []any, error) {
	parsed, known := knownStatement(sql)
	if !known {
		var err error
		parsed, err = r.columns.parse(ctx, conn, sql)
		if err != nil {
			return "", nil, err
		}
		keepStatement(sql, parsed)
	}
	values := make([]any, len(parsed.names))
	for i, name := range parsed.names {
		field, is := r.columns.byName[name]
		if !is {
			return "", nil, fmt.Errorf("%s has no field for @%s", r.columns.of, name)
		}
		values[i] = r.column(field)
	}
	return parsed.sql, values, nil
}

// column is one field of every row. It is never nil: a set without rows is empty arrays.
func (r Rows) column(i int) any {
	field := r.columns.fields[i]
	if field.Type == listType || isJSON(field.Type) {
		texts := make([]*string, len(r.rows))
		for n, row := range r.rows {
			texts[n] = textOf(row.FieldByIndex(field.Index))
		}
		return texts
	}
	values := reflect.MakeSlice(reflect.SliceOf(field.Type), len(r.rows), len(r.rows))
	for n, row := range r.rows {
		values.Index(n).Set(row.FieldByIndex(field.Index))
	}
	return values.Interface()
}

// columns are the fields of a row type and their names.
type columns struct {
	of     reflect.Type
	fields []reflect.StructField
	byName map[string]int // places in fields
}

// parse finds the names in a statement.
func (c *columns) parse(ctx context.Context, conn *pgx.Conn, sql string) (*statement, error) {
	echo := make(pgx.NamedArgs, len(c.byName))
	for name := range c.byName {
		echo[name] = name
	}
	if !isWritten(sql) {
		return parseNames(ctx, sql, Args(echo))
	}
	positional, order, err := echo.RewriteQuery(ctx, conn, sql, nil)
	if err != nil {
		return nil, err
	}
	parsed := &statement{sql: positional, names: make([]string, len(order))}
	for i, name := range order {
		known, is := name.(string)
		if !is {
			return nil, fmt.Errorf("%s has no field for argument %d of the statement", c.of, i+1)
		}
		parsed.names[i] = known
	}
	return parsed, nil
}

var columnsByType sync.Map // *columns by reflect.Type

func columnsOf(of reflect.Type) *columns {
	if known, is := columnsByType.Load(of); is {
		return known.(*columns)
	}
	c := &columns{of: of, byName: map[string]int{}}
	for _, field := range reflect.VisibleFields(of) {
		if field.Anonymous {
			continue
		}
		name, tagged := field.Tag.Lookup("db")
		if !tagged {
			name = columnName(field.Name)
		}
		c.byName[name] = len(c.fields)
		c.fields = append(c.fields, field)
	}
	known, _ := columnsByType.LoadOrStore(of, c)
	return known.(*columns)
}

// columnName is how a field is called in its table: CustomerID is customer_id.
func columnName(field string) string {
	var name strings.Builder
	for i, letter := range field {
		upper := unicode.IsUpper(letter)
		if upper && i > 0 &&
			(!unicode.IsUpper(rune(field[i-1])) || i+1 < len(field) && unicode.IsLower(rune(field[i+1]))) {
			name.WriteByte('_')
		}
		name.WriteRune(unicode.ToLower(letter))
	}
	return name.String()
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
