// Package page shows the lab to people: seven stops with a question each, the
// matrix, and a page for every run. The runs are the recorded ones; where a lab can
// be reached, each can be run again for real.
package page

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/web"
)

// Config is what the pages need.
type Config struct {
	// Render sends a page.
	Render func(w http.ResponseWriter, r *http.Request, status int, name string, page web.Page)
	// Fail sends an error.
	Fail func(w http.ResponseWriter, r *http.Request, err error)
	// Static is for pages that stand alone, without a server: nothing leads out of the lab.
	Static bool
	// Live is a lab that runs orders for real; nil if there is none.
	Live Live
}

// Live is a lab that runs orders for real, and keeps the runs.
type Live interface {
	// Run takes an order through a design under a fault and returns the run's id.
	Run(ctx context.Context, design, fault string) (id string, err error)
	// Find returns a run by its id.
	Find(ctx context.Context, id string) (lab.Run, error)
}

// ErrNoRun says that there is no run of an id.
var ErrNoRun = errors.New("there is no such run")

// Pages are the lab's pages.
type Pages struct {
	Config
	matrix lab.Matrix
}

// New reads the recorded matrix. It panics if there is none, which no binary that
// passed its tests contains.
func New(c Config) *Pages {
	matrix, err := lab.Recorded()
	if err != nil {
		panic(fmt.Sprintf("lab: %v", err))
	}
	return &Pages{c, matrix}
}

// Routes hands every page of the lab to handle, with the pattern of its address.
// forms are the addresses that change something.
func (p *Pages) Routes(handle, forms func(pattern string, page http.HandlerFunc)) {
	handle("GET /lab", p.stop)
	handle("GET /lab/{stop}", p.stop)
	handle("GET /lab/matrix", p.showMatrix)
	handle("GET /lab/free", p.free)
	handle("GET /lab/designs/{design}", p.design)
	handle("GET /lab/runs/{design}/{fault}", p.recorded)
	handle("GET /lab/live/{id}", p.live)
	forms("POST /lab/runs", p.postRun)
}

func (p *Pages) render(w http.ResponseWriter, r *http.Request, name string, page web.Page) {
	if p.Static {
		page.Layout = "alone"
	}
	p.Render(w, r, http.StatusOK, name, page)
}

// Lane is a run as it is shown.
type Lane struct {
	Design  lab.Design
	Fault   lab.Fault
	Run     lab.Run
	Figure  template.HTML
	Log     []line
	Live    bool // it can be run for real
	Address string
}

// line is an event in words.
type line struct {
	Seconds string
	Text    string
	Kind    lab.Kind
}

func (p *Pages) lane(r lab.Run) Lane {
	d, _ := lab.FindDesign(r.Design)
	f, _ := lab.FindFault(r.Fault)
	l := Lane{
		Design:  d,
		Fault:   f,
		Run:     r,
		Figure:  figure(r),
		Live:    p.Live != nil,
		Address: "/lab/runs/" + r.Design + "/" + r.Fault,
	}
	for _, e := range r.Events {
		l.Log = append(l.Log, line{strconv.FormatFloat(float64(e.US)/1e6, 'f', 3, 64), r.Sentence(e), e.Kind})
	}
	return l
}

// Doc is the address of the document about the design, without the first slash.
func (l Lane) Doc() string { return strings.TrimSuffix(l.Design.Page, ".md") }

// Badge is the verdict in a word, with a shape and a tone.
func (l Lane) Badge() web.Badge { return badges[l.Run.Verdict()] }

var badges = map[lab.Verdict]web.Badge{
	lab.Right: {Tone: "good", Icon: "check", Word: "Right"},
	lab.Twice: {Tone: "bad", Icon: "warning", Word: "Twice"},
	lab.Lost:  {Tone: "bad", Icon: "question", Word: "Lost"},
	lab.Stuck: {Tone: "warn", Icon: "clock", Word: "Stuck"},
	lab.Wrong: {Tone: "bad", Icon: "cross", Word: "Wrong"},
}

