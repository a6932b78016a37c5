package house_test

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// retired are patterns that the pages do not use, each with what to write instead.
var retired = []struct{ pattern, instead string }{
	// American spelling.
	{`(?:colou|favou|honou|behaviou|labou)r`, "color, favor, honor, behavior, labor"},
	{`(?:cancell|labell|travell|modell)(?:ed|ing)`, "one l: canceled, labeled, traveled, modeled"},
	{`(?:authori|organi|recogni|finali|summari|initiali)s(?:e|ed|es|ing|ation)`,
		"-ize: authorize, organize, recognize"},
	{`(?:centre|catalogue|cheque|licence|grey|whilst|amongst)`, //nolint:misspell // what this line finds
		"center, catalog, check, license, gray, while, among"},
	// A sentence names its actor, and a person is you, we, the customer or anyone.
	{`(?:whoever|nobody|somebody|anybody|everybody|a person has to)`, "you, we, the customer, the server, anyone"},
	{`one (?:can|may|should|must|would|wants|looks)`, "you"},
	{`(?:he|his|him) (?:pays|presses|has|is|card|bank)`, "they, their"},
	{`what is none`, "say what it is"},
	// Stripe's nouns.
	{`begun`, "started"},
	{`(?:stands|stood) (?:on|as|at)`, "status, recovery point"},
	{`(?:tries|try) again now|tried again`, "retry"},
	{`under way`, "in progress"},
	{`an answer is due|answer by|to be answered`, "respond by, to answer"},
	{`(?:is|was|are|were) told|told nothing|hears? of`, "receives, is notified"},
	{`let(?:ting)? (?:the hold )?go|lapses?`, "release, expire"},
	{`given up|give it up`, "failed"},
	{`the machine(?: itself)?`, "system"},
	{`the other side(?:'s|’s)?`, "the acquirer"},
	{`(?:its|the acquirer(?:'s|’s)?|the) books`, "records, ledger"},
	{`parked`, "waiting to retry, paused"},
	{`(?-i:pid)\b`, "process, or PID as a heading"},
	{`(?:shelf|till)\b`, "products, checkout"},
	{`payment page`, "checkout"},
	{`once more`, "again"},
	// Short sentences that say what happens.
	{`at the moment`, "right now"},
	{`looks again`, "updates automatically"},
	{`(?:none|no \w+|nothing) (?:is |matches )?(?:like|called) that`, "no matching ..., no results"},
	{`there is nothing(?: here)?`, "... not found"},
	{`waits for (?:you|a person|somebody)`, "needs attention, needs review"},
	{`(?:twice|two) is once`, "submitting again won’t repeat it"},
	{`(?:is|was|are|were|been|be) (?:drawn|written down|put down|switched (?:on|off))`,
		"saved, recorded, enabled, disabled"},
	{`as it was`, "unchanged"},
	{`at once`, "immediately, now"},
	{`free in`, "available in"},
	{`\d %(?:[ .,;)]|$)`, "no space before %"},
}

// mayStay are strings that match a retired pattern and are right all the same.
var mayStay = []string{}

// pagePackages hold strings that a page shows.
var pagePackages = []string{"internal/dashboard", "internal/dashboard/ui", "internal/dashboard/sales",
	"internal/dashboard/developers", "internal/login", "internal/docsite", "internal/checkout",
	"internal/demo/shop", "internal/lab/page", "internal/inspect", "web"}

func TestPagesArePlainEnglish(t *testing.T) {
	t.Parallel()
	all := sources(t, "internal", "web")
	var shown []phrase
	for _, s := range all {
		if slices.Contains(pagePackages, s.dir) {
			shown = append(shown, literals(s)...)
		}
	}
	shown = append(shown, templateTexts(t, filepath.Join(root, "web", "templates"))...)
	shown = append(shown, scriptTexts(t, filepath.Join(root, "web", "static"))...)
	if len(shown) < 500 {
		t.Fatalf("found only %d texts: the test looks in the wrong places", len(shown))
	}
	used := map[string]bool{}
	for _, r := range retired {
		bad := regexp.MustCompile(`(?i)\b(?:` + r.pattern + `)`)
		for _, p := range shown {
			found := bad.FindString(p.text)
			if found == "" {
				continue
			}
			if at := slices.IndexFunc(mayStay, func(text string) bool {
				return strings.Contains(p.text, text)
			}); at >= 0 {
				used[mayStay[at]] = true
				continue
			}
			t.Errorf("%s says %q in %q: write %s", p.where, found, p.text, r.instead)
		}
	}
	for _, text := range mayStay {
		if !used[text] {
			t.Errorf("no page says %q any more: take the exception away", text)
		}
	}
}

// phrase is a text that a page can show, and the file that contains it.
type phrase struct{ where, text string }

// literals are the strings of a Go file that may be sentences or labels: not SQL, not tags, not errors.
func literals(s source) (all []phrase) {
	hidden := map[ast.Node]bool{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			hidden[n.Tag] = true
		case *ast.CallExpr: // what goes to a log or into an error is for operators
			f, is := n.Fun.(*ast.SelectorExpr)
			if is && slices.Contains([]string{"Errorf", "New", "Info", "Warn", "Error"}, f.Sel.Name) {
				if x, is := f.X.(*ast.Ident); !is || x.Name != "http" {
					return false
				}
			}
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind == token.STRING && err == nil && !hidden[n] && !code.MatchString(text) {
				all = append(all, phrase{s.path, text})
			}
		}
		return true
	})
	return all
}

var (
	code    = regexp.MustCompile(`^[a-z0-9_./-]*$|SELECT|FROM |FILTER \(| AS \w+,`) // names and SQL
	actions = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	tags    = regexp.MustCompile(`(?s)<[^>]*>`)
	spoken  = regexp.MustCompile(`(?:aria-label|title|placeholder|alt|data-busy)="([^"]*)"`)
	quotes  = regexp.MustCompile("\"[^\"\n]*\"|`[^`]*`")
	remarks = regexp.MustCompile(`(?m)//.*$`)
)

func templateTexts(t *testing.T, dir string) (all []phrase) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		plain := actions.ReplaceAllString(string(text), "")
		for _, label := range spoken.FindAllStringSubmatch(plain, -1) {
			all = append(all, phrase{path, label[1]})
		}
		for _, part := range strings.Split(tags.ReplaceAllString(plain, "\n"), "\n") {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, phrase{path, part})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func scriptTexts(t *testing.T, dir string) (all []phrase) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.js"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, quoted := range quotes.FindAllString(remarks.ReplaceAllString(string(text), ""), -1) {
			all = append(all, phrase{path, strings.Trim(quoted, "\"`")})
		}
	}
	return all
}
