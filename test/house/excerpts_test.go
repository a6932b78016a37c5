package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goBlock is a block of Go in a document.
var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```")

// readersCode are documents whose Go is not an excerpt: a reader writes it.
var readersCode = map[string]bool{"README.md": true, "docs/fork.md": true, "docs/tour/10-webhooks.md": true}

// TestExcerptsAreTheSource looks for each block of Go in a file of the repository, line after
// line. Spaces may differ, because an excerpt is aligned without the lines around it.
func TestExcerptsAreTheSource(t *testing.T) {
	t.Parallel()
	var sources []string
	for _, s := range everySource(t) {
		sources = append(sources, oneLine(s))
	}
	found := 0
	for _, page := range pages(t) {
		if readersCode[filepath.ToSlash(page)] {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range goBlock.FindAllStringSubmatch(string(text), -1) {
			found++
			excerpt, isThere := oneLine(block[1]), false
			for _, source := range sources {
				isThere = isThere || strings.Contains(source, excerpt)
			}
			if !isThere {
				t.Errorf("%s quotes what no file has:\n%s", page, block[1])
			}
		}
	}
	if found < 4 {
		t.Errorf("found %d excerpts; the search is broken", found)
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// everySource is the text of each Go file under internal.
func everySource(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		all = append(all, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