// Recorded is the recorded run of a design under a fault, for other pages.
func (p *Pages) Recorded(design, fault string) Lane {
	run, _ := p.matrix.Find(design, fault)
	return p.lane(run)
}

type stopPage struct {
	Stop
	Fault    lab.Fault
	Lanes    []Lane
	Choices  []string
	Of       int
	Minutes  int  // until the last stop
	Alone    bool // there is no sandbox to skip to
	Previous int  // 0 at the first
	Next     int  // 0 at the last
	Stops    []Stop
}

func (p *Pages) stop(w http.ResponseWriter, r *http.Request) {
	number := 1
	if text := r.PathValue("stop"); text != "" {
		var err error
		number, err = strconv.Atoi(text)
		if err != nil || number < 1 || number > len(Stops) {
			p.missing(w, r)
			return
		}
	}
	stop := Stops[number-1]
	fault, _ := lab.FindFault(stop.Fault)
	page := stopPage{
		Stop:     stop,
		Fault:    fault,
		Choices:  answers,
		Of:       len(Stops),
		Minutes:  (len(Stops)-number)/2 + 1,
		Alone:    p.Static,
		Previous: number - 1,
		Stops:    Stops,
	}
	if number < len(Stops) {
		page.Next = number + 1
	}
	for _, name := range stop.Designs {
		run, _ := p.matrix.Find(name, stop.Fault)
		page.Lanes = append(page.Lanes, p.lane(run))
	}
	p.render(w, r, "lab/stop", web.Page{Title: stop.Title, Here: "lab", Data: page})
}

type matrixPage struct {
	Designs []lab.Design
	Rows    []matrixRow
}

type matrixRow struct {
	Fault lab.Fault
	Cells []Lane
}

func (p *Pages) showMatrix(w http.ResponseWriter, r *http.Request) {
	page := matrixPage{Designs: lab.Designs}
	for _, f := range lab.Faults {
		row := matrixRow{Fault: f}
		for _, d := range lab.Designs {
			run, _ := p.matrix.Find(d.Name, f.Name)
			row.Cells = append(row.Cells,
				Lane{Design: d, Fault: f, Run: run, Address: "/lab/runs/" + d.Name + "/" + f.Name})
		}
		page.Rows = append(page.Rows, row)
	}
	p.render(w, r, "lab/matrix", web.Page{Title: "The matrix", Here: "lab", Data: page})
}

type freePage struct {
	Designs []lab.Design
	Faults  []lab.Fault
	Fault   lab.Fault
	Chosen  map[string]bool
	Lanes   []Lane
}

// free shows any designs under any fault, one above the other.
func (p *Pages) free(w http.ResponseWriter, r *http.Request) {
	fault, known := lab.FindFault(r.FormValue("fault"))
	if !known {
		fault, _ = lab.FindFault("answer-not-recorded")
	}
	page := freePage{Designs: lab.Designs, Faults: lab.Faults, Fault: fault, Chosen: map[string]bool{}}
	for _, name := range r.URL.Query()["design"] {
		page.Chosen[name] = true
	}
	if len(page.Chosen) == 0 {
		page.Chosen = map[string]bool{"naive": true, "ratchet": true}
	}
	for _, d := range lab.Designs {
		if run, is := p.matrix.Find(d.Name, fault.Name); is && page.Chosen[d.Name] {
			page.Lanes = append(page.Lanes, p.lane(run))
		}
	}
	p.render(w, r, "lab/free", web.Page{Title: "Sandbox", Here: "lab", Data: page})
}

type designPage struct {
	Design lab.Design
	Page   string // the address of the document about it, without the first slash
	Source string
	Alone  bool       // there are no pages of runs
	Same   lab.Design // the design on whose page the same code is shown, if it is not this one
	Lanes  []Lane
}

// details are events that the page of a run has, and a brief log leaves out.
var details = []lab.Kind{lab.Statement, lab.AsksStore, lab.BankAnswers, lab.Answers}

func brief(log []line) []line {
	return slices.DeleteFunc(log, func(l line) bool { return slices.Contains(details, l.Kind) })
}

