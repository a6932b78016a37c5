package docsite

import (
	"html/template"
	"io/fs"
	"net/http/httptest"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet"
	"github.com/ratchet-pay/ratchet/docs"
	"github.com/ratchet-pay/ratchet/internal/lab"
)

// mostWords is how long a stop may be: a newcomer reads all seven in three minutes.
const mostWords = 200

// headless is the first row of a table, if one of its cells is empty: a screen reader has no name
// for that column.
var headless = regexp.MustCompile(`(?m)^\|(?:.*\|)? +\|(?:.*)\n\|(?:-+\|)+$`)

func TestTablesHaveHeadings(t *testing.T) {
	t.Parallel()
	read := 0
	err := fs.WalkDir(docs.Files, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		read++
		text, err := docs.Files.ReadFile(file)
		if found := headless.Find(text); found != nil {
			t.Errorf("%s: a column of this table has no heading:\n%s", file, found)
		}
		return err
	})
	if err != nil || read < 60 {
		t.Errorf("%d documents were read, %v", read, err)
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(docs.Files, "start/*.md")
	if err != nil || len(files) != 7 || len(stops) != 7 {
		t.Fatalf("%d documents, %d stops, %v", len(files), len(stops), err)
	}
	matrix, err := lab.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := docs.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if words := len(strings.Fields(string(text))); words > mostWords {
			t.Errorf("%s has %d words, at most %d are allowed", file, words, mostWords)
		}
		if strings.Count(string(text), "\n---\n") != 1 {
			t.Errorf("%s needs one line --- between what is read before the prediction and after it", file)
		}
		stop, known := stops[strings.TrimSuffix(path.Base(file), ".md")]
		if !known {
			t.Errorf("%s asks nothing", file)
			continue
		}
		run, recorded := matrix.Find(stop.Designs[len(stop.Designs)-1], stop.Fault)
		if count, err := strconv.Atoi(stop.Answer); !recorded || err == nil && count != run.Charged {
			t.Errorf("%s: the answer is %s, and in the lab it is %d", file, stop.Answer, run.Charged)
		}
	}
}

var (
	toSource   = regexp.MustCompile(`<a class="to-source" href="([^"#]+)(#L\d+)?"><code>(.*?)</code>`)
	nameInCode = regexp.MustCompile(`<code>[a-z0-9_/]+/[a-z0-9_.]+\.(?:go|sql):[^<]*`)
)

func TestNamesLinkToTheirLines(t *testing.T) {
	t.Parallel()
	all, err := New(Config{Source: ratchet.Source}).renderAll()
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for address, d := range all {
		for _, link := range toSource.FindAllStringSubmatch(string(d.Body), -1) {
			links++
			name := strings.ReplaceAll(link[3], "<wbr>", "")
			if strings.Contains(name, ":") && link[2] == "" {
				t.Errorf("%s: %s leads to no line", address, name)
			}
		}
		rest := toSource.ReplaceAllLiteralString(string(d.Body), "")
		if missed := nameInCode.FindString(rest); missed != "" {
			t.Errorf("%s: %s is no link", address, missed)
		}
	}
	if links < 200 {
		t.Errorf("found %d links; the search is broken", links)
	}
}

func TestLineOf(t *testing.T) {
	t.Parallel()
	const code = `package p

// Run runs.
func Run() {}

type a[T any] struct{}

func (*a[T]) run() {}

var b, c int
`
	const sql = `-- about notes
CREATE TABLE notes (
    id text,
    CONSTRAINT a_note_is_short CHECK (true)
);
`
	for _, tc := range []struct {
		file, text, symbol string
		want               int
	}{
		{"p.go", code, "Run", 4}, {"p.go", code, "a.run", 8}, {"p.go", code, "run", 8}, {"p.go", code, "c", 10},
		{"p.go", code, "runs", 0}, {"p.sql", sql, "notes", 2}, {"p.sql", sql, "a_note_is_short", 4},
		{"p.sql", sql, "id", 3}, {"p.sql", sql, "note", 0},
	} {
		if got := lineOf(tc.file, tc.text, tc.symbol); got != tc.want {
			t.Errorf("%s in %s is in line %d, want %d", tc.symbol, tc.file, got, tc.want)
		}
	}
}

func TestHighlightingChangesNoText(t *testing.T) {
	t.Parallel()
	patterns := []string{"internal/phase/*.go", "internal/docsite/*.go", "migrations/*.sql", "web/static/*.js"}
	for _, pattern := range patterns {
		files, err := fs.Glob(ratchet.Source, pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := fs.ReadFile(ratchet.Source, file)
			if err != nil {
				t.Fatal(err)
			}
			lines := highlight(path.Ext(file), string(text))
			for i, want := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
				bare := anyTag.ReplaceAllLiteralString(lines[i], "")
				if bare != template.HTMLEscapeString(want) {
					t.Fatalf("%s:%d is shown as %q, want %q", file, i+1, bare, want)
				}
			}
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	all := []passage{
		{Page: "The engine", Heading: "Recovery points", Address: "/1", text: "a derived key <b>",
			lower: "the engine recovery points a derived key <b>"},
		{Page: "The engine", Heading: "The derived key", Address: "/2", text: "a hash",
			lower: "the engine the derived key a hash"},
	}
	hits := search(all, "Derived KEY")
	if len(hits) != 2 || hits[0].Address != "/2" {
		t.Fatalf("found %+v, want the heading first", hits)
	}
	if want := template.HTML("a <mark>derived</mark> key &lt;b&gt;"); hits[1].Excerpt != want {
		t.Errorf("the excerpt is %q, want %q", hits[1].Excerpt, want)
	}
	if hits := search(all, "derived nothing"); len(hits) != 0 {
		t.Errorf("found %+v, want passages that have all words", hits)
	}
}

func TestCommandsHaveTheAddressOfThePage(t *testing.T) {
	t.Parallel()
	p := New(Config{})
	all, err := p.renderAll()
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest("GET", "http://127.0.0.1:9999/docs", nil)
	for address, d := range all {
		if body := string(p.served(request, d.Body)); strings.Contains(body, "http://127.0.0.1:8080") {
			t.Errorf("%s sends readers to port 8080", address)
		}
	}
	body := p.served(request, all["/docs/tour/01-a-charge"].Body)
	if !strings.Contains(string(body), "curl http://127.0.0.1:9999/v1/charges") {
		t.Error("the first chapter's command does not call the server that shows it")
	}
}
