package house_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryFindingHasATest reads the findings in docs/security.md: each row names a test, and the test exists.
func TestEveryFindingHasATest(t *testing.T) {
	t.Parallel()
	_, findings := security(t)
	if rows := requireTests(t, findings, 3, false); rows < 35 {
		t.Errorf("found %d findings; the search is broken", rows)
	}
}

// TestEveryChapterHasTests reads the chapters of ASVS in docs/security.md: each row names a test that exists, or begins
// its proof with "No test:" and says why there is none.
func TestEveryChapterHasTests(t *testing.T) {
	t.Parallel()
	chapters, _ := security(t)
	for number := 1; number <= 17; number++ {
		head := fmt.Sprintf("\n## V%d ", number)
		_, chapter, is := strings.Cut(chapters, head)
		if !is {
			t.Errorf("docs/security.md lacks the chapter V%d", number)
			continue
		}
		chapter, _, _ = strings.Cut(chapter, "\n## ")
		rows := requireTests(t, chapter, 2, true)
		if rows == 0 && !strings.Contains(chapter, "Does not apply") {
			t.Errorf("V%d has no rows, and does not say that it does not apply", number)
		}
	}
}

// security returns the chapters of docs/security.md, and what attacks found.
func security(t *testing.T) (chapters, findings string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/security.md"))
	if err != nil {
		t.Fatal(err)
	}
	chapters, findings, is := strings.Cut(string(text), "\n## What attacks found\n")
	if !is {
		t.Fatal("docs/security.md has no findings")
	}
	return chapters, findings
}

// withoutTest begins the proof of a row that no test can have.
var withoutTest = regexp.MustCompile(`^No test: .{20}`)

// requireTests reads tables whose last column names tests, and returns how many rows they have.
func requireTests(t *testing.T, text string, columns int, reasons bool) (rows int) {
	t.Helper()
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		first, last := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[len(cells)-1])
		if !strings.HasPrefix(line, "| ") || first == "Finding" || first == "Holds" {
			continue
		}
		rows++
		if len(cells) != columns {
			t.Errorf("a row has %d cells: %s", len(cells), line)
			continue
		}
		tests := 0
		for _, found := range reference.FindAllStringSubmatch(last, -1) {
			if isTest(t, found[1], found[2]) {
				tests++
			} else if !reasons || strings.HasPrefix(found[2], "Test") || strings.HasSuffix(found[1], "_test.go") {
				t.Errorf("%q names %s, which is no test that exists", first, found[0])
			}
		}
		if tests == 0 && !(reasons && withoutTest.MatchString(last)) {
			t.Errorf("%q names no test", first)
		}
	}
	return rows
}

// isTest tells whether a file has a test: a function of Go, or a whole file of browser tests.
func isTest(t *testing.T, path, symbol string) bool {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return false
	}
	if strings.HasSuffix(path, "_test.go") {
		return strings.HasPrefix(symbol, "Test") && declares(t, path, content, symbol)
	}
	return symbol == "" && strings.HasSuffix(path, ".test.mjs")
}
