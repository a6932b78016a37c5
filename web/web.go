// Package web is what a browser receives: templates, styles, modules, icons, and the few
// rules that hold for every page. It has no build step: the server sends the files in
// static and templates as they are, or several of them joined.
//
// A page is a file under templates. It defines "content", and may use everything
// that templates/*.html define; its handler calls Site.Render with its name.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzhttp"

	"github.com/ratchet-pay/ratchet/internal/locale"
)

//go:embed static templates stripejs
var files embed.FS

// sheets are what styles are sent as: the files of each, in this order. Each file
// puts its rules into a layer. Who buys something loads nothing of the dashboard.
var sheets = map[string][]string{
	"app.css": {"tokens.css", "base.css", "layout.css", "components.css", "dashboard.css", "site.css", "shop.css",
		"lab.css", "print.css"},
	"lab-site.css": {"tokens.css", "base.css", "layout.css", "components.css", "lab.css"},
	"checkout.css": {"tokens.css", "base.css", "components.css", "buyer.css", "print.css"},
}

// scripts are what scripts are sent as, in the same way: a page sends one request instead of one for each file. Each
// file becomes a block, so it shares no names with others, and it can neither import nor export. Every page works
// without these scripts. They add comfort: light-DOM custom elements around markup that the server has already written.
var scripts = map[string][]string{
	"app.js": {"theme.js", "copy.js", "chart.js", "time.js", "palette.js", "find.js", "languages.js", "frame.js",
		"live.js", "rows.js", "menu.js", "side.js", "once.js"},
}

// Site renders pages and serves what they link to. Make one per process.
type Site struct {
	log    *slog.Logger
	pages  map[string]map[string]parse // by name and language; only buyers' pages have more than English
	assets map[string][]byte           // by name
	zipped map[string]func() []byte    // the same, as every browser takes them, made when one is first asked for
	// version is of all assets together. It is part of their address, so they can be cached forever.
	version string
	demo    bool
	shop    bool
}

// Config is what pages need to know of the installation.
type Config struct {
	Demo bool // say on every page that no real money can move, and offer what only a demo may
	Shop bool // there is the demo's shop: lead to it
	Log  *slog.Logger
}

// parse returns a page's template. It parses the page when it is first asked for: the
// templates of all pages in all languages take 40 MB, and most processes send few of them.
// It panics over a page that does not parse; TestEveryPageParses parses them all.
type parse func() *template.Template

// New prepares the assets and finds the pages.
func New(c Config) *Site {
	s := &Site{log: c.Log, demo: c.Demo, shop: c.Shop, assets: map[string][]byte{}, zipped: map[string]func() []byte{}}
	for _, pattern := range [...]string{"static/*.*", "static/*/*.*"} {
		for _, file := range must(fs.Glob(files, pattern)) {
			s.assets[strings.TrimPrefix(file, "static/")] = must(files.ReadFile(file))
		}
	}
	s.join(scripts, func(name string, content []byte) []byte {
		return fmt.Appendf(nil, "{ // %s\n%s}\n", name, content)
	})
	s.join(sheets, func(name string, content []byte) []byte {
		delete(s.assets, name) // no page loads a part alone
		return content
	})
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(s.assets)) {
		content := s.assets[name]
		fmt.Fprintln(sum, name, len(content))
		sum.Write(content)
		s.zipped[name] = sync.OnceValue(func() []byte { return zip(content) })
	}
	s.version = hex.EncodeToString(sum.Sum(nil)[:6])
	s.findPages()
	return s
}

// join makes assets of several files each.
func (s *Site) join(assets map[string][]string, as func(name string, content []byte) []byte) {
	for asset, parts := range assets {
		var all bytes.Buffer
		for _, name := range parts {
			all.Write(as(name, must(files.ReadFile("static/"+name))))
		}
		s.assets[asset] = all.Bytes()
	}
}

