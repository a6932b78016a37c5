package page

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/lab"
)

// Measures of a figure, in the units of its view box.
const (
	figureWidth = 720
	smallWidth  = 460
	leftEdge    = 92 // behind the labels
	rowHeight   = 40
	firstRow    = 32
	below       = 36 // the bank's row, with the times under it
	clockWidth  = 44 // of a time
)

// A wait is a pause that a reader should see. It takes the room of some events.
const (
	wait      = 300 * time.Millisecond
	waitSlots = 2
)

// figure draws a run: a row for the client, one for each process, one for the bank.
// Events stand at equal distances, in their order, with a gap where nothing happens.
// The times are at the client's attempts and the bank's charges; the log has all.
// Each mark carries the number of its event, so that a script can play them.
func figure(r lab.Run) template.HTML {
	return draw(&drawing{run: r, width: figureWidth})
}

// smallFigure leaves out the statements, for places with half the width.
func smallFigure(r lab.Run) template.HTML {
	return draw(&drawing{run: r, width: smallWidth, without: details})
}

func draw(f *drawing) template.HTML {
	r := f.run
	f.rows, f.clock = map[int]int{}, map[int]int{}
	for n, e := range r.Events {
		if _, known := f.rows[e.PID]; e.PID != 0 && !known {
			f.rows[e.PID] = len(f.rows) + 1
		}
		if f.waited(n) {
			f.slots += waitSlots
		}
		f.slot = append(f.slot, f.slots)
		if !slices.Contains(f.without, e.Kind) {
			f.slots++
		}
	}
	f.bank = firstRow + rowHeight*(len(f.rows)+1)
	fmt.Fprintf(&f.out,
		`<svg class="lab-figure" role="img" aria-label="%s The log tells each step." viewBox="0 0 %d %d">`,
		template.HTMLEscapeString(r.Title()), f.width, f.bank+below)
	client := "client"
	if d, _ := lab.FindDesign(r.Design); d.Queue {
		client = "broker"
	}
	f.label(firstRow, client)
	f.label(f.bank, "bank")
	f.path(`class="row"`, "M%d %dH%dM%d %dH%d", leftEdge, firstRow, f.width-8, leftEdge, f.bank, f.width-8)
	for pid, row := range f.rows {
		f.life(pid, firstRow+rowHeight*row)
	}
	for n, e := range r.Events {
		if !slices.Contains(f.without, e.Kind) {
			f.mark(n, e)
		}
	}
	f.out.WriteString(`</svg>`)
	return template.HTML(f.out.String()) // numbers, and words of ours
}

type drawing struct {
	out     strings.Builder
	run     lab.Run
	width   int
	without []lab.Kind  // events that are not drawn
	rows    map[int]int // of processes, by pid
	slot    []int       // of each event, from the left
	slots   int
	bank    int         // its height
	last    int         // the process that spoke last
	clock   map[int]int // the place of the last time, by height
}

// waited says whether nothing happened for a while before an event. At its end, the lab
// asks both books: the client does not wait for that.
func (f *drawing) waited(n int) bool {
	e := f.run.Events[n]
	return n > 0 && e.Kind != lab.Concludes && time.Duration(e.US-f.run.Events[n-1].US)*time.Microsecond >= wait
}

// x is the horizontal position of an event.
func (f *drawing) x(event int) int {
	return leftEdge + 12 + f.slot[event]*(f.width-leftEdge-40)/max(1, f.slots-1)
}

func (f *drawing) label(y int, text string) {
	fmt.Fprintf(&f.out, `<text x="0" y="%d">%s</text>`, y+4, text)
}

func (f *drawing) path(attributes, format string, at ...any) {
	fmt.Fprintf(&f.out, `<path %s d="`+format+`"/>`, append([]any{attributes}, at...)...)
}

// life draws the row of a process, as long as it lives.
func (f *drawing) life(pid, y int) {
	of := func(e lab.Event) bool { return e.PID == pid }
	born := slices.IndexFunc(f.run.Events, of)
	to := f.width - 8
	dead := slices.IndexFunc(f.run.Events, func(e lab.Event) bool { return e.PID == pid && e.Kind == lab.Killed })
	if dead >= 0 {
		to = f.x(dead)
	}
	fmt.Fprintf(&f.out, `<g data-n="%d">`, born)
	f.label(y, fmt.Sprintf("process %d", pid))
	f.path(`class="life"`, "M%d %dH%d", f.x(born), y, to)
	f.out.WriteString(`</g>`)
}

