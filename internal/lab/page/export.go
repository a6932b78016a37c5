package page

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/web"
)

// maxExport is how much all files of an export may weigh together.
const maxExport = 300_000

// Export writes the lab as static files that any web server can serve from any
// path: the stops, the matrix, and a page for each design with all of its runs.
func Export(dir string) error {
	site := web.New(web.Config{Demo: true, Log: slog.New(slog.DiscardHandler)})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /assets/{version}/{name...}", site.Assets)
	var failed error
	handle := func(pattern string, show http.HandlerFunc) { mux.Handle(pattern, show) }
	New(Config{
		Render: site.Render,
		Static: true,
		Fail:   func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}).Routes(handle, handle)

	files := map[string]string{"index.html": "/lab", "matrix.html": "/lab/matrix"}
	for _, s := range Stops[1:] {
		files["stop-"+strconv.Itoa(s.Number)+".html"] = "/lab/" + strconv.Itoa(s.Number)
	}
	for _, d := range lab.Designs {
		files["design-"+d.Name+".html"] = "/lab/designs/" + d.Name
	}
	for _, name := range []string{"lab-site.css", "lab.js", "favicon.svg"} {
		files[name] = "/assets/-/" + name
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	contents, used := map[string]string{}, map[string]bool{}
	for name, path := range files {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusOK || failed != nil {
			return errors.Join(fmt.Errorf("export %s: %d", path, w.Code), failed)
		}
		content := w.Body.String()
		switch filepath.Ext(name) {
		case ".html":
			content = besideEachOther(content)
		case ".js":
			content = indent.ReplaceAllString(remark.ReplaceAllString(content, ""), "\n")
		}
		if filepath.Ext(name) != ".css" {
			for _, word := range words.FindAllString(content, -1) {
				used[word] = true
			}
		}
		contents[name] = content
	}
	size := 0
	for name, content := range contents {
		if filepath.Ext(name) == ".css" {
			content = onlyUsed(between.ReplaceAllString(comment.ReplaceAllString(content, ""), "$1"), used)
		}
		size += len(content)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	if size > maxExport {
		return fmt.Errorf("the export has %d bytes, and may have %d", size, maxExport)
	}
	return nil
}

// addresses of pages, and the files they become.
var addresses = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`"/assets/[0-9a-f]+/([^"]+)"`), `"$1"`},
	{regexp.MustCompile(`"/lab/runs/([a-z0-9-]+)/([a-z-]+)"`), `"design-$1.html#$2"`},
	{regexp.MustCompile(`"/lab/runs/([a-z0-9-]+)/"`), `"design-$1.html#"`},
	{regexp.MustCompile(`"/lab/designs/([a-z0-9-]+)"`), `"design-$1.html"`},
	{regexp.MustCompile(`"/lab/matrix"`), `"matrix.html"`},
	{regexp.MustCompile(`"/lab/1"`), `"index.html"`},
	{regexp.MustCompile(`"/lab/([0-9]+)"`), `"stop-$1.html"`},
	{regexp.MustCompile(`"/lab"`), `"index.html"`},
}

var (
	remark  = regexp.MustCompile(`(?m)^\s*//.*\n`) // in a script
	indent  = regexp.MustCompile(`\n\s+`)
	comment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	between = regexp.MustCompile(`\s*([{};])\s*`) // the parts of a style sheet
	// mark is a badge's icon. The word beside it says the same.
	// copier is the button that copies code; its script is not part of the export.
	copier = regexp.MustCompile(`(?s)<copy-button>.*?</copy-button>`)
	mark   = regexp.MustCompile(`(<span class="badge[^>]*>)<svg.*?</svg>`)
)

var (
	words = regexp.MustCompile(`[\w-]+`)
	rule  = regexp.MustCompile(`([^{};]+)\{([^{}]*)\}`)
	class = regexp.MustCompile(`\.([A-Za-z][\w-]*)`)
	// bare are attributes whose value needs no quotes: no slash follows it.
	bare = regexp.MustCompile(`( (?:class|scope|rel|type|data-[a-z]+|[xyr]|[xyc][xy12]|width))="([\w.-]+)"([ >])`)
)

// onlyUsed leaves out the rules of a style sheet that are only for classes that no page has.
func onlyUsed(css string, used map[string]bool) string {
	unused := func(selector string) bool {
		return slices.ContainsFunc(class.FindAllStringSubmatch(selector, -1), func(named []string) bool {
			return !used[named[1]]
		})
	}
	return rule.ReplaceAllStringFunc(css, func(text string) string {
		selectors := strings.Split(rule.FindStringSubmatch(text)[1], ",")
		if slices.IndexFunc(selectors, func(s string) bool { return !unused(s) }) < 0 {
			return ""
		}
		return text
	})
}

// besideEachOther turns links between addresses into links between files of one directory.
func besideEachOther(html string) string {
	for _, a := range addresses {
		html = a.from.ReplaceAllString(html, a.to)
	}
	html = copier.ReplaceAllString(html, "")
	before, code, is := strings.Cut(html, "<pre") // its indentation stays
	if !is {
		return smaller(html)
	}
	code, behind, _ := strings.Cut(code, "</pre>")
	return smaller(before) + "<pre" + strings.NewReplacer("&#34;", `"`, "&#39;", "'").
		Replace(code) + "</pre>" + smaller(behind)
}

// optional are end tags that HTML does not need where the next element begins.
var optional = strings.NewReplacer("</li><li", "<li", "</td><td", "<td", "</th><td", "<td", "</th><th", "<th",
	"</tr><tr", "<tr", "</td></tr><tr", "<tr")

// smaller leaves out what HTML does not need.
func smaller(html string) string {
	html = optional.Replace(indent.ReplaceAllString(mark.ReplaceAllString(html, "$1"), "\n"))
	for range 2 { // a match takes the space before the next attribute
		html = bare.ReplaceAllString(html, "$1=$2$3")
	}
	return html
}
