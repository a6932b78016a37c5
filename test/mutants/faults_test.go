package main

import (
	"os"
	"strings"
	"testing"
)

// TestEveryFaultCanBeMade finds the text of each edit, exactly once, and the package of
// its test, without running the tests: that takes hours.
func TestEveryFaultCanBeMade(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		for _, e := range f.edits {
			source, err := os.ReadFile("../../" + e.file)
			if err != nil {
				t.Errorf("%s: %v", f.name, err)
				continue
			}
			if n := strings.Count(string(source), e.old); n != 1 {
				t.Errorf("%s: %s has %q %d times", f.name, e.file, e.old, n)
			}
		}
		if _, err := os.Stat("../../" + strings.TrimPrefix(f.pkg, "./")); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}
