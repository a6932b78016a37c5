package page_test

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	_ "image/png"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/internal/lab/page"
	"github.com/ratchet-pay/ratchet/web"
	"github.com/ratchet-pay/ratchet/web/webtest"
)

// once is a lab that has run one order.
type once struct{ run lab.Run }

func (o once) Run(_ context.Context, designs []string, fault string, _ lab.Settings) ([]page.Ran, error) {
	if designs[0] != o.run.Design || fault != o.run.Fault {
		return nil, errors.New("the lab is out of order")
	}
	return []page.Ran{{ID: "run_1", Run: o.run}}, nil
}

func (o once) Keep(context.Context, string) (string, error) { return "run_1", nil }

func (o once) StartMatrix(context.Context) (string, error) { return "matrix_1", nil }

func (o once) Matrix(_ context.Context, id string) (page.Progress, error) {
	if id != "matrix_1" {
		return page.Progress{}, page.ErrNoRun
	}
	return page.Progress{Of: 156, MS: 2500, Done: []page.Ran{{ID: "run_1", Run: o.run}}}, nil
}

func (o once) Find(_ context.Context, id string) (lab.Run, error) {
	if id != "run_1" {
		return lab.Run{}, page.ErrNoRun
	}
	return o.run, nil
}

func serve(t *testing.T, live page.Live) http.Handler {
	t.Helper()
	site := web.New(web.Config{Demo: true, Log: slog.New(slog.DiscardHandler)})
	mux := http.NewServeMux()
	handle := func(pattern string, show http.HandlerFunc) { mux.Handle(pattern, show) }
	page.New(page.Config{Render: site.Render, Live: live, Fail: func(
		w http.ResponseWriter, _ *http.Request, err error,
	) {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}}).Routes(handle, handle)
	return mux
}

func get(t *testing.T, h http.Handler, path string) (status int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	body, err := webtest.Read(w.Result())
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, body
}

func TestPages(t *testing.T) {
	t.Parallel()
	h := serve(t, nil)

	t.Run("each stop's answer is what its last design came to", func(t *testing.T) {
		t.Parallel()
		recorded, err := lab.Recorded()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Stops {
			run, is := recorded.Find(s.Designs[len(s.Designs)-1], s.Fault)
			charged := map[int]string{0: "0", 1: "1", 2: "2"}[run.Charged]
			if run.Answer != lab.Paid {
				charged = "stuck"
			}
			if !is || charged != s.Answer {
				t.Errorf("stop %d says %q, and the run is %q", s.Number, s.Answer, run.Cell())
			}
		}
	})

	t.Run("every run has a page, a trace that is the run, and a picture that is XML", func(t *testing.T) {
		t.Parallel()
		for _, d := range lab.Designs {
			for _, f := range lab.Faults {
				if !f.Strikes(d) {
					continue
				}
				address := "/lab/runs/" + d.Name + "/" + f.Name
				status, body := get(t, h, address)
				if status != http.StatusOK || !strings.Contains(body, f.Story[:10]) {
					t.Errorf("%s: %d", address, status)
				}
				_, trace := get(t, h, address+".ndjson")
				runs, err := lab.Read(strings.NewReader(trace))
				if err != nil || len(runs) != 1 || runs[0].Design != d.Name || runs[0].Fault != f.Name ||
					len(runs[0].Events) < 5 {
					t.Errorf("%s.ndjson: %d runs, %v", address, len(runs), err)
				}
				if every := strings.TrimPrefix(f.Name, "queue-"); slices.Contains(
					[]string{"answer-not-recorded", "stopped", "redelivered", "bank-timeout"}, every,
				) { // together they have all marks
					_, drawn := get(t, h, address+".png")
					size, form, err := image.DecodeConfig(strings.NewReader(drawn))
					if err != nil || form != "png" || size.Width != 1200 || size.Height != 630 {
						t.Errorf("%s.png: %+v, %v", address, size, err)
					}
				}
				_, picture := get(t, h, address+".svg")
				for tokens := xml.NewDecoder(strings.NewReader(picture)); err == nil; {
					_, err = tokens.Token()
				}
				if !errors.Is(err, io.EOF) || !strings.Contains(picture, "the bank says") {
					t.Errorf("%s.svg: %v", address, err)
				}
			}
		}
	})

	t.Run("each page has a picture for other sites: a run, its question, or the matrix", func(t *testing.T) {
		t.Parallel()
		for address, want := range map[string]string{
			"/lab": "/lab/1.png", "/lab/7": "/lab/7.png", "/lab/matrix": "/lab/matrix.png",
			"/lab/designs/inbox": "/lab/runs/inbox/queue-answer-not-recorded.png",
		} {
			_, body := get(t, h, address)
			if !strings.Contains(body, `"og:image" content="http://example.com`+want+`"`) {
				t.Errorf("%s has no picture %s", address, want)
			}
			status, drawn := get(t, h, want)
			if _, _, err := image.Decode(strings.NewReader(drawn)); status != http.StatusOK || err != nil {
				t.Errorf("%s: %d, %v", want, status, err)
			}
		}
	})

	t.Run("a run says to other sites what it is, with the picture's whole address", func(t *testing.T) {
		t.Parallel()
		_, body := get(t, h, "/lab/runs/naive/answer-not-recorded")
		for _, part := range []string{`"og:title" content="Naive: Bank answered, not recorded · Ratchet"`,
			`"og:image" content="http://example.com/lab/runs/naive/answer-not-recorded.png"`,
			`"og:description" content="Our books say 1, the bank says 2. The process is killed`} {
			if !strings.Contains(body, part) {
				t.Errorf("it does not say %s", part)
			}
		}
	})

	t.Run("what is not there is not found", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{"/lab/8.png", "/lab/1.svg", "/lab/matrix.svg",
			"/lab/0", "/lab/8", "/lab/x", "/lab/designs/x", "/lab/runs/naive/x",
			"/lab/runs/x/none.svg", "/lab/live/run_1"} {
			if status, _ := get(t, h, path); status != http.StatusNotFound {
				t.Errorf("%s: %d", path, status)
			}
		}
	})

	t.Run("nothing is offered to be run where there is no lab", func(t *testing.T) {
		t.Parallel()
		if _, body := get(t, h, "/lab/runs/naive/none"); strings.Contains(body, "Run it for real") {
			t.Error("there is a button")
		}
	})
}

