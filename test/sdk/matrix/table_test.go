package main

import (
	"os"
	"strings"
	"testing"
)

// A run without checkouts, on a machine without the distribution's package, takes neither's row from the table.
func TestRowsThatARunLeaves(t *testing.T) {
	t.Parallel()
	const goSDK = "| stripe-go | 85.0.0 | Go module proxy | 22 of 22 |  |\n"
	const packaged = "| stripe-python | 5.0.0 | package python3-stripe | 22 of 22 |  |\n"
	const checkout = "| stripe-ruby | 19.5.0 | checkout | 22 of 22 |  |\n"
	const before = introduction + goSDK + packaged + checkout + "\n## Stripe CLI\n"
	if got := rowsNotRun(before, nil); got != packaged+checkout {
		t.Errorf("without the package, the rows left are\n%s", got)
	}
	run := []result{{sdk: sdk{language: "python", from: "package python3-stripe"}}}
	if got := rowsNotRun(before, run); got != checkout {
		t.Errorf("with the package, the rows left are\n%s", got)
	}
}

// The page's words are those of the programs that write it, so that the next run changes results only.
func TestThePageIsGenerated(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(page), introduction) || !strings.Contains(string(page), aboutCLI) {
		t.Error("docs/compatibility.md has other words than main.go and cli.go")
	}
}
