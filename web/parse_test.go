package web

import (
	"log/slog"
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
