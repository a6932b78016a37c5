// Package statements finds the program's SQL: every constant in the source that is a
// statement, folded as the compiler folds it, and the statements that package postgres
// writes for a table.
package statements

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	_ "github.com/ratchet-pay/ratchet/internal/api" // and with it all packages that have statements written
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Statement is one of them.
type Statement struct {
	Name string // file:constant, or file:line of one that is written down in a call
	At   string // file:line:column
	SQL  string // with @names
	Part bool   // only other constants contain it: the program does not send it as it is
}

// fragments look like statements, and the code completes them or sends several
// at once. They are recognized by how they begin.
var fragments = []string{
	"SELECT pg_advisory_xact_lock(hashtext('acquirer'));", // several statements
	"INSERT INTO %s (%s)",         // of any table; what it becomes is found separately
	"WITH (FORCE)",                // of DROP DATABASE
	"WITH IS_TEMPLATE",            // of ALTER DATABASE
	"WITH touched AS (",           // around what is given to Tx.WriteOne, which is found separately
	"SELECT object, wrong FROM (", // around a rule of verify, which is found separately
	"SELECT coalesce(string_agg(t::text, E'\\n'), '') FROM %s", // of every table; run by tests
	"SELECT request_id FROM %s WHERE account_id",               // of the table of any kind of object
	// around a search, which is run for every field separately
	"SELECT count(*) FROM (",
}

var begins = regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE|WITH)\s`)

// Find reads the Go below a directory of the repository at root, but not its tests.
func Find(root, dir string) ([]Statement, error) {
	files := token.NewFileSet()
	parsed := map[string]*ast.File{} // by path below root
	err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		parsed[filepath.ToSlash(name)] = file
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", dir, err)
	}
	return append(collect(files, parsed), written()...), nil
}

// written are the statements that package postgres writes, named by how they begin.
func written() (all []Statement) {
	for _, sql := range postgres.Written() {
		name := strings.Join(strings.Fields(sql)[:3], " ")
		if table := regexp.MustCompile(`UPDATE \w+`).FindString(sql); table != "" {
			name = table
		}
		all = append(all, Statement{Name: "rows:" + name, At: "internal/postgres/table.go", SQL: sql})
	}
	return all
}

func collect(files *token.FileSet, parsed map[string]*ast.File) (all []Statement) {
	packages := packages{}
	for path, file := range parsed {
		dir := filepath.Dir(path)
		if packages[dir] == nil {
			packages[dir] = map[string]ast.Expr{}
		}
		for name, value := range constants(file) {
			packages[dir][name] = value
		}
	}
	used := map[string]bool{} // names of constants that code mentions, by folder
	for path, file := range parsed {
		for _, name := range usedIn(file) {
			used[filepath.Dir(path)+":"+name] = true
		}
	}
	for path, file := range parsed {
		dir := filepath.Dir(path)
		for _, s := range inFile(packages, dir, file) {
			at := files.Position(s.expr.Pos())
			part := s.name != "" && !ast.IsExported(s.name) && !used[dir+":"+s.name]
			if s.name == "" {
				s.name = "line " + strconv.Itoa(at.Line)
			}
			all = append(all, Statement{Name: path + ":" + s.name, At: at.String(), SQL: s.text, Part: part})
		}
	}
	slices.SortFunc(all, func(a, b Statement) int { return strings.Compare(a.Name, b.Name) })
	return all
}

type found struct {
	name string // "" if it is not declared as a constant
	text string
	expr ast.Expr
}

func inFile(known packages, dir string, file *ast.File) (all []found) {
	names := map[ast.Expr]string{}
	for name, value := range constants(file) {
		names[value] = name
	}
	ast.Inspect(file, func(n ast.Node) bool {
		expr, is := n.(ast.Expr)
		if !is {
			return true
		}
		text, constant := known.fold(dir, expr)
		if !constant {
			return true
		}
		if !isName(expr) && begins.MatchString(strings.TrimSpace(text)) && !isFragment(text) {
			all = append(all, found{names[expr], text, expr})
		}
		return false
	})
	return all
}

// usedIn are the names that a file mentions outside of the declarations of constants.
func usedIn(file *ast.File) (names []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.CONST
		case *ast.Ident:
			names = append(names, n.Name)
		}
		return true
	})
	return names
}

func isName(expr ast.Expr) bool {
	switch expr.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		return true
	}
	return false
}

func isFragment(text string) bool {
	return slices.ContainsFunc(fragments, func(f string) bool { return strings.HasPrefix(strings.TrimSpace(text), f) })
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

// packages are constants by the folder of their package, then by name.
type packages map[string]map[string]ast.Expr

// fold yields the text of a literal, of the name of a constant, or of a sum of them.
// dir is the package in which the expression is written.
func (p packages) fold(dir string, expr ast.Expr) (text string, constant bool) {
	switch e := expr.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.ParenExpr:
		return p.fold(dir, e.X)
	case *ast.Ident:
		return p.constant(dir, e.Name)
	case *ast.SelectorExpr:
		of, is := e.X.(*ast.Ident)
		if !is {
			return "", false
		}
		for imported := range p {
			if filepath.Base(imported) != of.Name {
				continue
			}
			if text, constant := p.constant(imported, e.Sel.Name); constant {
				return text, true
			}
		}
		return "", false
	case *ast.BinaryExpr:
		left, leftIs := p.fold(dir, e.X)
		right, rightIs := p.fold(dir, e.Y)
		return left + right, e.Op == token.ADD && leftIs && rightIs
	}
	return "", false
}

func (p packages) constant(dir, name string) (text string, constant bool) {
	value, known := p[dir][name]
	if !known {
		return "", false
	}
	return p.fold(dir, value)
}

var param = regexp.MustCompile(`@([a-z_]+)`)

// Numbered replaces @names by $1, $2 and so on, and lists the names in their order.
func (s Statement) Numbered() (sql string, names []string) {
	sql = param.ReplaceAllStringFunc(s.SQL, func(name string) string {
		if !slices.Contains(names, name[1:]) {
			names = append(names, name[1:])
		}
		return "$" + strconv.Itoa(slices.Index(names, name[1:])+1)
	})
	return sql, names
}
