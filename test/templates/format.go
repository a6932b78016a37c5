package main

import (
	"iter"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	longest = 120
	indent  = "  "
)

// blocks are the elements that a browser lays out as blocks, rows or cells, and the shapes of a drawing. White space
// beside their tags is not shown, so that a line may begin or end there.
var blocks = strings.Fields(`html head body main section article header footer nav aside div p h1 h2 h3 h4 h5 h6 ul ol
	li dl dt dd table thead tbody tfoot tr th td caption colgroup col form fieldset legend details summary figure
	figcaption blockquote hr meta link option optgroup live-region
	g line rect path circle ellipse polyline polygon`)

// voids have no closing tag.
var voids = strings.Fields("col hr meta link br img input line rect path circle ellipse polyline polygon")

type kind int

const (
	text   kind = iota // words, and tags of inline elements
	space              // white space that a browser shows as one space
	blank              // an empty line, which is kept where nothing is open
	opens              // the tag of a block
	closes             // its closing tag
	alone              // a block without content
	begin              // {{if}}, {{range}}, {{with}}, {{define}}, {{block}}
	middle             // {{else}}
	end                // {{end}}
)

type token struct {
	kind kind
	name string // of the block
	text string // without white space between attributes, which are in parts
}

var (
	action  = regexp.MustCompile(`^\{\{-?\s*(if|range|with|define|block|else|end)\b`)
	tagName = regexp.MustCompile(`^</?([a-zA-Z][a-zA-Z0-9-]*)`)
	raw     = regexp.MustCompile(`(?s)^(?:<!--.*?-->|<(?:pre|script|style|textarea)\b.*?` +
		`</(?:pre|script|style|textarea)>)`)
)

// scan takes a template apart. A tag keeps its actions, as in <a{{if .X}} href="…"{{end}}>.
func scan(source string) (all []token) {
	for rest := source; rest != ""; {
		n := len(rest)
		switch {
		case strings.TrimLeft(rest[:1], " \t\n") == "":
			n -= len(strings.TrimLeft(rest, " \t\n"))
			k := space
			if strings.Count(rest[:n], "\n") > 1 {
				k = blank
			}
			all = append(all, token{kind: k, text: " "})
		case strings.HasPrefix(rest, "{{"):
			n = actionEnd(rest)
			all = append(all, token{kind: kindOfAction(rest[:n]), text: rest[:n]})
		case raw.MatchString(rest):
			n = len(raw.FindString(rest))
			all = append(all, token{kind: text, text: rest[:n]})
		case tagName.MatchString(rest):
			n = tagEnd(rest)
			all = append(all, tag(rest[:n]))
		default:
			if at := strings.IndexAny(rest[1:], " \t\n<{"); at >= 0 {
				n = at + 1
			}
			all = append(all, token{kind: text, text: rest[:n]})
		}
		rest = rest[n:]
	}
	return all
}

func kindOfAction(text string) kind {
	found := action.FindStringSubmatch(text)
	switch {
	case found == nil:
		return 0
	case found[1] == "end":
		return end
	case found[1] == "else":
		return middle
	}
	return begin
}

func tag(text string) token {
	name := strings.ToLower(tagName.FindStringSubmatch(text)[1])
	t := token{name: name, text: text}
	switch {
	case !slices.Contains(blocks, name):
		t.name = ""
	case strings.HasPrefix(text, "</"):
		t.kind = closes
	case slices.Contains(voids, name) || strings.HasSuffix(text, "/>"):
		t.kind = alone
	default:
		t.kind = opens
	}
	return t
}

// actionEnd is behind the }} of the action that the text begins with.
func actionEnd(s string) int {
	for i := 2; i < len(s); i++ {
		switch {
		case s[i] == '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case s[i] == '`':
			for i++; i < len(s) && s[i] != '`'; i++ {
			}
		case strings.HasPrefix(s[i:], "}}"):
			return i + 2
		}
	}
	return len(s)
}

// unquoted are the places and bytes of a tag outside of quotes and actions.
func unquoted(s string) iter.Seq2[int, byte] {
	return func(yield func(int, byte) bool) {
		quote := byte(0)
		for i := 0; i < len(s); i++ {
			switch {
			case strings.HasPrefix(s[i:], "{{"):
				i += actionEnd(s[i:]) - 1
			case quote != 0:
				if s[i] == quote {
					quote = 0
				}
			case s[i] == '"' || s[i] == '\'':
				quote = s[i]
			case !yield(i, s[i]):
				return
			}
		}
	}
}

// tagEnd is behind the > of the tag that the text begins with.
func tagEnd(s string) int {
	for i, c := range unquoted(s) {
		if c == '>' {
			return i + 1
		}
	}
	return len(s)
}

// attributes splits a tag where it may be broken: at the white space between attributes.
func attributes(s string) (parts []string) {
	from := 0
	for i, c := range unquoted(s) {
		if c == ' ' || c == '\t' || c == '\n' {
			if i > from {
				parts = append(parts, s[from:i])
			}
			from = i + 1
		}
	}
	return append(parts, s[from:])
}

// Format writes a template with one block to a line, in lines of at most 120 characters where they can be broken. It
// adds and removes white space only where a browser shows none, beside the tags of blocks, and otherwise only replaces
// a space by a line break.
func Format(source string) string {
	f := &formatter{tokens: scan(strings.TrimSpace(source))}
	f.findParents()
	for i := range f.tokens {
		f.add(i)
	}
	f.newLine()
	return strings.TrimLeft(strings.Join(f.lines, "\n"), "\n") + "\n"
}

