// Package page shows the lab to people: seven stops with a question each, the
// matrix, and a page for every run. The runs are the recorded ones; where a lab can
// be reached, each can be run again for real.
package page

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"regexp"
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
	// HTTPS says that readers reach the site over TLS.
	HTTPS bool
	// Base is where a static site is published, with a slash at its end; "": its pages have no
	// picture for other sites, which take no address without a host.
	Base string
	// Live is a lab that runs orders for real; nil if there is none.
	Live Live
}

// Live is a lab that runs orders for real, and keeps the runs.
type Live interface {
	// Run takes an order through each of the designs under a fault, beside each other.
	Run(ctx context.Context, designs []string, fault string, s lab.Settings) ([]Ran, error)
	// Find returns a run by its id.
	Find(ctx context.Context, id string) (lab.Run, error)
	// Keep keeps the trace of a run that was made elsewhere, and returns its id.
	Keep(ctx context.Context, trace string) (id string, err error)
	// StartMatrix begins to run every design under every fault.
	StartMatrix(ctx context.Context) (id string, err error)
	// Matrix says how far that is.
	Matrix(ctx context.Context, id string) (Progress, error)
}

// ErrNoRun says that there is no run of an id.
var ErrNoRun = errors.New("run not found")

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
	handle("GET /lab/matrix/{id}", p.liveMatrix)
	handle("GET /lab/free", p.free)
	handle("GET /lab/designs/{design}", p.design)
	handle("GET /lab/runs/{design}/{fault}", p.recorded)
	handle("GET /lab/live/{id}", p.live)
	forms("POST /lab/runs", p.postRuns)
	forms("POST /lab/matrix", p.postMatrix)
	forms("POST /lab/traces", p.postTrace)
}