// time writes how much time has passed since the customer pressed Pay, unless there is no
// room for it.
func (f *drawing) time(n, y int) {
	x := f.x(n)
	if last, is := f.clock[y]; is && x-last < clockWidth {
		return
	}
	f.clock[y] = x
	fmt.Fprintf(&f.out, `<text class="at" data-n="%d" x="%d" y="%d">%s</text>`, n, x, y, elapsed(f.run.Events[n].US))
}

// elapsed is a time for people: two digits are enough to compare.
func elapsed(us int64) string {
	switch seconds := float64(us) / 1e6; {
	case seconds < 0.0005:
		return "0 s"
	case seconds < 0.1:
		return fmt.Sprintf("%.0f ms", seconds*1000)
	case seconds < 1:
		return fmt.Sprintf("%.2f s", seconds)
	default:
		return fmt.Sprintf("%.1f s", seconds)
	}
}

// marks are what is drawn at a process, relative to it.
var marks = map[lab.Kind]string{
	lab.Killed:     `<circle class="bad" r="9"/><path class="bad" d="M-4 -4l8 8m0 -8l-8 8"/>`,
	lab.Stopped:    `<circle class="warn" r="9"/><path class="warn" d="M-2.5 -4v8m5 -8v8"/>`,
	lab.Continued:  `<circle class="warn" r="9"/><path class="warn" d="M-3 -4l6 4l-6 4z"/>`,
	lab.FencedOff:  `<circle class="bad" r="9"/><path class="bad" d="M-5 0h10"/>`,
	lab.Severed:    `<circle class="bad" r="9"/><path class="bad" d="M-5 0h10"/>`,
	lab.BankSilent: `<circle class="warn" r="9"/><path class="warn" d="M0 -5v5h4"/>`,
	lab.Starts:     `<circle class="ring" r="6"/>`,
}

func (f *drawing) mark(n int, e lab.Event) {
	x, y := f.x(n), firstRow+rowHeight*f.rows[e.PID]
	if e.PID != 0 {
		f.last = y
	}
	as := func(class string) string { return fmt.Sprintf(`class="%s" data-n="%d"`, class, n) }
	switch e.Kind {
	case lab.Statement:
		f.path(as("step"), "M%d %dh8v8h-8z", x-4, y-4)
	case lab.AsksStore:
		f.path(as("step"), "M%d %dl6 6l-6 6l-6 -6z", x, y-6)
	case lab.Answers:
		f.dot(as("step"), x, y, 4)
	case lab.Sends, lab.Delivered, lab.WorkerSends:
		f.path(as("call"), "M%d %dV%d", x, firstRow, y)
		if e.Kind != lab.Delivered {
			f.time(n, firstRow-14)
		}
	case lab.CallsBank:
		f.path(as("call"), "M%d %dV%d", x, y, f.bank)
	case lab.BankAnswers:
		f.path(as("call answer"), "M%d %dV%d", x, f.bank, y)
	case lab.Charges:
		fmt.Fprintf(&f.out, `<g data-n="%d">`, n)
		f.dot(`class="charge"`, x, f.bank, 10)
		fmt.Fprintf(&f.out, `<text class="sum" x="%d" y="%d">$</text></g>`, x, f.bank+4)
		f.time(n, f.bank+26)
	case lab.Publishes:
		f.dot(as("ring"), x, firstRow, 6)
		f.time(n, firstRow-14)
	case lab.Acks, lab.Rejects:
		f.received(n, x, y, e.Kind == lab.Acks)
	case lab.Receives, lab.WorkerReceives:
		f.received(n, x, f.last, e.What == "200")
	case lab.CutOff, lab.HangsUp, lab.GivesUp:
		f.path(as("bad"), "M%d %dl10 10m0 -10l-10 10", x-5, firstRow-5)
	default:
		if drawn, known := marks[e.Kind]; known {
			fmt.Fprintf(&f.out, `<g data-n="%d" transform="translate(%d %d)">%s</g>`, n, x, y, drawn)
		}
	}
}

func (f *drawing) dot(attributes string, x, y, r int) {
	fmt.Fprintf(&f.out, `<circle %s cx="%d" cy="%d" r="%d"/>`, attributes, x, y, r)
}

// received is a response that reaches the client, or an acknowledgment the broker.
func (f *drawing) received(n, x, from int, good bool) {
	class := "bad"
	if good {
		class = "good"
	}
	fmt.Fprintf(&f.out, `<g data-n="%d">`, n)
	f.path(`class="call answer"`, "M%d %dV%d", x, from, firstRow)
	f.dot(`class="`+class+`"`, x, firstRow, 6)
	f.out.WriteString(`</g>`)
}