// design shows one design under all faults.
func (p *Pages) design(w http.ResponseWriter, r *http.Request) {
	d, known := lab.FindDesign(r.PathValue("design"))
	if !known {
		p.missing(w, r)
		return
	}
	page := designPage{Design: d, Source: d.Source(), Alone: p.Static}
	first := lab.Designs[slices.IndexFunc(lab.Designs, func(o lab.Design) bool { return o.Code == d.Code })]
	if first.Name != d.Name {
		page.Source, page.Same = "", first
	}
	if !p.Static {
		page.Page = strings.TrimSuffix(d.Page, ".md")
	}
	for _, f := range lab.Faults {
		run, _ := p.matrix.Find(d.Name, f.Name)
		l := p.lane(run)
		l.Log = brief(l.Log)
		page.Lanes = append(page.Lanes, l)
	}
	p.render(w, r, "lab/design", web.Page{Title: d.Title, Here: "lab", Data: page})
}

type runPage struct {
	Lane   Lane
	Source string
	Real   bool // it was run here, just now or earlier
}

// recorded shows a run of the matrix, as a page, a trace or a picture.
func (p *Pages) recorded(w http.ResponseWriter, r *http.Request) {
	fault, form := cutForm(r.PathValue("fault"))
	run, known := p.matrix.Find(r.PathValue("design"), fault)
	if !known {
		p.missing(w, r)
		return
	}
	p.show(w, r, run, form, false)
}

// live shows a run that was made here.
func (p *Pages) live(w http.ResponseWriter, r *http.Request) {
	if p.Live == nil {
		p.missing(w, r)
		return
	}
	id, form := cutForm(r.PathValue("id"))
	run, err := p.Live.Find(r.Context(), id)
	if errors.Is(err, ErrNoRun) {
		p.missing(w, r)
		return
	}
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	p.show(w, r, run, form, true)
}

// liveTime bounds a run, with the lab being built and started before it.
const liveTime = 2 * time.Minute

func (p *Pages) postRun(w http.ResponseWriter, r *http.Request) {
	design, known := lab.FindDesign(r.PostFormValue("design"))
	fault, knownToo := lab.FindFault(r.PostFormValue("fault"))
	if p.Live == nil || !known || !knownToo {
		p.missing(w, r)
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(liveTime)) // the default is for pages
	ctx, cancel := context.WithTimeout(r.Context(), liveTime)
	defer cancel()
	id, err := p.Live.Run(ctx, design.Name, fault.Name)
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	http.Redirect(w, r, "/lab/live/"+id, http.StatusSeeOther)
}

func (p *Pages) show(w http.ResponseWriter, r *http.Request, run lab.Run, form string, isLive bool) {
	l := p.lane(run)
	switch form {
	case ".ndjson":
		w.Header().Set("Content-Type", "application/x-ndjson")
		_ = run.Write(w) // a reader that has gone wants nothing more
	case ".svg":
		w.Header().Set("Content-Type", "image/svg+xml")
		_, _ = w.Write(picture(l))
	default:
		if isLive {
			l.Address = r.URL.Path
		}
		p.render(w, r, "lab/run", web.Page{Title: l.Design.Title + ": " + l.Fault.Title, Here: "lab",
			Data: runPage{Lane: l, Source: l.Design.Source(), Real: isLive}})
	}
}

// cutForm cuts the ending off an address that says which form of a run is wanted.
func cutForm(name string) (bare, form string) {
	for _, form := range []string{".ndjson", ".svg"} {
		if n := len(name) - len(form); n > 0 && name[n:] == form {
			return name[:n], form
		}
	}
	return name, ""
}

type missing struct{ Heading, Text, Href, Way string }

func (p *Pages) missing(w http.ResponseWriter, r *http.Request) {
	p.Render(w, r, http.StatusNotFound, "dashboard/problem", web.Page{Title: "Not found", Here: "lab",
		Data: missing{"Page not found", "The lab has seven stops and a matrix.", "/lab/matrix", "Open the matrix"}})
}