func TestRunForReal(t *testing.T) {
	t.Parallel()
	h := serve(t, once{lab.Run{Design: "naive", Fault: "none", Charged: 3, Booked: 1, Answer: lab.Paid, Amount: 2001,
		Events: []lab.Event{{Kind: lab.Sends, PID: 4711, N: 1}, {US: 9, Kind: lab.Concludes}}}})
	post := func(design string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/lab/runs",
			strings.NewReader(url.Values{"design": {design}, "fault": {"none"}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	w := post("naive")
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/lab/live/run_1" {
		t.Fatalf("%d, to %q", w.Code, w.Header().Get("Location"))
	}
	_, body := get(t, h, "/lab/live/run_1")
	if !strings.Contains(body, "Our books say 1, the bank says 3.") || !strings.Contains(body, "4711") {
		t.Errorf("the run is not shown:\n%s", body)
	}
	if status, _ := get(t, h, "/lab/live/run_2"); status != http.StatusNotFound {
		t.Errorf("a run that was never made: %d", status)
	}
	if w := post("ratchet"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a lab that is out of order: %d", w.Code)
	}
	matrix := httptest.NewRecorder()
	h.ServeHTTP(matrix, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/lab/matrix", nil))
	if to := matrix.Header().Get("Location"); to != "/lab/matrix/matrix_1" {
		t.Errorf("the matrix is at %q", to)
	}
	_, body = get(t, h, "/lab/matrix/matrix_1")
	for _, part := range []string{"1 of 156 runs after 2.5 s.", "0 of 1 cells came out as recorded", "Not as recorded",
		`every="1000"`, `href="/lab/live/run_1"`} {
		if !strings.Contains(body, part) {
			t.Errorf("a matrix that runs does not say %q", part)
		}
	}
	if status, _ := get(t, h, "/lab/matrix/matrix_2"); status != http.StatusNotFound {
		t.Errorf("a matrix that never ran: %d", status)
	}
	if w := post("nothing"); w.Code != http.StatusNotFound {
		t.Errorf("a design that there is not: %d", w.Code)
	}
}

var (
	linked = regexp.MustCompile(` (?:href|src)="?([^"#> ]*)(?:#([^"> ]+))?`)
	letter = regexp.MustCompile(`^[a-z0-9.-]+$`)
)

func TestExport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := page.Export(dir, "https://example.com/lab/"); err != nil { // it refuses to be too large
		t.Fatal(err)
	}
	for _, d := range lab.Designs {
		text, err := os.ReadFile(filepath.Join(dir, d.Name+".html"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range lab.Faults {
			picture := regexp.MustCompile(` id=` + f.Name + `>[^<]*</p><svg width=\d+ height=\d+>(<path[^>]+/>)+</svg>`)
			if f.Strikes(d) != picture.Match(text) {
				t.Errorf("the page of %s: a picture under the link to %s: %v", d.Name, f.Name, !f.Strikes(d))
			}
		}
	}
	for _, s := range page.Stops {
		name := "index.html"
		if s.Number > 1 {
			name = fmt.Sprintf("stop-%d.html", s.Number)
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		question, _, _ := strings.Cut(string(text), "<lab-question")
		for _, of := range s.Designs {
			if d, _ := lab.FindDesign(of); !strings.Contains(question, d.Idea) {
				t.Errorf("%s asks about %s, and does not say what it does", name, of)
			}
		}
	}
	file, err := os.Open(filepath.Join(dir, "picture.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if size, form, err := image.DecodeConfig(file); form != "png" || size.Width != 1200 {
		t.Errorf("the picture for other sites: %+v, %v", size, err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.html"))
	if err != nil || len(pages) != len(page.Stops)+1+len(lab.Designs) {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, file := range pages {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "<form") {
			t.Errorf("%s has a form, and there is no server", filepath.Base(file))
		}
		if strings.Contains(string(text), `type="module"`) || strings.Contains(string(text), "type=module") {
			t.Errorf("%s has a module, which a browser loads from no file", filepath.Base(file))
		}
		if !strings.Contains(string(text), `property="og:title"`) || !strings.Contains(string(text), "og:description") {
			t.Errorf("%s does not say to other sites what it is", filepath.Base(file))
		}
		if !strings.Contains(string(text), `property="og:image" content="https://example.com/lab/picture.png"`) {
			t.Errorf("%s has no picture for other sites", filepath.Base(file))
		}
		if strings.Contains(string(text), "badge") {
			t.Errorf("%s has a badge, for which the style sheet has no rule", filepath.Base(file))
		}
		for _, link := range linked.FindAllStringSubmatch(string(text), -1) {
			to, fragment := link[1], link[2]
			if to == "" {
				continue
			}
			target, err := os.ReadFile(filepath.Join(dir, to))
			if err != nil || !letter.MatchString(to) ||
				fragment != "" && !strings.Contains(string(target), `id=`+fragment+`>`) {
				t.Errorf("%s leads to %s, which is not there", filepath.Base(file), link[0])
			}
		}
	}
}
