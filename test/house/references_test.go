package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reference is `path/file.ext` or `path/file.ext:Symbol`, in backticks.
var reference = regexp.MustCompile("`((?:[A-Za-z0-9_.-]+/)+[A-Za-z0-9_.-]+\\.[a-z]+)(?::([A-Za-z_][A-Za-z0-9_.-]*))?`")

// fence is a block of code. Its content is quoted, not a reference.
var fence = regexp.MustCompile("(?ms)^ *```.*?^ *```")

// TestDocumentationPointsAtWhatIsThere follows every reference to a file, and to
// a name in it.
func TestDocumentationPointsAtWhatIsThere(t *testing.T) {
	t.Parallel()
	followed := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range reference.FindAllStringSubmatch(fence.ReplaceAllLiteralString(string(text), ""), -1) {
			followed++
			path, symbol := found[1], found[2]
			content, err := os.ReadFile(filepath.Join(root, path))
			if err != nil {
				t.Errorf("%s points at %s, which is not there", page, path)
				continue
			}
			if symbol != "" && !declares(t, path, content, symbol) {
				t.Errorf("%s points at %s in %s, which does not have it", page, symbol, path)
			}
		}
	}
	if followed < 20 {
		t.Errorf("found %d references; the search is broken", followed)
	}
}

// item is a question of a checklist, up to the next one.
var item = regexp.MustCompile(`(?m)^- \[ \] (.*(?:\n  .*)*)`)

// TestEveryQuestionOfTheReviewIsAnsweredByATest: the questions about a design name what
// answers them here, and each of the six stages has some.
func TestEveryQuestionOfTheReviewIsAnsweredByATest(t *testing.T) {
	t.Parallel()
	const page, stages = "docs/design-review.md", 6
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	sections := regexp.MustCompile(`(?m)^## \d\. `).Split(string(text), -1)[1:]
	if len(sections) != stages {
		t.Errorf("%s has %d stages", page, len(sections))
	}
	for _, section := range sections {
		stage, _, _ := strings.Cut(section, "\n")
		questions := item.FindAllStringSubmatch(section, -1)
		if len(questions) < 3 {
			t.Errorf("%s, %s: %d questions", page, stage, len(questions))
		}
		for _, question := range questions {
			answers := reference.FindAllStringSubmatch(question[1], -1)
			for _, answer := range answers {
				path, name := answer[1], answer[2]
				content, err := os.ReadFile(filepath.Join(root, path))
				isTest := strings.HasSuffix(path, "_test.go") && strings.HasPrefix(name, "Test")
				if err != nil || !isTest || !declares(t, path, content, name) {
					t.Errorf("%s, %s: %s:%s is no test that answers %q", page, stage, path, name, question[1])
				}
			}
			if len(answers) == 0 {
				t.Errorf("%s, %s: no test answers %q", page, stage, question[1])
			}
		}
	}
}

// pages are the documents, from the root of the repository.
func pages(t *testing.T) []string {
	t.Helper()
	found := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		name, err := filepath.Rel(root, path)
		found = append(found, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// declares tells whether a file has a name: one of Go by declaring it, any other
// by mentioning it as a word.
func declares(t *testing.T, path string, content []byte, symbol string) bool {
	t.Helper()
	if filepath.Ext(path) != ".go" {
		return regexp.MustCompile(`(^|\W)` + regexp.QuoteMeta(symbol) + `(\W|$)`).Match(content)
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, content, parser.SkipObjectResolution)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return false
	}
	return slices.Contains(declared(file), symbol)
}

func declared(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name.Name)
			if d.Recv != nil {
				names = append(names, receiver(d.Recv.List[0].Type)+"."+d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				names = append(names, specified(spec)...)
			}
		}
	}
	return names
}

func specified(spec ast.Spec) (names []string) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return []string{s.Name.Name}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

// receiver is the name of a method's type, without star and type parameters.
func receiver(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return strings.TrimSpace(e.Name)
	}
	return ""
}
