package house_test

import (
	"go/ast"
	"testing"
)

// longestFunction is how many lines a function may have: a screen.
const longestFunction = 60

// TestFunctionsFitTheScreen measures each function, except in tests, where a function contains its subtests.
func TestFunctionsFitTheScreen(t *testing.T) {
	t.Parallel()
	measured := 0
	for _, s := range sources(t, "api", "cmd", "docs", "examples", "internal", "migrations", "test", "web") {
		for _, declaration := range s.file.Decls {
			f, is := declaration.(*ast.FuncDecl)
			if !is {
				continue
			}
			measured++
			lines := s.files.Position(f.End()).Line - s.files.Position(f.Pos()).Line + 1
			if lines > longestFunction {
				t.Errorf("%s: the function %s has %d lines, and may have %d", s.path, f.Name.Name, lines,
					longestFunction)
			}
		}
	}
	if measured < 4000 {
		t.Errorf("found only %d functions: the test looks in the wrong places", measured)
	}
}
