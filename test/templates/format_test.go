package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("many words ", 12)
	for name, c := range map[string]struct{ source, want string }{
		"blocks are on lines of their own": {
			`<div><p>One</p><p>Two</p></div>`,
			"<div>\n  <p>One</p>\n  <p>Two</p>\n</div>\n"},
		"inline elements stay together, because white space between them is shown": {
			`<p><b>a</b><i>b</i></p>`,
			"<p><b>a</b><i>b</i></p>\n"},
		"actions around blocks are on lines of their own": {
			`<ul>{{range .All}}<li>{{.}}</li>{{else}}<li>none</li>{{end}}</ul>`,
			"<ul>\n  {{range .All}}\n    <li>{{.}}</li>\n  {{else}}\n    <li>none</li>\n  {{end}}\n</ul>\n"},
		"a long line is broken at its spaces": {
			`<p>` + long + `</p>`,
			"<p>\n  " + strings.TrimSpace(strings.Repeat("many words ", 10)) + " many\n  words many words\n</p>\n"},
		"a cell that may be empty gets no white space": {
			`<table><tr><td>{{with .X}}` + long + `{{end}}</td></tr></table>`,
			"<table>\n  <tr>\n    <td>{{with .X}}" + strings.TrimSpace(strings.Repeat("many words ", 9)) + "\n      " +
				"many words many words many words {{end}}</td>\n  </tr>\n</table>\n"},
		"a tag is broken between attributes, never in one": {
			`<a class="one two" href="` + strings.Repeat("x", 110) + `">there</a>`,
			"<a class=\"one two\"\n  href=\"" + strings.Repeat("x", 110) + "\">there</a>\n"},
		"code is left alone": {
			"<div><pre>a\n   b</pre></div>",
			"<div><pre>a\n   b</pre></div>\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Format(c.source)
			if got != c.want {
				t.Errorf("%s becomes\n%s\nwant\n%s", c.source, got, c.want)
			}
			if again := Format(got); again != got {
				t.Errorf("formatted again it becomes\n%s", again)
			}
		})
	}
}

// shown is a template without the white space that no browser shows: beside the tags of blocks, and between attributes.
func shown(source string) string {
	tokens := scan(strings.TrimSpace(source))
	isBlock := func(i int) bool {
		return i >= 0 && i < len(tokens) && slices.Contains([]kind{opens, closes, alone}, tokens[i].kind)
	}
	var b strings.Builder
	for i, t := range tokens {
		switch {
		case t.kind != space && t.kind != blank:
			b.WriteString(strings.Join(attributes(t.text), " "))
		case !isBlock(i-1) && !isBlock(i+1):
			b.WriteString(" ")
		}
	}
	return b.String()
}

// TestTemplatesAreFormatted formats every template again, and compares what a browser would show.
func TestTemplatesAreFormatted(t *testing.T) {
	t.Parallel()
	var all []string
	for _, pattern := range []string{"*.html", "*/*.html"} {
		found, err := filepath.Glob(filepath.Join("..", "..", "web", "templates", pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	if len(all) < 60 {
		t.Fatalf("found only %d templates", len(all))
	}
	for _, path := range all {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		formatted := Format(string(source))
		if shown(formatted) != shown(string(source)) {
			t.Errorf("%s shows something else when it is formatted", path)
		}
		if formatted != string(source) {
			t.Errorf("%s is not formatted: run go run ./test/templates -w", path)
		}
	}
}