func zip(content []byte) []byte {
	var out bytes.Buffer
	w := must(gzip.NewWriterLevel(&out, gzip.BestCompression))
	_, _ = w.Write(content) // to memory
	_ = w.Close()
	return out.Bytes()
}

func (s *Site) findPages() {
	common := template.New("common").Option("missingkey=error").Funcs(s.functions())
	for _, file := range must(fs.Glob(files, "templates/*.html")) {
		parseFile(common, file)
	}
	s.pages = map[string]map[string]parse{}
	for _, file := range must(fs.Glob(files, "templates/*/*.html")) {
		page := func(f template.FuncMap) parse {
			return sync.OnceValue(func() *template.Template {
				return parseFile(template.Must(common.Clone()).Funcs(f), file)
			})
		}
		name := strings.TrimSuffix(strings.TrimPrefix(file, "templates/"), ".html")
		if !strings.HasPrefix(name, "checkout/") {
			s.pages[name] = map[string]parse{locale.English.Code: page(nil)}
			continue
		}
		s.pages[name] = map[string]parse{}
		for _, l := range locale.Languages {
			s.pages[name][l.Code] = page(speech(l))
		}
	}
}

// indentation is for people who edit a template. A browser shows none of it, and pages are a fifth lighter without.
var indentation = regexp.MustCompile(`\n[ \t]+`)

// parseFile adds what a file defines to a template. It panics over a file that does not parse.
func parseFile(into *template.Template, file string) *template.Template {
	text := indentation.ReplaceAllString(string(must(files.ReadFile(file))), "\n")
	template.Must(into.New(path.Base(file)).Parse(text))
	return into
}

// page is a page's template: a buyer's page in the buyer's language, and every other in English.
func (s *Site) page(name string, r *http.Request, chosen *locale.Language) (*template.Template, bool) {
	in, known := s.pages[name]
	switch {
	case len(in) == 1:
		chosen = locale.English
	case chosen == nil:
		chosen = locale.Choose("", r.Header.Get("Accept-Language"))
	}
	if !known {
		return nil, false
	}
	return in[chosen.Code](), true
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
	Title     string
	Layout    string // the frame it is rendered in: "" is the site's, "buyer" the paying customer's
	Here      string // the entry of the navigation that the page belongs to
	Dashboard bool   // one of the dashboard's: with its side
	Shows     string // what the page is up to date with, as the dashboard's stream says it; "": not known
	Ahead     bool   // a test clock is ahead: times are shown without how far away they are
	At        string // the page's address, if a form was sent to another one; "": the browser's
	Flash     string // something that was just done
	Wrong     bool   // or that was not
	CSRF      string
	Views     *Views                 // the list’s saved filters; nil: the page has none
	Scopes    []Scope                // whose lists can be shown; one of them is
	Leave     bool                   // the reader has logged in, and can log out
	Person    string                 // the reader's name; "" if no login is needed
	May       func(path string) bool // whether the reader may send a form there; nil: all forms
	Data      any
	// Language is what a buyer's page is written in; nil: the browser's.
	Language *locale.Language
	// Picture is the address of the image that other sites show when they link to the page; "": none.
	Picture string
	About   string // the page in a sentence, which they show beside it; "": none
	Reload  int    // seconds after which a browser without JavaScript looks again; 0 for never

	Theme string // filled in by Render, as are the next three
	Demo  bool
	Shop  bool
	Path  string
}

// Views are the saved filters of a list.
type Views struct {
	Here    string // the address of the list as it is shown
	Savable bool   // it is filtered, and not saved yet
	All     []View
}

// View is one of them.
type View struct {
	Word, Href string
	Current    bool
}

// Scope is an account in a mode.
type Scope struct {
	Value, Name string
	Current     bool
}

