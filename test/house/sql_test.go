package house_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/lab/design"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// fragments look like statements and are none: the code completes them, or sends
// several at once. They are told by how they begin.
var fragments = []string{
	"SELECT pg_advisory_xact_lock(hashtext('acquirer'));", // several statements; run by this very test
	"WITH (FORCE)",      // of DROP DATABASE
	"WITH IS_TEMPLATE",  // of ALTER DATABASE
	"WITH touched AS (", // around what is given to Tx.WriteOne, which is prepared by itself
	"INSERT INTO schema_migrations (version, dirty) VALUES (%d", // a migration's end
	"SELECT object, wrong FROM (",                               // around a rule of verify, which is prepared by itself
	"SELECT coalesce(string_agg(t::text, E'\\n'), '') FROM %s",  // of every table; run by tests
	"SELECT count(*) FROM (",                                    // around a search, which is run for every field by itself
}

// TestEveryStatementFitsTheSchema has PostgreSQL prepare all SQL there is in
// constants: names and types are checked, nothing is run. A column that a
// migration renames is missed here and not in production.
func TestEveryStatementFitsTheSchema(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	acquirertest.Start(t, db.URL) // makes the acquirer's own schema
	if err := design.CreateSchema(t.Context(), db.Pool); err != nil {
		t.Fatal(err)
	}
	conn, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()

	all := statements(t)
	if len(all) < 50 {
		t.Errorf("found %d statements; the search is broken", len(all))
	}
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			_, err := conn.Conn().Prepare(t.Context(), "", numberedParams(s.text))
			if err != nil {
				t.Errorf("%s: %v\n%s", s.where, err, s.text)
			}
		})
	}
}

type statement struct{ name, where, text string }

var beginsStatement = regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE|WITH)\s`)

func isFragment(text string) bool {
	return slices.ContainsFunc(fragments, func(f string) bool { return strings.HasPrefix(strings.TrimSpace(text), f) })
}

// statements folds constants as the compiler does: literals, names of constants
// of the same package, and their sums. What is written down in a call counts too.
func statements(t *testing.T) (all []statement) {
	t.Helper()
	files, parsed := sources(t, "internal")
	packages := map[string]map[string]ast.Expr{}
	for _, s := range parsed {
		if packages[s.dir] == nil {
			packages[s.dir] = map[string]ast.Expr{}
		}
		for name, value := range constants(s.file) {
			packages[s.dir][name] = value
		}
	}
	for _, s := range parsed {
		named := map[ast.Expr]string{}
		for name, value := range constants(s.file) {
			named[value] = name
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			expr, is := n.(ast.Expr)
			if !is {
				return true
			}
			text, constant := fold(packages[s.dir], expr)
			if !constant {
				return true
			}
			if _, isName := expr.(*ast.Ident); !isName && beginsStatement.MatchString(strings.TrimSpace(text)) && !isFragment(text) {
				at := files.Position(expr.Pos())
				name, has := named[expr]
				if !has {
					name = "line " + strconv.Itoa(at.Line)
				}
				all = append(all, statement{s.path + ":" + name, fmt.Sprint(at), text})
			}
			return false
		})
	}
	return all
}

func constants(file *ast.File) map[string]ast.Expr {
	found := map[string]ast.Expr{}
	ast.Inspect(file, func(n ast.Node) bool {
		declaration, is := n.(*ast.GenDecl)
		if !is || declaration.Tok != token.CONST {
			return true
		}
		for _, spec := range declaration.Specs {
			values := spec.(*ast.ValueSpec)
			for i, value := range values.Values {
				found[values.Names[i].Name] = value
			}
		}
		return true
	})
	return found
}

func fold(constants map[string]ast.Expr, expr ast.Expr) (text string, constant bool) {
	switch e := expr.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.ParenExpr:
		return fold(constants, e.X)
	case *ast.Ident:
		value, known := constants[e.Name]
		if !known {
			return "", false
		}
		return fold(constants, value)
	case *ast.BinaryExpr:
		left, leftIs := fold(constants, e.X)
		right, rightIs := fold(constants, e.Y)
		return left + right, e.Op == token.ADD && leftIs && rightIs
	}
	return "", false
}

var param = regexp.MustCompile(`@([a-z_]+)`)

// numberedParams turns @names into $1, $2 and so on, as pgx does.
func numberedParams(sql string) string {
	var names []string
	return param.ReplaceAllStringFunc(sql, func(name string) string {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		return "$" + strconv.Itoa(slices.Index(names, name)+1)
	})
}
