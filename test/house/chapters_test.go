package house_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestChaptersAreCountedOnce holds the tour and the decisions to one sequence
// without gaps or doubles, and each file's title to its number.
func TestChaptersAreCountedOnce(t *testing.T) {
	t.Parallel()
	for dir, digits := range map[string]int{"tour": 2, "decisions": 4} {
		files, err := filepath.Glob(filepath.Join(root, "docs", dir, "*.md")) // sorted
		if err != nil || len(files) < 10 {
			t.Fatalf("docs/%s has %d files, %v", dir, len(files), err)
		}
		for i, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			number := fmt.Sprintf("%0*d-", digits, i+1)
			title := fmt.Sprintf("# %d. ", i+1)
			if !strings.HasPrefix(filepath.Base(file), number) || !strings.HasPrefix(string(text), title) {
				t.Errorf("%s is number %d of docs/%s: its name should begin with %q, its text with %q",
					filepath.Base(file), i+1, dir, number, title)
			}
		}
	}
}

var (
	linkToPage   = regexp.MustCompile(`\]\(([^):#]+\.md)(?:#[^)]*)?\)`)
	linkByNumber = regexp.MustCompile(`\[(?:chapter|decision) (\d+)\]\((?:[^)]*/)?0*(\d+)-[^)]*\)`)
)

// TestDocumentsLinkToWhatIsThere follows the links between documents. One that
// says a number leads to the page of that number.
func TestDocumentsLinkToWhatIsThere(t *testing.T) {
	t.Parallel()
	followed := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range linkToPage.FindAllStringSubmatch(string(text), -1) {
			followed++
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(page), link[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", page, link[1])
			}
		}
		for _, link := range linkByNumber.FindAllStringSubmatch(string(text), -1) {
			if link[1] != link[2] {
				t.Errorf("%s says %s", page, link[0])
			}
		}
	}
	if followed < 20 {
		t.Errorf("found %d links; the search is broken", followed)
	}
}
