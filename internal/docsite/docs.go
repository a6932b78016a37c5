package docsite

import (
	"bytes"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

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
	Outline []heading
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

// Chapters is how many chapters the tour of the code has.
func Chapters() (int, error) {
	files, err := fs.Glob(docs.Files, "tour/*.md")
	return len(files), err
}

// renderAll renders all documents, by their addresses.
func (p *Pages) renderAll() (map[string]document, error) {
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
		html := p.linkToSource(color(focusable(leadHome(out.String(), path.Dir(name)))))
		d.Body, d.Outline = template.HTML(html), outline(html) // goldmark leaves raw HTML out: this is our own markup
		all[d.Address] = d
		return nil
	})
	return all, err
}

var linkToDocument = regexp.MustCompile(`href="([^":#]+)\.md(#[^"]*)?"`)

// leadHome turns links between files into links between pages.
func leadHome(html, dir string) string {
	return linkToDocument.ReplaceAllStringFunc(html, func(link string) string {
		parts := linkToDocument.FindStringSubmatch(link)
		return `href="/docs/` + path.Join(dir, parts[1]) + parts[2] + `"`
	})
}

// box is what a list of tasks shows in front of each: a page cannot be ticked off.
const box = `<input disabled="" type="checkbox">`

// focusable lets what is wider than the page be moved with the keyboard.
func focusable(html string) string {
	html = strings.ReplaceAll(html, box, `<span class="task" aria-hidden="true">☐</span>`)
	html = strings.ReplaceAll(html, "<pre>", `<pre tabindex="0">`)
	html = strings.ReplaceAll(html, "<table>",
		`<div class="card table-wrap" role="group" aria-label="Table" tabindex="0"><table class="table">`)
	return strings.ReplaceAll(html, "</table>", "</table></div>")
}

// startHere are the documents behind the seven stops that a newcomer reads next.
var startHere = []string{"/docs/design-review", "/docs/exercises"}

func contents(all map[string]document) []section {
	start, tour := section{Name: "Start here"}, section{Name: "The code, chapter by chapter"}
	lab, rest, decisions := section{Name: "The lab"}, section{Name: "Reference"}, section{Name: "Decisions"}
	for _, address := range sorted(all) {
		d := all[address]
		switch path.Dir(address) {
		case "/docs/start":
			start.Documents = append(start.Documents, d)
		case "/docs/tour":
			tour.Documents = append(tour.Documents, d)
		case "/docs/lab":
			lab.Documents = append(lab.Documents, d)
		case "/docs/decisions":
			decisions.Documents = append(decisions.Documents, d)
		default:
			if !slices.Contains(startHere, address) {
				rest.Documents = append(rest.Documents, d)
			}
		}
	}
	for _, address := range startHere {
		start.Documents = append(start.Documents, all[address])
	}
	rest.Documents = append(rest.Documents, document{Title: "Errors", Address: "/docs/errors"},
		document{Title: "Source code", Address: sourceAddress})
	return []section{start, tour, lab, rest, decisions}
}

func (p *Pages) docs(w http.ResponseWriter, r *http.Request) {
	all, err := p.library()
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	page := docsPage{Contents: contents(all)}
	address := strings.TrimSuffix(r.URL.Path, "/")
	for _, s := range page.Contents[:2] { // a series has a first page
		if first := s.Documents[0].Address; address == path.Dir(first) {
			http.Redirect(w, r, first, http.StatusSeeOther)
			return
		}
	}
	if address == "/docs" {
		p.Render(w, r, http.StatusOK, "site/docs", web.Page{Title: "Documentation", Here: "docs", Data: page})
		return
	}
	found, known := all[address]
	if !known {
		p.missing(w, r)
		return
	}
	found.Body = p.served(r, found.Body)
	page.document = found
	page.turn()
	if s, is := stops[path.Base(address)]; is && path.Dir(address) == "/docs/start" {
		p.stop(w, r, page, s)
		return
	}
	p.Render(w, r, http.StatusOK, "site/document", web.Page{Title: found.Title, Here: "docs", Data: page})
}

func (p *Pages) missing(w http.ResponseWriter, r *http.Request) {
	p.Render(w, r, http.StatusNotFound, "dashboard/problem", web.Page{Title: "Not found", Here: "docs",
		Data: missing{"Page not found", "Check the address, or open the table of contents.", "/docs",
			"Table of contents"}})
}

// turn finds the neighbors of a page that is one of a series.
func (d *docsPage) turn() {
	for _, s := range d.Contents[:2] {
		series := slices.DeleteFunc(slices.Clone(s.Documents), func(other document) bool {
			return path.Dir(other.Address) != path.Dir(d.Address)
		})
		i := slices.IndexFunc(series, func(other document) bool { return other.Address == d.Address })
		if i < 0 || path.Dir(d.Address) == "/docs" {
			continue
		}
		d.Chapter, d.Of = i+1, len(series)
		if i > 0 {
			d.Before = &series[i-1]
		}
		if i < len(series)-1 {
			d.After = &series[i+1]
		}
	}
}

// base is where the reader's browser finds this server.
func (p *Pages) base(r *http.Request) string {
	if p.HTTPS {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// served puts the address that the page is served from in place of the one that the
// documents are written with, so that their commands work as they are.
func (p *Pages) served(r *http.Request, body template.HTML) template.HTML {
	base, host := template.HTMLEscapeString(p.base(r)), template.HTMLEscapeString(r.Host)
	return template.HTML(strings.NewReplacer("http://127.0.0.1:8080", base, "localhost:8080", host).
		Replace(string(body)))
}
