package house_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryFindingHasATest reads the findings in docs/security.md: each row names a test, and the test exists.
func TestEveryFindingHasATest(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs/security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, findings, is := strings.Cut(string(text), "\n## What attacks found\n")
	if !is {
		t.Fatal("docs/security.md has no findings")
	}
	rows := 0
	for line := range strings.Lines(findings) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "| ") || strings.TrimSpace(cells[0]) == "Finding" {
			continue
		}
		rows++
		if len(cells) != 3 {
			t.Errorf("a row has %d cells: %s", len(cells), line)
			continue
		}
		tests := 0
		for _, found := range reference.FindAllStringSubmatch(cells[2], -1) {
			tests++
			if !isTest(t, found[1], found[2]) {
				t.Errorf("%q names %s, which is no test that exists", strings.TrimSpace(cells[0]), found[0])
			}
		}
		if tests == 0 {
			t.Errorf("%q names no test", strings.TrimSpace(cells[0]))
		}
	}
	if rows < 35 {
		t.Errorf("found %d findings; the search is broken", rows)
	}
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
