package docsite

import (
	"bytes"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"

	"github.com/ratchet-pay/ratchet/docs"
	"github.com/ratchet-pay/ratchet/web"
)

// document is a file of the documentation as a page.
type document struct {
	Title   string
	Address string
	Body    template.HTML
}

type docsPage struct {
	document
	Contents      []section
	Before, After *document
	Chapter, Of   int
}

// section is a part of the documentation's table of contents.
type section struct {
	Name      string
	Documents []document
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// library renders all documents once, at the first request for one of them.
var library = sync.OnceValues(func() (map[string]document, error) {
	all := map[string]document{}
	err := fs.WalkDir(docs.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := docs.Files.ReadFile(name)
		if err != nil {
			return err
		}
		d := document{Address: "/docs/" + strings.TrimSuffix(name, ".md")}
		first, _, _ := strings.Cut(string(text), "\n")
		d.Title = strings.Trim(first, "# ")
		var out bytes.Buffer
		if err := markdown.Convert(text, &out); err != nil {
			return err
		}
		// goldmark leaves raw HTML out: this is our own markup
		d.Body = template.HTML(focusable(leadHome(out.String(), path.Dir(name))))
		all[d.Address] = d
		return nil
	})
	return all, err
})

var linkToDocument = regexp.MustCompile(`href="([^":#]+)\.md(#[^"]*)?"`)

// leadHome turns links between files into links between pages.
func leadHome(html, dir string) string {
	return linkToDocument.ReplaceAllStringFunc(html, func(link string) string {
		parts := linkToDocument.FindStringSubmatch(link)
		return `href="/docs/` + path.Join(dir, parts[1]) + parts[2] + `"`
	})
}

// focusable lets what is wider than the page be moved with the keyboard.
func focusable(html string) string {
	html = strings.ReplaceAll(html, "<pre>", `<pre tabindex="0">`)
	html = strings.ReplaceAll(html, "<table>",
		`<div class="card table-wrap" role="group" aria-label="Table" tabindex="0"><table class="table">`)
	return strings.ReplaceAll(html, "</table>", "</table></div>")
}

func contents(all map[string]document) []section {
	tour, decisions := section{Name: "The tour"}, section{Name: "Decisions"}
	rest, lab := section{Name: "Reference"}, section{Name: "The lab"}
	for _, address := range sorted(all) {
		d := all[address]
		switch path.Dir(address) {
		case "/docs/tour":
			tour.Documents = append(tour.Documents, d)
		case "/docs/lab":
			lab.Documents = append(lab.Documents, d)
		case "/docs/decisions":
			decisions.Documents = append(decisions.Documents, d)
		default:
			rest.Documents = append(rest.Documents, d)
		}
	}
	rest.Documents = append(rest.Documents, document{Title: "Errors", Address: "/docs/errors"})
	return []section{tour, lab, rest, decisions}
}

func (p *Pages) docs(w http.ResponseWriter, r *http.Request) {
	all, err := library()
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	page := docsPage{Contents: contents(all)}
	address := strings.TrimSuffix(r.URL.Path, "/")
	if address == "/docs/tour" {
		http.Redirect(w, r, page.Contents[0].Documents[0].Address, http.StatusSeeOther)
		return
	}
	if address == "/docs" {
		p.Render(w, r, http.StatusOK, "site/docs", web.Page{Title: "Documentation", Here: "docs", Data: page})
		return
	}
	found, known := all[address]
	if !known {
		p.Render(w, r, http.StatusNotFound, "dashboard/problem", web.Page{Title: "Not found", Here: "docs",
			Data: missing{"Page not found", "Check the address, or open the table of contents.", "/docs",
				"Table of contents"}})
		return
	}
	page.document = found
	tour := page.Contents[0].Documents
	for i := range tour {
		if tour[i].Address != address {
			continue
		}
		page.Chapter, page.Of = i+1, len(tour)
		if i > 0 {
			page.Before = &tour[i-1]
		}
		if i < len(tour)-1 {
			page.After = &tour[i+1]
		}
	}
	p.Render(w, r, http.StatusOK, "site/document", web.Page{Title: found.Title, Here: "docs", Data: page})
}