// Render sends a page. Nothing is sent before the template has run to its end,
// so an error is an error page and never half of a page.
func (s *Site) Render(w http.ResponseWriter, r *http.Request, status int, name string, page Page) {
	page.Theme, page.Demo, page.Shop, page.Path = theme(r), s.demo, s.shop, r.URL.RequestURI()
	if page.Layout == "" {
		page.Layout = "layout"
	}
	var out bytes.Buffer
	t, known := s.page(name, r, page.Language)
	err := fmt.Errorf("there is no page %q", name)
	if known {
		err = t.ExecuteTemplate(&out, page.Layout, page)
	}
	if err != nil {
		s.log.Error("render", "page", name, "error", err)
		http.Error(w, "We couldn’t render this page. See the log for the cause.", http.StatusInternalServerError)
		return
	}
	if page.May != nil {
		if err := withoutForms(&out, page.May); err != nil {
			s.log.Error("render", "page", name, "error", err)
		}
	}
	compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = out.WriteTo(w)
	})).ServeHTTP(w, r)
}

// compress sends a page as gzip to browsers that ask for it: a page of the reference has up to 120 KB. Streams and
// files do not pass through it. A page contains its own address, so an attacker who chooses the address could learn
// what else is on it from how well it compresses (BREACH). Hence the forms' token has another mask on every page,
// and padding of a random length blurs the rest.
var compress = must(gzhttp.NewWrapper(gzhttp.RandomJitter(32, 0, false), gzhttp.EnableZstd(false)))

// theme is the colors that the reader chose; "" leaves them to the system.
func theme(r *http.Request) string {
	chosen, err := r.Cookie("ratchet_theme")
	if err == nil && (chosen.Value == "light" || chosen.Value == "dark") {
		return chosen.Value
	}
	return ""
}

// StripeJS returns the files of the script that a merchant's page loads, one after the
// other. They are parts of one function, which the caller writes around them.
func StripeJS() []byte {
	var all bytes.Buffer
	for _, file := range must(fs.Glob(files, "stripejs/*.js")) {
		all.Write(must(files.ReadFile(file)))
	}
	return all.Bytes()
}

// Asset is the address of a file under static.
func (s *Site) asset(name string) (string, error) {
	if _, known := s.assets[name]; !known {
		return "", fmt.Errorf("there is no asset %q", name)
	}
	return "/assets/" + s.version + "/" + name, nil
}

var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// Assets serves /assets/{version}/{name...}. An address with another version is
// answered too, with what there is now: a page that was open while the server
// was replaced keeps working.
func (s *Site) Assets(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	content, known := s.assets[name]
	if !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", contentTypes[path.Ext(name)])
	if r.PathValue("version") == s.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	w.Header().Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		content = s.zipped[name]()
	}
	_, _ = w.Write(content)
}

// Policy is what a page may do that others may not.
type Policy struct {
	Framed   bool   // pages of ours may show it in a frame
	Embedded bool   // pages of any site may: it is a part of a merchant's page
	Leads    bool   // the response to its forms may redirect to another site's page
	App      string // the scheme of that page's address, if it may be an application's own; "" for none
}

// scheme is what RFC 3986 allows as one, in lower case. Nothing else enters the policy.
var scheme = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)

// Harden adds the security headers to every response: a page loads nothing from other
// origins, runs nothing inline, and cannot be framed.
func Harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Policy{}.Apply(w.Header())
		next.ServeHTTP(w, r)
	})
}

// Apply puts the same headers on one answer, but for what the policy allows.
func (p Policy) Apply(h http.Header) {
	ancestors, forms := "'none'", "'self'"
	switch {
	case p.Embedded:
		ancestors = "*"
	case p.Framed:
		ancestors = "'self'"
	}
	if p.Leads {
		forms = "*"
		if scheme.MatchString(p.App) {
			forms += " " + p.App + ":"
		}
	}
	h.Set("Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "+
			"form-action "+forms+"; base-uri 'none'; frame-ancestors "+ancestors+"; frame-src 'self'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
