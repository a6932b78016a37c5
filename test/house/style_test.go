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
	"strconv"
	"strings"
	"testing"
)

// tics are habits that docs/style.md forbids: a sentence without an actor, or a
// phrase that no native speaker would write. Each has the advice that a failure prints.
var tics = []struct {
	phrase *regexp.Regexp
	advice string
}{
	{tic(`whoever|whomever`), "name the actor"},
	{tic(`nobody|no one`), "name the actor, or say what does not happen"},
	{tic(`somebody|someone|anybody|everybody`), "name the actor: the client, an operator, anyone"},
	{tic(`whatever`), "say what, or write \"no matter what\""},
	{tic(`(?:is|are|was|were|be|been|being|gets?|got) told`), "say who receives what"},
	{tic(`tells? of|told of`), "write reports, describes or announces"},
	{tic(`hears?|heard`), "write receives, gets or is notified"},
	{tic(`(?:that|which|what|who|it) (?:is|are|was|were) none`), "write \"is not a …\""},
	{tic(`(?:is|are|was|were) not there`), "write \"not found\", \"missing\" or \"does not exist\""},
	{tic(`of (?:its|their|our|his|her|one's) own`), "write \"its own …\", or leave it out"},
	{tic(`by (?:itself|themselves)`), "write automatically, alone, or leave it out"},
	{tic(`the other side`), "name it: the acquirer"},
	{tic(`for ever`), "write forever"},
	{tic(`stands`), "write is, represents or replaces"},
	{tic(`lets? go|letting go`), "write release, void or drop"},
	{tic(`he|his|him|himself`), "write they"},
	{tic(`(?:that|which|what|who|it|this) (?:is|are|was|were) no`), "write \"is not a …\""},
	{tic(`there (?:is|are|was|were) no such`), "write \"… not found\" or \"does not exist\""},
	{tic(`(?:is|are|was|were) of (?:an?|the|one|another|its|this|that|no)`), "write has, belongs to or comes from"},
	{tic(`anew`), "write again"},
	{tic(`(?:take|fail)-overs?|look-ups?`), "write takeover, failover, lookup"},
	{regexp.MustCompile(`(?:^(?://|--) |[.] )What (?:is|are|was|were) `), "begin with a noun, such as a request"},
}

func tic(words string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(?:` + words + `)\b`) }

// quoted is what a document quotes: code, whether fenced, indented or inline, and the targets of links.
var quoted = regexp.MustCompile("(?ms)^ *```.*?^ *```|^    .*?$|`[^`\n]*`|\\]\\([^)]*\\)")

// exampleName names an example of the contract. It is an identifier.
var exampleName = regexp.MustCompile(`(?m)^ *- name: \w+$`)

// sqlText is a line of a comment in a migration: "-- …", or the text of a COMMENT ON.
var sqlText = regexp.MustCompile(`^\s*(?:--|').*`)

// TestPlainEnglish rejects the tics in documents, in the comments and strings of Go, and in
// the comments of migrations.
func TestPlainEnglish(t *testing.T) {
	t.Parallel()
	var found []string
	for _, page := range append(pages(t), "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "api/openapi.yaml") {
		if page != "docs/style.md" { // it quotes what it forbids
			found = append(found, ticsInDocument(t, page)...)
		}
	}
	for _, dir := range []string{"api", "cmd", "internal", "migrations", "test", "web"} {
		found = append(found, ticsInGo(t, filepath.Join(root, dir))...)
	}
	found = append(found, ticsInMigrations(t)...)
	for _, one := range found {
		t.Error(one)
	}
}

// exceptions are words that only look like tics.
var exceptions = strings.NewReplacer("'nobody'", "", // the Unix account
	"no longer", "not", "no more", "not", "// What is the boundary", "")

func findTics(text string) (found []string) {
	text = exceptions.Replace(text)
	for _, tic := range tics {
		for _, phrase := range tic.phrase.FindAllString(text, -1) {
			found = append(found, strconv.Quote(phrase)+": "+tic.advice+": "+strings.TrimSpace(text))
		}
	}
	return found
}

func ticsInDocument(t *testing.T, page string) (found []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	unquoted := quoted
	if filepath.Ext(page) == ".yaml" {
		unquoted = exampleName
	}
	prose := unquoted.ReplaceAllStringFunc(string(text), func(code string) string {
		return strings.Repeat("\n", strings.Count(code, "\n")) // keeps the line numbers
	})
	for i, line := range strings.Split(prose, "\n") {
		for _, one := range findTics(line) {
			found = append(found, page+":"+strconv.Itoa(i+1)+": "+one)
		}
	}
	return found
}

func ticsInMigrations(t *testing.T) (found []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "migrations/*.sql"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no migrations found: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, one := range findTics(sqlText.FindString(line)) {
				found = append(found, "migrations/"+filepath.Base(path)+":"+strconv.Itoa(i+1)+": "+one)
			}
		}
	}
	return found
}

// ticsInGo returns the tics of every Go file under the directory. In a test only
// the comments count: its strings are also data and names of subtests.
func ticsInGo(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" ||
			path == filepath.Join(root, "test/house/style_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		add := func(at token.Pos, text string) {
			for i, line := range strings.Split(text, "\n") {
				for _, one := range findTics(line) {
					where := filepath.ToSlash(name) + ":" + strconv.Itoa(files.Position(at).Line+i)
					found = append(found, where+": "+one)
				}
			}
		}
		names := declared(file)
		for _, group := range file.Comments {
			for _, comment := range group.List {
				text := quoted.ReplaceAllString(comment.Text, "")
				first, rest, _ := strings.Cut(strings.TrimPrefix(text, "// "), " ")
				if slices.ContainsFunc(names, func(name string) bool {
					return name[strings.LastIndex(name, ".")+1:] == first
				}) {
					text = rest // a doc comment starts with the name it documents
				}
				add(comment.Pos(), text)
			}
		}
		if strings.HasSuffix(path, "_test.go") {
			return nil
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, is := n.(*ast.BasicLit)
			if is && literal.Kind == token.STRING && strings.Contains(literal.Value, " ") {
				add(literal.Pos(), literal.Value)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