func (p *Pages) render(w http.ResponseWriter, r *http.Request, name string, page web.Page) {
	switch {
	case p.Static:
		page.Layout, page.Picture = "alone", ""
		if p.Base != "" {
			page.Picture = p.Base + exportedPicture
		}
	case page.Picture != "":
		page.Picture = p.base(r) + page.Picture
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
	Source  []sourceLine // the design's code; nil where it is not shown
	Live    bool         // it can be run for real
	Address string
}

// line is an event in words.
type line struct {
	Seconds string
	Text    string
	Kind    lab.Kind
	Code    int         // the line of the source that the process is at; 0: none
	Tables  []lab.Table // as they are from then on; nil: as they were
	Fault   string      // the one that kills here; "": none does
}

// sourceLine is a line of a design's code.
type sourceLine struct {
	N    int
	Text string
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
	for n, e := range r.Events {
		l.Log = append(l.Log, line{strconv.FormatFloat(float64(e.US)/1e6, 'f', 3, 64), r.Sentence(e), e.Kind,
			r.LineOf(n), e.Tables, killsAt(d, e)})
	}
	return l
}

// withSource adds the design's code.
func (l Lane) withSource() Lane {
	text := strings.TrimSuffix(l.Design.Source(), "\n")
	if text == "" {
		return l
	}
	for n, of := range strings.Split(text, "\n") {
		l.Source = append(l.Source, sourceLine{n + 1, of})
	}
	return l
}

// kills are the faults that end a process at an event.
var kills = map[lab.Kind]string{lab.CallsBank: "before-bank", lab.Charges: "while-charging",
	lab.BankAnswers: "answer-not-recorded", lab.Answers: "answer-not-sent", lab.Acks: "queue-before-ack"}

// killsAt is the fault that kills the design's process at an event, or "".
func killsAt(d lab.Design, e lab.Event) string {
	f, known := lab.FindFault(kills[e.Kind])
	if !known {
		return ""
	}
	own, ok := f.For(d)
	if !ok {
		return ""
	}
	return own.Name
}

// Doc is the address of the document about the design, without the first slash.
func (l Lane) Doc() string { return strings.TrimSuffix(l.Design.Page, ".md") }

// Took is how long the run took, in seconds.
func (l Lane) Took() string { return strconv.FormatFloat(float64(l.Run.MS)/1000, 'f', 1, 64) }

// HasTables says whether the run shows its tables.
func (l Lane) HasTables() bool {
	return slices.ContainsFunc(l.Log, func(l line) bool { return l.Tables != nil })
}

// Small is the figure for a place with half the width.
func (l Lane) Small() template.HTML { return smallFigure(l.Run) }

// Strip is the picture of the run on a page that has many.
func (l Lane) Strip() template.HTML { return strip(l.Run) }

// Ended says how the run ended for the client or the broker, and after how much time.
func (l Lane) Ended() string {
	ended := ""
	for _, e := range l.Run.Events {
		after := " after " + elapsed(e.US)
		switch {
		case (e.Kind == lab.Receives || e.Kind == lab.WorkerReceives) && e.What == "200":
			ended = "Paid" + after
		case e.Kind == lab.GivesUp:
			ended = "The client gave up" + after
		case e.Kind == lab.Acks:
			ended = "Acknowledged" + after
		case e.Kind == lab.BrokerEnds && lab.Answer(e.What) == lab.GivenUp:
			ended = "The broker gave up" + after
		}
	}
	return ended
}

// Last is the time of the last event, in seconds.
func (l Lane) Last() string {
	if len(l.Log) == 0 {
		return ""
	}
	return l.Log[len(l.Log)-1].Seconds
}

// Badge is the verdict in a word, with a shape and a tone.
func (l Lane) Badge() web.Badge { return badges[l.Run.Verdict()] }

var badges = map[lab.Verdict]web.Badge{
	lab.Right: {Tone: "good", Icon: "check", Word: "Right"},
	lab.Twice: {Tone: "bad", Icon: "warning", Word: "Twice"},
	lab.Lost:  {Tone: "bad", Icon: "question", Word: "Lost"},
	lab.Stuck: {Tone: "warn", Icon: "clock", Word: "Stuck"},
	lab.Gone:  {Tone: "bad", Icon: "question", Word: "Gone"},
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
	name, form := cutForm(r.PathValue("stop"))
	if name == "matrix" && form == pngForm {
		p.sendPNG(w, r, p.matrixPicture())
		return
	}
	if name != "" {
		var err error
		number, err = strconv.Atoi(name)
		if err != nil || number < 1 || number > len(Stops) || form != "" && form != pngForm {
			p.missing(w, r)
			return
		}
	}
	stop := Stops[number-1]
	if form == pngForm {
		p.sendPNG(w, r, questionPicture(stop))
		return
	}
	fault, _ := lab.FindFault(stop.Fault)
	page := stopPage{
		Stop:     stop,
		Fault:    fault,
		Choices:  answers,
		Of:       len(Stops),
		Minutes:  max(1, (len(Stops)+1-number)/2),
		Alone:    p.Static,
		Previous: number - 1,
		Stops:    Stops,
	}
	if number < len(Stops) {
		page.Next = number + 1
	}
	for _, name := range stop.Designs {
		run, _ := p.matrix.Find(name, stop.Fault)
		l := p.lane(run)
		if p.Static { // there the page of the design has its code
			for n := range l.Log {
				l.Log[n].Code = 0
			}
		} else {
			l = l.withSource()
		}
		page.Lanes = append(page.Lanes, l)
	}
	p.render(w, r, "lab/stop", web.Page{Title: stop.Title, About: stop.Question, Here: "lab",
		Picture: "/lab/" + strconv.Itoa(number) + pngForm, Data: page})
}

type matrixPage struct {
	Tables   []matrixTable
	Live     bool
	Progress *Progress // of a matrix that is run for real; nil: the recorded one
	Seconds  string
	Right    string // the cells that came out as they are recorded, and others
}

// matrixTable is the matrix of the designs that answer requests, or of those that consume a queue.
type matrixTable struct {
	Title   string
	Designs []lab.Design
	Rows    []matrixRow
}

type matrixRow struct {
	Fault lab.Fault
	Cells []matrixCell
}

type matrixCell struct {
	Lane
	Pending bool // it has not been run yet
	Differs bool // from the recorded one
}

func (p *Pages) showMatrix(w http.ResponseWriter, r *http.Request) {
	page := matrixPage{Live: p.Live != nil, Tables: tables(func(d lab.Design, f lab.Fault) matrixCell {
		run, _ := p.matrix.Find(d.Name, f.Name)
		return matrixCell{Lane: Lane{Design: d, Fault: f, Run: run, Address: "/lab/runs/" + d.Name + "/" + f.Name}}
	})}
	p.render(w, r, "lab/matrix", web.Page{Title: "The matrix", About: matrixAbout, Here: "lab",
		Picture: "/lab/matrix" + pngForm, Data: page})
}

const matrixAbout = "The usual payment designs, killed at every step, and how often the bank charged the card."

// tables are the two tables of the matrix.
func tables(cell func(lab.Design, lab.Fault) matrixCell) []matrixTable {
	all := []matrixTable{{Title: "Servers that answer a client"}, {Title: "Consumers of a queue"}}
	for i := range all {
		queue := i == 1
		for _, d := range lab.Designs {
			if d.Queue == queue {
				all[i].Designs = append(all[i].Designs, d)
			}
		}
		for _, f := range lab.Faults {
			if f.Queue != queue {
				continue
			}
			row := matrixRow{Fault: f}
			for _, d := range all[i].Designs {
				row.Cells = append(row.Cells, cell(d, f))
			}
			all[i].Rows = append(all[i].Rows, row)
		}
	}
	return all
}

// liveMatrix shows a matrix that is run for real, while it is run and afterwards.
func (p *Pages) liveMatrix(w http.ResponseWriter, r *http.Request) {
	if p.Live == nil {
		p.missing(w, r)
		return
	}
	progress, err := p.Live.Matrix(r.Context(), r.PathValue("id"))
	if errors.Is(err, ErrNoRun) {
		p.missing(w, r)
		return
	}
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	same := 0
	page := matrixPage{Live: true, Progress: &progress, Tables: tables(func(d lab.Design, f lab.Fault) matrixCell {
		i := slices.IndexFunc(progress.Done, func(r Ran) bool {
			return r.Run.Design == d.Name && r.Run.Fault == f.Name
		})
		if i < 0 {
			return matrixCell{Lane: Lane{Design: d, Fault: f}, Pending: true}
		}
		ran := progress.Done[i]
		recorded, _ := p.matrix.Find(d.Name, f.Name)
		c := matrixCell{Lane: Lane{Design: d, Fault: f, Run: ran.Run, Address: "/lab/live/" + ran.ID},
			Differs: recorded.Cell() != ran.Run.Cell()}
		if !c.Differs {
			same++
		}
		return c
	})}
	page.Seconds = strconv.FormatFloat(float64(progress.MS)/1000, 'f', 1, 64)
	page.Right = fmt.Sprintf("%d of %d cells came out as recorded", same, len(progress.Done))
	shown := web.Page{Title: "The matrix, run for real", Here: "lab", Data: page}
	if !progress.Over {
		shown.Reload = 2
	}
	p.render(w, r, "lab/matrix", shown)
}

func (p *Pages) postMatrix(w http.ResponseWriter, r *http.Request) {
	if p.Live == nil {
		p.missing(w, r)
		return
	}
	id, err := p.Live.StartMatrix(r.Context())
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	http.Redirect(w, r, "/lab/matrix/"+id, http.StatusSeeOther)
}

type freePage struct {
	Designs []lab.Design
	Faults  []lab.Fault
	Fault   lab.Fault
	Chosen  map[string]bool
	Lanes   []Lane
	Live    bool
	Real    bool // the lanes were run for real
	Locks   []lockChoice
	Wrong   string // with what was asked for
}

type lockChoice struct {
	Seconds int
	Words   string
}

// maxLanes is how many runs the sandbox shows at once.
const maxLanes = 16

// free shows any designs under any fault, beside each other. Those that were run for
// real come by their ids.
func (p *Pages) free(w http.ResponseWriter, r *http.Request) {
	p.sandbox(w, r, "")
}

func (p *Pages) sandbox(w http.ResponseWriter, r *http.Request, wrong string) {
	fault, known := lab.FindFault(r.FormValue("fault"))
	if !known {
		fault, _ = lab.FindFault("answer-not-recorded")
	}
	page := freePage{Designs: lab.Designs, Faults: lab.Faults, Fault: fault, Chosen: map[string]bool{},
		Live: p.Live != nil, Wrong: wrong}
	for _, seconds := range lab.Locks {
		page.Locks = append(page.Locks, lockChoice{seconds, lab.LockInWords(seconds)})
	}
	for _, name := range r.Form["design"] {
		page.Chosen[name] = true
	}
	if p.Live != nil {
		for _, id := range r.Form["run"] {
			run, err := p.Live.Find(r.Context(), id)
			if err != nil || len(page.Lanes) == maxLanes {
				p.missing(w, r)
				return
			}
			l := p.lane(run)
			l.Address = "/lab/live/" + id
			page.Fault, page.Real, page.Chosen[run.Design] = l.Fault, true, true
			page.Lanes = append(page.Lanes, l)
		}
	}
	if len(page.Chosen) == 0 {
		page.Chosen = map[string]bool{"naive": true, "ratchet": true, "queue-table": fault.Queue, "inbox": fault.Queue}
	}
	if !page.Real {
		for _, c := range lab.Cases(lab.Designs, []lab.Fault{fault}, lab.Settings{}) {
			run, is := p.matrix.Find(c.Design.Name, c.Fault.Name)
			if is && page.Chosen[c.Design.Name] {
				page.Lanes = append(page.Lanes, p.lane(run))
			}
		}
	}
	p.render(w, r, "lab/free", web.Page{Title: "Sandbox", Here: "lab", Data: page, Wrong: wrong != ""})
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

// more are further events that the static pages leave out, which have to be small.
var more = []lab.Kind{lab.CallsBank, lab.Starts, lab.CutOff, lab.HangsUp, lab.GivesUp, lab.Publishes, lab.BrokerEnds,
	lab.Concludes, lab.Acks}

// said is the end of a sentence that says what the fault, or its page, has said.
var said = regexp.MustCompile(` (?:of \d, to process \d+|at the boundary “.*”)\.$`)

func (p *Pages) brief(log []line) []line {
	for n, l := range log {
		log[n].Text = strings.Replace(l.Text, "The client retries with the same key: attempt", "Attempt", 1)
		if p.Static {
			log[n].Text = said.ReplaceAllString(log[n].Text, ".")
		}
	}
	log = slices.DeleteFunc(log, func(l line) bool {
		first := l.Kind == lab.Delivered && strings.HasSuffix(l.Text, "delivery 1.") ||
			l.Kind == lab.Sends && strings.HasPrefix(l.Text, "The customer presses Pay")
		return slices.Contains(details, l.Kind) || p.Static && (first || slices.Contains(more, l.Kind))
	})
	if !p.Static {
		return log
	}
	var short []line
	for n, l := range log {
		status, answered := strings.CutPrefix(l.Text, "The client receives")
		if answered && n > 0 && log[n-1].Kind == lab.Sends {
			l.Text = strings.TrimSuffix(log[n-1].Text, ".") + " receives" + status
			short = short[:len(short)-1]
		}
		short = append(short, l)
	}
	return short
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
	if p.Static {
		page.Source = withoutImports(page.Source)
	} else {
		page.Page = strings.TrimSuffix(d.Page, ".md")
	}
	for _, f := range lab.Faults {
		run, is := p.matrix.Find(d.Name, f.Name)
		if !is {
			continue // it does not strike this design
		}
		l := p.lane(run)
		l.Log = p.brief(l.Log)
		page.Lanes = append(page.Lanes, l)
	}
	telling, _ := lab.FindFault("answer-not-recorded")
	telling, _ = telling.For(d)
	p.render(w, r, "lab/design", web.Page{Title: d.Title, About: d.Idea, Here: "lab",
		Picture: "/lab/runs/" + d.Name + "/" + telling.Name + pngForm, Data: page})
}

// withoutImports is a source file from its first declaration on.
func withoutImports(source string) string {
	_, rest, has := strings.Cut(source, "\nimport (")
	if !has {
		return source
	}
	_, rest, _ = strings.Cut(rest, "\n)\n\n")
	return rest
}

type runPage struct {
	Lane Lane
	Real bool // it was run here, just now or earlier, or brought along
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

// postRuns runs designs for real, under one fault and with the switches of the form.
func (p *Pages) postRuns(w http.ResponseWriter, r *http.Request) {
	settings, err := lab.ParseSettings(r.PostFormValue("retries"), r.PostFormValue("lock"), r.PostFormValue("store"))
	fault, known := lab.FindFault(r.PostFormValue("fault"))
	designs := r.PostForm["design"]
	for _, name := range designs {
		_, is := lab.FindDesign(name)
		known = known && is
	}
	if p.Live == nil || !known || err != nil || len(designs) == 0 || len(designs) > maxLanes {
		p.missing(w, r)
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(liveTime)) // the default is for pages
	ctx, cancel := context.WithTimeout(r.Context(), liveTime)
	defer cancel()
	ran, err := p.Live.Run(ctx, designs, fault.Name, settings)
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	if len(ran) == 1 {
		http.Redirect(w, r, "/lab/live/"+ran[0].ID, http.StatusSeeOther)
		return
	}
	all := url.Values{}
	for _, one := range ran {
		all.Add("run", one.ID)
	}
	http.Redirect(w, r, "/lab/free?"+all.Encode(), http.StatusSeeOther)
}

// postTrace takes the trace of a run from a file, and shows it.
func (p *Pages) postTrace(w http.ResponseWriter, r *http.Request) {
	if p.Live == nil {
		p.missing(w, r)
		return
	}
	file, _, err := r.FormFile("trace")
	if err != nil {
		p.sandbox(w, r, "Choose the file of a run: "+err.Error()+".")
		return
	}
	defer file.Close()
	text, err := io.ReadAll(file) // the form is bounded
	if err == nil {
		_, err = lab.ReadTrace(string(text))
	}
	if err != nil {
		p.sandbox(w, r, "This file is not the trace of a run: "+err.Error()+".")
		return
	}
	id, err := p.Live.Keep(r.Context(), string(text))
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
	case pngForm:
		p.sendPNG(w, r, picture(l))
	default:
		if isLive {
			l.Address = r.URL.Path
		}
		p.render(w, r, "lab/run", web.Page{Title: l.Design.Title + ": " + l.Fault.Title, Here: "lab",
			Picture: l.Address + pngForm, About: run.Title() + " " + l.Fault.Story,
			Data: runPage{Lane: l.withSource(), Real: isLive}})
	}
}

// base is where other sites find this one: they take no address without a host.
func (p *Pages) base(r *http.Request) string {
	if p.HTTPS {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// pngForm ends the address of a picture for other sites, of which most show no SVG.
const pngForm = ".png"

func (p *Pages) sendPNG(w http.ResponseWriter, r *http.Request, svg []byte) {
	drawn, err := asPNG(svg, allColors)
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "image/png")
	_, _ = w.Write(drawn) // the reader may have gone
}

// cutForm cuts the ending off an address that says which form of a run is wanted.
func cutForm(name string) (bare, form string) {
	for _, form := range []string{".ndjson", ".svg", pngForm} {
		if n := len(name) - len(form); n > 0 && name[n:] == form {
			return name[:n], form
		}
	}
	return name, ""
}

type missing struct{ Heading, Text, Href, Way string }

func (p *Pages) missing(w http.ResponseWriter, r *http.Request) {
	p.Render(w, r, http.StatusNotFound, "dashboard/problem", web.Page{Title: "Not found", Here: "lab",
		Data: missing{"Page not found", "The lab has seven stops, a sandbox and a matrix.", "/lab/matrix",
			"Open the matrix"}})
}
