package web

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// blocks are the elements beside whose tags a browser shows no white space.
var blocks = strings.Fields(`html head body title main section article header footer nav aside div p h1 h2 h3 h4 h5 h6
	ul ol li dl dt dd table thead tbody tfoot tr th td caption colgroup col form fieldset legend details summary figure
	figcaption blockquote hr meta link option optgroup live-region g line rect path circle ellipse polyline polygon`)

// verbatim are the elements whose white space means something.
var verbatim = []string{"pre", "script", "style", "textarea"}

// Compact removes the white space that no browser shows: all of it beside the tag of a block, and all but one space
// elsewhere and between attributes. It changes nothing else.
func Compact(page string) string {
	var out strings.Builder
	tokens := html.NewTokenizer(strings.NewReader(page))
	var inside string          // the verbatim element that is open
	space, edge := false, true // white space is pending, and what was written last is the edge of a block
	for {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			return out.String()
		}
		raw := string(tokens.Raw())
		if kind == html.TextToken && inside == "" {
			words := strings.Join(strings.FieldsFunc(raw, isSpace), " ")
			space = space || strings.TrimLeftFunc(raw, isSpace) != raw
			if words == "" {
				continue
			}
			if space && !edge {
				out.WriteString(" ")
			}
			out.WriteString(words)
			space, edge = strings.TrimRightFunc(raw, isSpace) != raw, false
			continue
		}
		if kind == html.TextToken {
			out.WriteString(raw)
			continue
		}
		name, _ := tokens.TagName()
		isBlock := kind == html.DoctypeToken || slices.Contains(blocks, string(name))
		if space && !isBlock && !edge {
			out.WriteString(" ")
		}
		if space && !isBlock || isBlock {
			space = false
		}
		edge = isBlock
		out.WriteString(onOneLine(raw))
		switch {
		case kind == html.StartTagToken && inside == "" && slices.Contains(verbatim, string(name)):
			inside = string(name)
		case kind == html.EndTagToken && inside == string(name):
			inside = ""
		}
	}
}

// isSpace reports what HTML collapses: a no-break space is a character like any other.
func isSpace(c rune) bool { return strings.ContainsRune(" \t\n\r\f", c) }

// onOneLine returns a tag with one space between its attributes, and none before its end.
func onOneLine(tag string) string {
	var out strings.Builder
	quote, space := rune(0), false
	for _, c := range tag {
		if quote == 0 && isSpace(c) {
			space = true
			continue
		}
		if space && c != '>' {
			out.WriteByte(' ')
		}
		space = false
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
		}
		out.WriteRune(c)
	}
	return out.String()
}