type formatter struct {
	tokens  []token
	parents map[int]bool // tags that open or close a block with other blocks in it

	lines   []string
	pending []string // pieces of the line that is being written, between which it may be broken
	depth   int      // of what is open
	at      int      // depth of the line that is being written
	glue    bool     // the next token belongs to the last piece
}

// findParents finds the blocks and the actions that have blocks in them, and blocks that are too long for a line:
// their content is on separate lines.
func (f *formatter) findParents() {
	f.parents = map[int]bool{}
	var open []int
	for i, t := range f.tokens {
		switch t.kind {
		case opens, alone:
			for _, o := range open {
				f.parents[o] = true
			}
			if t.kind == opens {
				open = append(open, i)
			}
		case begin:
			open = append(open, i)
		case middle, end:
			for n := len(open) - 1; n >= 0; n-- {
				if f.tokens[open[n]].kind == begin {
					f.parents[i] = f.parents[open[n]]
					if t.kind == end {
						open = slices.Delete(open, n, n+1)
					}
					break
				}
			}
		case closes:
			for n := len(open) - 1; n >= 0; n-- {
				if f.tokens[open[n]].kind == opens && f.tokens[open[n]].name == t.name {
					if tooLong(f.tokens[open[n] : i+1]) {
						f.parents[open[n]] = true
					}
					f.parents[i] = f.parents[open[n]]
					open = slices.Delete(open, n, n+1)
					break
				}
			}
		}
	}
}

// tooLong says whether a block does not fit on a line. Nothing may be put into a block that a style hides when it is
// empty, and its content may be.
func tooLong(block []token) bool {
	first := block[0]
	if len(block) == 2 || first.name == "td" || hiddenWhenEmpty.MatchString(first.text) {
		return false
	}
	n := 0
	for _, t := range block {
		n += utf8.RuneCountInString(t.text)
	}
	return n > longest-24 // it is indented
}

var hiddenWhenEmpty = regexp.MustCompile(`class="[^"]*\b(?:error|brand)\b`)

func (f *formatter) add(i int) {
	t := f.tokens[i]
	switch t.kind {
	case space:
		f.glue = false
		if f.isParent(i-1, end) || f.isParent(i-1, begin) || f.isParent(i+1, begin) {
			f.newLine()
		}
	case blank:
		f.glue = false
		if f.depth == 0 {
			f.newLine()
			f.lines = append(f.lines, "")
		}
	case opens, alone:
		f.newLine()
		f.put(t.text)
		if t.kind == opens {
			f.depth++
		}
		if t.kind == alone || f.parents[i] {
			f.newLine()
		}
	case closes:
		f.depth = max(f.depth-1, 0)
		if f.parents[i] {
			f.newLine()
		}
		f.put(t.text)
		f.newLine()
	case end, middle:
		f.depth = max(f.depth-1, 0)
		f.put(t.text)
		if t.kind == middle {
			f.depth++
		}
	case begin:
		f.put(t.text)
		f.depth++
	default:
		f.put(t.text)
	}
}

// isParent says whether a token is the action of a kind that has blocks in it.
func (f *formatter) isParent(i int, of kind) bool {
	return i >= 0 && i < len(f.tokens) && f.tokens[i].kind == of && f.parents[i]
}

func (f *formatter) put(s string) {
	if len(f.pending) == 0 {
		f.at = f.depth
	}
	if f.glue && len(f.pending) > 0 {
		f.pending[len(f.pending)-1] += s
	} else {
		f.pending = append(f.pending, s)
	}
	f.glue = true
}

// newLine ends the line, and breaks it if it is too long.
func (f *formatter) newLine() {
	if len(f.pending) == 0 {
		f.glue = false
		return
	}
	line := strings.Repeat(indent, f.at)
	width := func(s string) int { return utf8.RuneCountInString(s) }
	next := strings.Repeat(indent, f.at)
	if strings.HasPrefix(f.pending[0], "<") {
		next += indent
	}
	first := true
	write := func(piece string) {
		switch {
		case first:
			line += piece
		case width(line)+1+width(piece) <= longest:
			line += " " + piece
		default:
			f.lines = append(f.lines, line)
			line = next + piece
		}
		first = false
	}
	for _, piece := range f.pending {
		parts := []string{piece}
		if width(line)+1+width(piece) > longest {
			parts = breakable(piece)
		}
		for _, part := range parts {
			write(part)
		}
	}
	f.lines = append(f.lines, line)
	f.pending, f.glue = nil, false
}

// breakable splits a piece between the attributes of its tags.
func breakable(piece string) (parts []string) {
	var last string
	for rest := piece; rest != ""; {
		n := 1
		switch {
		case strings.HasPrefix(rest, "{{"):
			n = actionEnd(rest)
		case raw.MatchString(rest):
			n = len(raw.FindString(rest))
		case tagName.MatchString(rest):
			n = tagEnd(rest)
			inTag := attributes(rest[:n])
			for i, part := range inTag {
				last += part
				if i < len(inTag)-1 {
					parts, last = append(parts, last), ""
				}
			}
			rest = rest[n:]
			continue
		}
		last += rest[:n]
		rest = rest[n:]
	}
	return append(parts, last)
}
