package house_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet"
)

// TestTheSourceIsEmbedded finds each Go and SQL file, and each file that a document names,
// in what the server shows as its source.
func TestTheSourceIsEmbedded(t *testing.T) {
	t.Parallel()
	found := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); name == "testdata" || name == "node_modules" || len(name) > 2 && name[0] == '.' {
				return filepath.SkipDir
			}
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		sql := strings.HasSuffix(name, ".sql") && !strings.HasPrefix(name, "test/")
		if !strings.HasSuffix(name, ".go") && !sql {
			return nil
		}
		found++
		if _, err := fs.Stat(ratchet.Source, filepath.ToSlash(name)); err != nil {
			t.Errorf("source.go does not embed %s: add a pattern", name)
		}
		return nil
	})
	if err != nil || found < 300 {
		t.Fatalf("found %d files, %v", found, err)
	}
	for _, page := range pages(t) {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, named := range reference.FindAllStringSubmatch(fence.ReplaceAllLiteralString(string(text), ""), -1) {
			if _, err := fs.Stat(ratchet.Source, named[1]); err != nil && !unlinked.MatchString(named[1]) {
				t.Errorf("%s names %s, which source.go does not embed", page, named[1])
			}
		}
	}
}

// unlinked are files that documents name but that are not source: they have no page.
var unlinked = regexp.MustCompile(`^(\.github/|api/openapi\.yaml|docs/|test/[a-z]+/.*\.sql)`)
