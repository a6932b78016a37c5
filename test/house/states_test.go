package house_test

import (
	"go/ast"
	"testing"
)

// TestStoredResultsKeepTheirName: the state of an unfinished request is JSON, and its next process can be of another
// version. The result that the acquirer gave is named Answer there (docs/decisions/0040-names-that-stay.md).
func TestStoredResultsKeepTheirName(t *testing.T) {
	t.Parallel()
	found := 0
	for _, s := range sources(t, "internal") {
		ast.Inspect(s.file, func(n ast.Node) bool {
			field, is := n.(*ast.Field)
			if !is || len(field.Names) != 1 || field.Names[0].Name != "Result" || !isAcquirersResult(field.Type) {
				return true
			}
			found++
			if field.Tag == nil || field.Tag.Value != "`json:\"Answer\"`" {
				t.Errorf("%s: a Result is stored under another name than Answer", s.files.Position(field.Pos()))
			}
			return true
		})
	}
	if found < 10 {
		t.Errorf("found only %d results: the test looks in the wrong places", found)
	}
}

func isAcquirersResult(e ast.Expr) bool {
	selector, is := e.(*ast.SelectorExpr)
	if !is {
		return false
	}
	of, is := selector.X.(*ast.Ident)
	return is && of.Name == "acquirer" && selector.Sel.Name == "Result"
}
