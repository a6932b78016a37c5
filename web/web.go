// Package web is what a browser is given: templates, styles, modules, icons, and
// the few rules that hold for every page. It has no build step: what stands in
// static and templates is what is sent.
//
// A page is a file under templates. It defines "content", and may use everything
// that templates/*.html define; its handler calls Site.Render with its name.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"strings"
)

//go:embed static templates
var files embed.FS

// styles are sent as one sheet, in this order. Each puts its rules into a layer.
var styles = []string{"tokens.css", "base.css", "layout.css", "components.css", "dashboard.css", "site.css"}

// Site renders pages and serves what they link to. Make one per process.
type Site struct {
	log     *slog.Logger
	pages   map[string]*template.Template
	assets  map[string][]byte // by name
	version string            // of all assets together: it is part of their address, so they can be kept for ever
	demo    bool
}

// Config is what pages need to know of the installation.
type Config struct {
	Demo bool // say on every page that no real money can move, and offer what only a demo may
	Log  *slog.Logger
}

// New parses all pages. It panics over one that does not parse, which no binary
// that passed its tests contains.
func New(c Config) *Site {
	s := &Site{log: c.Log, demo: c.Demo, assets: map[string][]byte{}}
	sum := sha256.New()
	for _, entry := range must(fs.ReadDir(files, "static")) {
		content := must(files.ReadFile("static/" + entry.Name()))
		s.assets[entry.Name()] = content
		sum.Write(content)
	}
	s.version = hex.EncodeToString(sum.Sum(nil)[:6])
	var sheet bytes.Buffer
	for _, name := range styles {
		sheet.Write(s.assets[name])
		delete(s.assets, name)
	}
	s.assets["app.css"] = sheet.Bytes()
	s.parse()
	return s
}

func (s *Site) parse() {
	common := template.Must(template.New("common").Option("missingkey=error").Funcs(s.functions()).ParseFS(files, "templates/*.html"))
	s.pages = map[string]*template.Template{}
	for _, file := range must(fs.Glob(files, "templates/*/*.html")) {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "templates/"), ".html")
		s.pages[name] = template.Must(template.Must(common.Clone()).ParseFS(files, file))
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Page is what the layout needs to know of a page, and the page's own Data: a
// struct of its handler's, never a map.
type Page struct {
	Title  string
	Here   string // the entry of the navigation that the page belongs to
	Desk   bool   // one of the dashboard's: with its side
	Flash  string // something that was just done
	Wrong  bool   // or that was not
	CSRF   string
	Scopes []Scope // whose lists can be shown; one of them is
	Data   any

	Theme string // filled in by Render, as are the next two
	Demo  bool
	Path  string
}

// Scope is an account in a mode.
type Scope struct {
	Value, Name string
	Current     bool
}

// Render sends a page. Nothing is sent before the template has run to its end,
// so an error is an error page and never half of a page.
func (s *Site) Render(w http.ResponseWriter, r *http.Request, status int, name string, page Page) {
	page.Theme, page.Demo, page.Path = theme(r), s.demo, r.URL.RequestURI()
	var out bytes.Buffer
	t, known := s.pages[name]
	err := fmt.Errorf("there is no page %q", name)
	if known {
		err = t.ExecuteTemplate(&out, "layout", page)
	}
	if err != nil {
		s.log.Error("render", "page", name, "error", err)
		http.Error(w, "This page could not be drawn. The log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = out.WriteTo(w)
}

// theme is the colours that the reader chose; "" leaves them to the system.
func theme(r *http.Request) string {
	chosen, err := r.Cookie("ratchet_theme")
	if err == nil && (chosen.Value == "light" || chosen.Value == "dark") {
		return chosen.Value
	}
	return ""
}

// Asset is the address of a file under static.
func (s *Site) asset(name string) (string, error) {
	if _, known := s.assets[name]; !known {
		return "", fmt.Errorf("there is no asset %q", name)
	}
	return "/assets/" + s.version + "/" + name, nil
}

var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// Assets serves /assets/{version}/{name}. An address with another version is
// answered too, with what there is now: a page that was open while the server
// was replaced keeps working.
func (s *Site) Assets(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	content, known := s.assets[name]
	if !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", contentTypes[path.Ext(name)])
	if r.PathValue("version") == s.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(content)
}

// Harden puts the headers on every answer that keep a page to itself: nothing
// is loaded from elsewhere, nothing inline runs, nobody frames it.
func Harden(next http.Handler) http.Handler {
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; frame-src 'self'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}
