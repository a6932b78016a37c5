// Package house_test keeps the conventions that no compiler keeps: which
// package may import which, that every statement of SQL fits the schema, and that
// what the documentation points at is there.
package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const root = "../.."

// source is a file of Go that is compiled into a program.
type source struct {
	path string // from the root of the repository
	dir  string
	file *ast.File

	files *token.FileSet
}

// sources reads every file of Go under the directories, but for tests.
func sources(t *testing.T, dirs ...string) []source {
	t.Helper()
	var all []source
	files := token.NewFileSet()
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == "testdata":
				return fs.SkipDir
			case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			all = append(all, source{filepath.ToSlash(name), filepath.ToSlash(filepath.Dir(name)), file, files})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) == 0 {
		t.Fatalf("there is no Go under %q", dirs)
	}
	return all
}
