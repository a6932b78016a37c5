package docsite

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/ratchet-pay/ratchet/web"
)

// sourceAddress is where the source is shown.
const sourceAddress = "/docs/source"

// sourcePage is a file of the source, or a folder.
type sourcePage struct {
	Path    string
	Crumbs  []document
	Folders []document
	Files   []document
	Lines   []sourceLine // of a file
	Names   []name       // that the file declares
}

type sourceLine struct {
	Number int
	Text   template.HTML
}

// name is something that a file declares.
type name struct {
	Text string
	Line int
}

// source shows a file or a folder. It can reach what is embedded in the program, and nothing else.
func (p *Pages) source(w http.ResponseWriter, r *http.Request) {
	at := r.PathValue("path")
	if at == "" {
		at = "."
	}
	if p.Source == nil || !fs.ValidPath(at) {
		p.missing(w, r)
		return
	}
	page := sourcePage{Path: at, Crumbs: crumbs(at)}
	entries, err := fs.ReadDir(p.Source, at)
	switch {
	case err == nil:
		page.list(entries)
	case errors.Is(err, fs.ErrNotExist):
		p.missing(w, r)
		return
	default: // it is a file
		text, err := fs.ReadFile(p.Source, at)
		if err != nil {
			p.missing(w, r)
			return
		}
		page.read(string(text))
	}
	title := at
	if at == "." {
		title = "Source code"
	}
	p.Render(w, r, http.StatusOK, "site/source", web.Page{Title: title, Here: "docs", Data: page})
}

func (s *sourcePage) list(entries []fs.DirEntry) {
	for _, e := range entries {
		d := document{Title: e.Name(), Address: sourceAddress + "/" + path.Join(s.Path, e.Name())}
		if e.IsDir() {
			s.Folders = append(s.Folders, d)
		} else {
			s.Files = append(s.Files, d)
		}
	}
}

func (s *sourcePage) read(text string) {
	for i, line := range highlight(path.Ext(s.Path), text) {
		s.Lines = append(s.Lines, sourceLine{i + 1, template.HTML(line)}) // highlight escapes what it is given
	}
	if path.Ext(s.Path) == ".go" {
		s.Names = declared(text)
	}
}

// crumbs are the folders that a path lies in, from the root on.
func crumbs(at string) []document {
	all := []document{{Title: "Source code", Address: sourceAddress}}
	for dir, rest := "", at; ; {
		part, more, found := strings.Cut(rest, "/")
		if !found {
			return all
		}
		dir, rest = path.Join(dir, part), more
		all = append(all, document{Title: part, Address: sourceAddress + "/" + dir})
	}
}

// inSource is `path/file.ext` or `path/file.ext:Symbol` as goldmark writes it, or a link,
// which is left as it is.
var inSource = regexp.MustCompile(
	`(?s)<a [^>]*>.*?</a>|<code>((?:[A-Za-z0-9_.-]+/)+[A-Za-z0-9_.-]+\.[a-z]+)(?::([A-Za-z_][A-Za-z0-9_.-]*))?</code>`)

// linkToSource links each name of the source to its line.
func (p *Pages) linkToSource(html string) string {
	if p.Source == nil {
		return html
	}
	read := map[string]string{}
	return inSource.ReplaceAllStringFunc(html, func(whole string) string {
		parts := inSource.FindStringSubmatch(whole)
		file, symbol := parts[1], parts[2]
		if file == "" {
			return whole
		}
		text, known := read[file]
		if !known {
			content, err := fs.ReadFile(p.Source, file)
			if err != nil {
				return whole
			}
			text = string(content)
			read[file] = text
		}
		anchor := ""
		if line := lineOf(file, text, symbol); line > 0 {
			anchor = "#L" + strconv.Itoa(line)
		}
		return `<a class="to-source" href="` + sourceAddress + "/" + file + anchor + `"><code>` +
			breakable.Replace(parts[1]+strings.TrimSuffix(":"+symbol, ":")) + `</code></a>`
	})
}

// breakable lets a long name break where one of its words ends.
var breakable = strings.NewReplacer("/", "/<wbr>", ":", ":<wbr>", "_", "_<wbr>")

// lineOf is the line that declares a name, or the first that has it; 0 for neither.
func lineOf(file, text, symbol string) int {
	if symbol == "" {
		return 0
	}
	if path.Ext(file) == ".go" {
		for _, n := range declared(text) {
			if n.Text == symbol || strings.HasSuffix(n.Text, "."+symbol) {
				return n.Line
			}
		}
		return 0
	}
	word := `(?:^|\W)` + regexp.QuoteMeta(symbol) + `(?:\W|$)`
	declaration := `(?i)(?:TABLE|VIEW|FUNCTION|TRIGGER|INDEX|CONSTRAINT|TYPE|DOMAIN)\s+(?:IF NOT EXISTS\s+)?` +
		regexp.QuoteMeta(symbol) + `(?:\W|$)`
	for _, pattern := range []string{declaration, word} {
		if at := regexp.MustCompile("(?m)" + pattern).FindStringIndex(text); at != nil {
			return strings.Count(text[:at[1]-1], "\n") + 1
		}
	}
	return 0
}

// declared are the names that a Go file declares, in their order. A method has its type in front.
func declared(text string) (names []name) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	add := func(text string, at ast.Node) { names = append(names, name{text, set.Position(at.Pos()).Line}) }
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				add(receiver(d.Recv.List[0].Type)+"."+d.Name.Name, d.Name)
			} else {
				add(d.Name.Name, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					add(s.Name.Name, s.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						add(n.Name, n)
					}
				}
			}
		}
	}
	return names
}

// receiver is the name of a method's type, without star and type parameters.
func receiver(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
