package house_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// longestLine is in characters; a tab is as wide as four.
const longestLine = 120

// longLines are the files whose long lines no break would make easier to read: drawings
// as SVG paths, one row of test data per line, and a struct tag that lists languages.
var longLines = []string{"web/icons.go", "web/drawings.go", "test/schema/seed.sql",
	"internal/session/session_create.go", "internal/customer/customer.go"}

// TestLinesFitTheScreen reads the Go and the SQL.
func TestLinesFitTheScreen(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"api", "cmd", "docs", "internal", "migrations", "test", "web"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				if err == nil && entry.Name() == "node_modules" {
					return fs.SkipDir
				}
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil || !slices.Contains([]string{".go", ".sql"}, filepath.Ext(path)) ||
				slices.Contains(longLines, filepath.ToSlash(name)) {
				return err
			}
			text, err := os.ReadFile(path)
			for i, line := range strings.Split(string(text), "\n") {
				width := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
				isName := strings.HasPrefix(strings.TrimSpace(line), `t.Run("`) // a sentence cannot be broken
				if width > longestLine && !isName {
					t.Errorf("%s:%d has %d characters", name, i+1, width)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
