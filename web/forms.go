package web

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// withoutForms takes out of a page what its reader may not use: each form that sends to a path that may refuses, the
// card or fold around it if nothing else is in there, the links to forms under /dashboard/new, and what names such a
// path in data-acts. The server refuses such a
// form anyway. A template can forget to ask who reads it; this does not, and a new form is left out by default.
func withoutForms(page *bytes.Buffer, may func(path string) bool) error {
	root, err := html.Parse(page)
	if err != nil {
		return fmt.Errorf("parse a page: %w", err)
	}
	var unfit []*html.Node
	for n := range root.Descendants() {
		if path, acts := actOf(n); acts && !may(path) {
			unfit = append(unfit, n)
		}
	}
	for _, n := range unfit {
		remove(n)
	}
	page.Reset()
	if err := html.Render(page, root); err != nil {
		return fmt.Errorf("write a page: %w", err)
	}
	return nil
}

// actOf is the path that an element acts on.
func actOf(n *html.Node) (path string, acts bool) {
	if n.Type != html.ElementNode {
		return "", false
	}
	if path := attribute(n, "data-acts"); path != "" {
		return path, true
	}
	if path, _, _ := strings.Cut(attribute(n, "href"), "?"); n.Data == "a" {
		what, is := strings.CutPrefix(path, "/dashboard/new")
		return "/dashboard/new/" + strings.Trim(what, "/"), is
	}
	return attribute(n, "action"), n.Data == "form" && strings.EqualFold(attribute(n, "method"), "post")
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// remove takes an element out, and what was only there for it.
func remove(n *html.Node) {
	parent := n.Parent
	if parent == nil {
		return // it went with another
	}
	parent.RemoveChild(n)
	frames := parent.Data == "details" || slices.Contains(strings.Fields(attribute(parent, "class")), "card")
	if frames && !holds(parent) {
		remove(parent)
	}
}

// holds tells whether a card or a fold has anything but its heading.
func holds(n *html.Node) bool {
	for child := range n.ChildNodes() {
		text := child.Type == html.TextNode && strings.TrimSpace(child.Data) != ""
		if text || child.Type == html.ElementNode && child.Data != "header" && child.Data != "summary" {
			return true
		}
	}
	return false
}
