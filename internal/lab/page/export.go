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

// exportedPicture is the picture of all pages: one for each would weigh as much as the pages.
const exportedPicture = "picture.png"

// Export writes the lab as static files that any web server can serve from any
// path: the stops, the matrix, and a page for each design with all of its runs. base is
// where they are published, or "": other sites then show no picture beside a link.
func Export(dir, base string) error {
	site := web.New(web.Config{Demo: true, Log: slog.New(slog.DiscardHandler)})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /assets/{version}/{name...}", site.Assets)
	var failed error
	handle := func(pattern string, show http.HandlerFunc) { mux.Handle(pattern, show) }
	New(Config{
		Render: site.Render,
		Static: true,
		Base:   base,
		Fail:   func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}).Routes(handle, handle)

	files := map[string]string{"index.html": "/lab", "matrix.html": "/lab/matrix"}
	for _, s := range Stops[1:] {
		files["stop-"+strconv.Itoa(s.Number)+".html"] = "/lab/" + strconv.Itoa(s.Number)
	}
	for _, d := range lab.Designs {
		files[d.Name+".html"] = "/lab/designs/" + d.Name
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
			content = besideEachOther(web.Compact(content))
		case ".js":
			content = indent.ReplaceAllString(remark.ReplaceAllString(content, ""), "\n")
		}
		for _, word := range named(name, content) {
			used[word] = true
		}
		contents[name] = content
	}
	if base != "" {
		drawn, err := asPNG(questionPicture(Stops[0]), fewColors)
		if err != nil {
			return err
		}
		contents[exportedPicture] = string(drawn)
	}
	return write(dir, contents, used)
}

// write writes the files, without the styles that no page uses. It fails if they are larger than maxExport together.
func write(dir string, contents map[string]string, used map[string]bool) error {
	size := 0
	for name, content := range contents {
		if filepath.Ext(name) == ".css" {
			content = between.ReplaceAllString(comment.ReplaceAllString(content, ""), "$1")
			content = strings.ReplaceAll(behind.ReplaceAllString(content, "$1"), ".badge", "i")
			content = onlyUsed(content, used)
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
	{regexp.MustCompile(`"/lab/runs/([a-z0-9-]+)/([a-z-]+)"`), `"$1.html#$2"`},
	{regexp.MustCompile(`"/lab/runs/([a-z0-9-]+)/"`), `"$1.html#"`},
	{regexp.MustCompile(`"/lab/designs/([a-z0-9-]+)"`), `"$1.html"`},
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
	behind  = regexp.MustCompile(`([:,])\s+`)     // before them, a space may mean a descendant
	// mark is a badge's icon. The word beside it says the same.
	// copier is the button that copies code; its script is not part of the export.
	copier = regexp.MustCompile(`(?s)<copy-button>.*?</copy-button>`)
	mark   = regexp.MustCompile(`(<span class="badge[^>]*>)<svg.*?</svg>`)
	// badge is a verdict: a short element takes its place, in the style sheet, too.
	badge = regexp.MustCompile(`<span class="badge ([a-z]+)">(\w+)</span>`)
	// digits are numbers and times: a short element is in the same type.
	digits = regexp.MustCompile(`<span class="mono">([\d./ s]+)</span>`)
)

var (
	words = regexp.MustCompile(`[\w-]+`)
	rule  = regexp.MustCompile(`([^{};]+)\{([^{}]*)\}`)
	// class is a class in a selector, or an element that the pages of the lab may not have.
	class   = regexp.MustCompile(`\.([A-Za-z][\w-]*)|\b(?:input|select|textarea|kbd|samp|fieldset|legend|tfoot)\b`)
	empty   = regexp.MustCompile(`@[\w -]+(?:\([^{}]*\))?\{\}`) // a group whose rules are left out
	quoted  = regexp.MustCompile(`"[^"\n]*"`)
	classes = regexp.MustCompile(` class="?([\w -]+)`)
	// bare are attributes whose value needs no quotes: no slash follows it.
	bare = regexp.MustCompile(`( [a-z-]+)="([\w.#-]+)"([ >])`)
)

// named are the classes that a file of the export names. Those of a script are in its strings.
func named(name, content string) (all []string) {
	switch filepath.Ext(name) {
	case ".js":
		for _, text := range quoted.FindAllString(content, -1) {
			all = append(all, words.FindAllString(text, -1)...)
		}
	case ".html":
		for _, attribute := range classes.FindAllStringSubmatch(content, -1) {
			all = append(all, strings.Fields(attribute[1])...)
		}
	}
	return all
}

// onlyUsed leaves out the rules of a style sheet that are only for classes that no page has.
func onlyUsed(css string, used map[string]bool) string {
	unused := func(selector string) bool {
		return slices.ContainsFunc(class.FindAllStringSubmatch(selector, -1), func(named []string) bool {
			return !used[named[1]]
		})
	}
	return empty.ReplaceAllString(rule.ReplaceAllStringFunc(css, func(text string) string {
		selectors := strings.Split(rule.FindStringSubmatch(text)[1], ",")
		if slices.IndexFunc(selectors, func(s string) bool { return !unused(s) }) < 0 {
			return ""
		}
		return text
	}), "")
}

// besideEachOther turns links between addresses into links between files of one directory.
func besideEachOther(html string) string {
	for _, a := range addresses {
		html = a.from.ReplaceAllString(html, a.to)
	}
	html = badge.ReplaceAllString(mark.ReplaceAllString(html, "$1"), "<i class=$1>$2</i>")
	html = digits.ReplaceAllString(copier.ReplaceAllString(html, ""), "<b>$1</b>")
	// no attribute has single quotes around it
	html = strings.ReplaceAll(html, "&#39;", "'")
	// a browser loads no module from a file
	html = strings.ReplaceAll(html, `<script type="module"`, "<script defer")
	before, code, is := strings.Cut(html, "<pre") // its indentation stays
	if !is {
		return smaller(html)
	}
	code, behind, _ := strings.Cut(code, "</pre>")
	return smaller(before) + "<pre" + strings.ReplaceAll(code, "&#34;", `"`) + "</pre>" + smaller(behind)
}

// optional are end tags that HTML does not need where the next element begins.
var optional = strings.NewReplacer("</li><li", "<li", "</td><td", "<td", "</th><td", "<td", "</th><th", "<th",
	"</tr><tr", "<tr", "</td></tr><tr", "<tr")

// smaller leaves out what HTML does not need.
func smaller(html string) string {
	html = optional.Replace(indent.ReplaceAllString(html, "\n"))
	for range 2 { // a match takes the space before the next attribute
		html = bare.ReplaceAllString(html, "$1=$2$3")
	}
	return html
}
