package web

import (
	"log/slog"
	"strings"
	"testing"
)

// A page is parsed when it is first asked for, and panics if it does not parse.
func TestEveryPageParses(t *testing.T) {
	t.Parallel()
	site := New(Config{Log: slog.New(slog.DiscardHandler)})
	if len(site.pages) == 0 {
		t.Fatal("no page was found")
	}
	for name, languages := range site.pages {
		for language, parse := range languages {
			if parse() == nil {
				t.Errorf("page %s has no template in %s", name, language)
			}
		}
	}
}

// A part of a script is sent as a block, in which import and export are syntax errors.
func TestPartsOfScriptsStandAlone(t *testing.T) {
	for script, parts := range scripts {
		for _, name := range parts {
			for line := range strings.Lines(string(must(files.ReadFile("static/" + name)))) {
				if strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "export ") {
					t.Errorf("%s, which is a part of %s: %s", name, script, line)
				}
			}
		}
	}
}
