package postgres

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// Args are a statement's arguments by name: each @name in the statement, and no
// other. A missing or an extra name is an error, as with pgx.StrictNamedArgs.
//
// pgx parses a statement with names each time it is sent. The statements here
// are constants, so Args parses each text once and remembers where its names go.
type Args map[string]any

// RewriteQuery replaces the names by positions. pgx calls it.
func (a Args) RewriteQuery(ctx context.Context, conn *pgx.Conn, sql string, args []any) (string, []any, error) {
	parsed, known := knownStatement(sql)
	if !known {
		var err error
		parsed, err = parseNames(ctx, sql, a)
		if err != nil {
			return "", nil, err
		}
		keepStatement(sql, parsed)
	}
	values := make([]any, len(parsed.names))
	for i, name := range parsed.names {
		value, given := a[name]
		if !given {
			return strictly(ctx, conn, sql, a)
		}
		values[i] = value
	}
	if len(a) != len(values) {
		return strictly(ctx, conn, sql, a)
	}
	return parsed.sql, values, nil
}

// strictly lets pgx word the error about names that do not match.
func strictly(ctx context.Context, conn *pgx.Conn, sql string, a Args) (string, []any, error) {
	return pgx.StrictNamedArgs(a).RewriteQuery(ctx, conn, sql, nil)
}

// statement is a text with names, parsed.
type statement struct {
	sql   string   // with positions
	names []string // the name at each position
}

// parseNames parses a text with pgx's own parser. Any strict set of arguments
// yields the same statement, so the result does not depend on the values.
func parseNames(ctx context.Context, sql string, a Args) (*statement, error) {
	echo := make(pgx.StrictNamedArgs, len(a))
	for name := range a {
		echo[name] = name
	}
	positional, order, err := echo.RewriteQuery(ctx, nil, sql, nil)
	if err != nil {
		return nil, err
	}
	parsed := &statement{sql: positional, names: make([]string, len(order))}
	for i, name := range order {
		parsed.names[i] = name.(string)
	}
	return parsed, nil
}

// maxStatements bounds the memory for parsed statements. The program has some
// five hundred; only a caller that builds statements at run time comes near it,
// and pays the parsing again from there on.
const maxStatements = 4096

var (
	statements     sync.Map // *statement by text
	statementCount atomic.Int64
)

func knownStatement(sql string) (*statement, bool) {
	parsed, known := statements.Load(sql)
	if !known {
		return nil, false
	}
	return parsed.(*statement), true
}

func keepStatement(sql string, parsed *statement) {
	if statementCount.Load() >= maxStatements {
		return
	}
	// The text may be part of a larger string that is short-lived.
	if _, had := statements.LoadOrStore(strings.Clone(sql), parsed); !had {
		statementCount.Add(1)
	}
}

// Row returns a struct's exported fields as arguments, by their db tags or else
// their names. Each field is a name in the statement and each name a field, as
// with pgx.StrictStructArgs: a field tagged "-" and an embedded struct are left
// out. The argument is a struct or a pointer to one.
//
// The fields of a type are looked up once per statement.
func Row(value any) pgx.QueryRewriter { return row{value} }

type row struct{ value any }

// RewriteQuery replaces the names by positions. pgx calls it.
func (r row) RewriteQuery(ctx context.Context, conn *pgx.Conn, sql string, args []any) (string, []any, error) {
	v, err := structValue(r.value)
	if err != nil {
		return "", nil, err
	}
	key := rowKey{sql, v.Type()}
	plan, known := rowPlans.Load(key)
	if !known {
		made, err := planRow(ctx, sql, v.Type())
		if err != nil {
			return "", nil, err
		}
		plan = made
		if rowPlanCount.Load() < maxStatements {
			if _, had := rowPlans.LoadOrStore(rowKey{strings.Clone(sql), v.Type()}, plan); !had {
				rowPlanCount.Add(1)
			}
		}
	}
	p := plan.(*rowPlan)
	values := make([]any, len(p.fields))
	for i, field := range p.fields {
		values[i] = v.Field(field).Interface()
	}
	return p.sql, values, nil
}

// rowPlan says which field of a type goes to which position of a statement.
type rowPlan struct {
	sql    string
	fields []int
}

type rowKey struct {
	sql string
	of  reflect.Type
}

var (
	rowPlans     sync.Map // *rowPlan by rowKey
	rowPlanCount atomic.Int64
)

func structValue(value any) (reflect.Value, error) {
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Pointer {
		v = v.Elem() // of a nil pointer: the zero Value, whose kind is Invalid
	}
	if v.Kind() != reflect.Struct {
		return v, fmt.Errorf("postgres.Row takes a struct or a non-nil pointer to one, not a %T", value)
	}
	return v, nil
}

func planRow(ctx context.Context, sql string, of reflect.Type) (*rowPlan, error) {
	fields, err := columnFields(of)
	if err != nil {
		return nil, err
	}
	named := make(Args, len(fields))
	for name := range fields {
		named[name] = nil
	}
	parsed, err := parseNames(ctx, sql, named)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", of, err)
	}
	plan := &rowPlan{sql: parsed.sql, fields: make([]int, len(parsed.names))}
	for i, name := range parsed.names {
		plan.fields[i] = fields[name]
	}
	return plan, nil
}

// columnFields maps the names of a struct's columns to its fields, by the rules
// of pgx.StructArgs.
func columnFields(of reflect.Type) (map[string]int, error) {
	fields := make(map[string]int, of.NumField())
	for i := range of.NumField() {
		field := of.Field(i)
		if !field.IsExported() || isEmbeddedStruct(field) {
			continue
		}
		name, tagged := field.Tag.Lookup("db")
		name, _, _ = strings.Cut(name, ",")
		switch {
		case name == "-":
			continue
		case !tagged:
			name = field.Name
		case name == "":
			return nil, fmt.Errorf("%s: the db tag of field %s is empty", of, field.Name)
		}
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("%s: two fields are named %q", of, name)
		}
		fields[name] = i
	}
	return fields, nil
}

func isEmbeddedStruct(field reflect.StructField) bool {
	of := field.Type
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	return field.Anonymous && of.Kind() == reflect.Struct
}
