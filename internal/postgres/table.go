package postgres

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// InsertRows returns the statement that inserts rows of T, which is sent with RowsOf.
// columns lists the table's columns as SELECT does; each is a field of T.
func InsertRows[T any](table, columns string) string {
	set := newRowSet[T](columns)
	return written(fmt.Sprintf("INSERT INTO %s (%s)\nSELECT %s\nFROM %s",
		table, strings.Join(set.names, ", "), strings.Join(set.values, ", "), set.from()))
}

// UpdateRows returns the statement that updates columns of the rows of T, which are
// found by account_id and id. The statement fails unless it updates every row exactly
// once. A column takes its field of T, or what columns says, as in "locked_by = NULL".
// guard is a condition on the table's row t and on fields of T, such as m.status; columns may use both, too.
func UpdateRows[T any](table, columns, guard string) string {
	var set rowSet
	var changes []string
	for _, change := range changesOf(columns) {
		if !strings.Contains(change, "=") {
			change += " = " + set.add(columnsOf(reflect.TypeFor[T]()), change)
		}
		changes = append(changes, change)
	}
	fields := fieldOfM.FindAllStringSubmatch("m.account_id m.id "+columns+" "+guard, -1)
	for _, named := range fields {
		if !slices.Contains(set.names, named[1]) {
			set.add(columnsOf(reflect.TypeFor[T]()), named[1])
		}
	}
	return written(fmt.Sprintf(`WITH touched AS (
		UPDATE %s t SET %s
		FROM %s
		WHERE t.account_id = m.account_id AND t.id = m.id AND (%s)
		RETURNING 1
	)
	SELECT CASE count(*) WHEN cardinality(@id::text[]) THEN 1
		ELSE assert_row_count(cardinality(@id::text[]), count(*), '%s') END
	FROM touched`,
		table, strings.Join(changes, ", "), set.from(), guard, table))
}

var writtenSQL sync.Map // the statements that are written here

func written(sql string) string {
	writtenSQL.Store(sql, true)
	return sql
}

func isWritten(sql string) bool {
	_, is := writtenSQL.Load(sql)
	return is
}

// Written returns the statements of InsertRows and UpdateRows. The others are constants
// in the source; tests have PostgreSQL check them all.
func Written() (all []string) {
	for sql := range writtenSQL.Range {
		all = append(all, sql.(string))
	}
	slices.Sort(all)
	return all
}

// changesOf splits the columns of an UPDATE at the commas between them, not at those in parentheses.
func changesOf(columns string) (changes []string) {
	depth, from := 0, 0
	for i, c := range columns {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			changes = append(changes, strings.TrimSpace(columns[from:i]))
			from = i + 1
		}
	}
	return append(changes, strings.TrimSpace(columns[from:]))
}

var fieldOfM = regexp.MustCompile(`\bm\.([a-z0-9_]+)`)

// rowSet is a list of columns as a set of rows has them.
type rowSet struct {
	names  []string
	arrays []string // the parameters, such as @amount::bigint[]
	values []string // what a column takes of the set m, such as m.metadata::json
}

func newRowSet[T any](columns string) (set rowSet) {
	of := columnsOf(reflect.TypeFor[T]())
	for name := range strings.SplitSeq(columns, ",") {
		set.add(of, strings.TrimSpace(name))
	}
	return set
}

// add returns what a column takes of the set.
func (s *rowSet) add(of *columns, name string) (value string) {
	i, is := of.byName[name]
	if !is {
		panic(fmt.Sprintf("postgres: %s has no field for the column %s", of.of, name))
	}
	parameter, cast := sqlType(of.fields[i].Type)
	s.names = append(s.names, name)
	s.arrays = append(s.arrays, "@"+name+"::"+parameter+"[]")
	s.values = append(s.values, "m."+name+cast)
	return "m." + name + cast
}

func (s *rowSet) from() string {
	return "unnest(" + strings.Join(s.arrays, ", ") + ")\n\tAS m (" + strings.Join(s.names, ", ") + ")"
}

var (
	timeType = reflect.TypeFor[time.Time]()
	jsonType = reflect.TypeFor[json.RawMessage]()
	listType = reflect.TypeFor[[]string]()
	byteType = reflect.TypeFor[[]byte]()
)

// sqlType is the type in which a field travels, and the cast to the type of its column.
func sqlType(of reflect.Type) (parameter, cast string) {
	if of.Kind() == reflect.Pointer && !isJSON(of) {
		of = of.Elem()
	}
	switch {
	case of == timeType:
		return "timestamptz", ""
	case of == byteType:
		return "bytea", ""
	case of == listType:
		return "text", "::text[]"
	case isJSON(of):
		return "text", "::json"
	}
	switch of.Kind() {
	case reflect.String:
		return "text", ""
	case reflect.Bool:
		return "boolean", ""
	case reflect.Int16:
		return "smallint", ""
	case reflect.Int32:
		return "integer", ""
	case reflect.Int, reflect.Int64:
		return "bigint", ""
	}
	panic(fmt.Sprintf("postgres: no column takes a %s", of))
}

// isJSON says whether a field travels as JSON: structs, lists of them and maps do.
func isJSON(of reflect.Type) bool {
	if of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Struct {
		of = of.Elem()
	}
	return of == jsonType || of.Kind() == reflect.Map || of.Kind() == reflect.Struct && of != timeType
}

// textOf is a field that travels as text: JSON or a list. It is nil for null.
func textOf(value reflect.Value) *string {
	switch value.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if value.IsNil() {
			return nil
		}
	}
	var text string
	switch value := value.Interface().(type) {
	case []string:
		text = TextArray(value)
	case json.RawMessage:
		text = string(value)
	default:
		text = JSONText(value)
	}
	return &text
}
