package docsite

import (
	"html"
	"regexp"
	"strings"
)

// heading is a line of a page's outline.
type heading struct {
	ID, Text string
	Level    int
}

var (
	headingTag = regexp.MustCompile(`(?s)<h([23]) id="([^"]+)">(.*?)</h[23]>`)
	anyTag     = regexp.MustCompile(`<[^>]*>`)
)

// outline lists the headings of a page.
func outline(page string) (all []heading) {
	for _, found := range headingTag.FindAllStringSubmatch(page, -1) {
		all = append(all, heading{ID: found[2], Text: plain(found[3]), Level: int(found[1][0] - '0')})
	}
	return all
}

// plain is the text of a piece of HTML.
func plain(markup string) string {
	text := html.UnescapeString(anyTag.ReplaceAllLiteralString(markup, ""))
	return strings.Join(strings.Fields(text), " ")
}
