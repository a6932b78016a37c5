package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// retiredIdentifiers are words that no name in Go contains, each with the field's term for it.
var retiredIdentifiers = map[string]string{
	"told":        "emitted, reported, notified",
	"untold":      "unacknowledged, pending",
	"heard":       "received, response, applyResult",
	"unheard":     "unanswered, unapplied",
	"hears":       "receives, accepts",
	"teller":      "notifier, or the port's name",
	"deed":        "action",
	"keyless":     "keyGenerated",
	"memo":        "stateData",
	"ord":         "position",
	"slip":        "permit, foreign call",
	"manner":      "mode",
	"incarnation": "epoch",
	"whereabouts": "commitStatus",
	"weather":     "fault",
	"laboratory":  "runner",
	"belongings":  "fixtures",
	"desk":        "dashboard, env",
	"driven":      "executing",
	"undriven":    "unexecuted",
	"spend":       "consume, retire",
	"lapse":       "expire, expiry",
	"lapses":      "expires",
	"lapsed":      "expired",
	"patiently":   "retry, or the name of the timeout",
	"station":     "recovery point",
	"stations":    "recovery points",
}

// retiredNames are names that say nothing when they stand alone. Part of a longer name, such as cardholder, they may.
var retiredNames = map[string]string{
	"stand":  "runner, env, deployment",
	"holder": "credential, owner, cardholder",
}

var wordsOfName = regexp.MustCompile(`[A-Z]+(?:[a-z0-9]+)?|[a-z0-9]+`)

// TestNamesAreTheFieldsTerms keeps a private vocabulary out of the code, tests included: a name is made of words
// that an engineer who knows payments, PostgreSQL and Go does not have to look up.
func TestNamesAreTheFieldsTerms(t *testing.T) {
	t.Parallel()
	names := 0
	check := func(path string) error {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			id, is := n.(*ast.Ident)
			if !is {
				return true
			}
			names++
			if instead, retired := retiredNames[strings.ToLower(id.Name)]; retired {
				t.Errorf("%s has the name %s: write %s", path, id.Name, instead)
			}
			for _, word := range wordsOfName.FindAllString(id.Name, -1) {
				if instead, retired := retiredIdentifiers[strings.ToLower(word)]; retired {
					t.Errorf("%s has the name %s: write %s", path, id.Name, instead)
				}
			}
			return true
		})
		return nil
	}
	for _, dir := range []string{"api", "cmd", "examples", "internal", "migrations", "test", "web"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
				return err
			}
			return check(path)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if names < 200_000 {
		t.Errorf("found only %d names: the test looks in the wrong places", names)
	}
}
