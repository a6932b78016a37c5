package page

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/lab"
)

// Measures of a figure, in the units of its view box.
const (
	figureWidth = 720
	leftEdge    = 84 // behind the labels
	rowHeight   = 40
	firstRow    = 24
)

// figure draws a run: a row for the client, one for each process, one for the bank.
// Events stand at equal distances, in their order; the log beside it has the times.
// Each mark carries the number of its event, so that a script can play them.
func figure(r lab.Run) template.HTML {
	f := &drawing{run: r, rows: map[int]int{}}
	for _, e := range r.Events {
		if _, known := f.rows[e.PID]; e.PID != 0 && !known {
			f.rows[e.PID] = len(f.rows) + 1
		}
	}
	f.bank = firstRow + rowHeight*(len(f.rows)+1)
	fmt.Fprintf(&f.out,
		`<svg class="lab-figure" role="img" aria-label="%s The log tells each step." viewBox="0 0 %d %d">`,
		template.HTMLEscapeString(r.Title()), figureWidth, f.bank+firstRow)
	client := "client"
	if d, _ := lab.FindDesign(r.Design); d.Queue {
		client = "broker"
	}
	f.label(firstRow, client)
	f.line("row", leftEdge, firstRow, figureWidth-8, firstRow)
	for pid, row := range f.rows {
		f.life(pid, firstRow+rowHeight*row)
	}
	f.label(f.bank, "bank")
	f.line("row bank", leftEdge, f.bank, figureWidth-8, f.bank)
	for i, e := range r.Events {
		f.mark(i, e)
	}
	f.out.WriteString(`</svg>`)
	return template.HTML(f.out.String()) // numbers, and words of ours
}

type drawing struct {
	out  strings.Builder
	run  lab.Run
	rows map[int]int // of processes, by pid
	bank int         // its height
	last int         // the process that spoke last
}

// x is the horizontal position of an event.
func (f *drawing) x(event int) int {
	return leftEdge + 12 + event*(figureWidth-leftEdge-40)/max(1, len(f.run.Events)-1)
}

func (f *drawing) label(y int, text string) {
	fmt.Fprintf(&f.out, `<text x="0" y="%d">%s</text>`, y+4, text)
}

func (f *drawing) line(class string, x1, y1, x2, y2 int) {
	fmt.Fprintf(&f.out, `<line class="%s" x1="%d" y1="%d" x2="%d" y2="%d"/>`, class, x1, y1, x2, y2)
}

// life draws the row of a process, as long as it lives.
func (f *drawing) life(pid, y int) {
	of := func(e lab.Event) bool { return e.PID == pid }
	born := slices.IndexFunc(f.run.Events, of)
	from, to := f.x(born), figureWidth-8
	dead := slices.IndexFunc(f.run.Events, func(e lab.Event) bool { return e.PID == pid && e.Kind == lab.Killed })
	if dead >= 0 {
		to = f.x(dead)
	}
	fmt.Fprintf(&f.out, `<g data-n="%d">`, born)
	f.label(y, fmt.Sprintf("process %d", pid))
	f.line("life", from, y, to, y)
	f.out.WriteString(`</g>`)
}

// marks are what is drawn at a process, relative to it.
var marks = map[lab.Kind]string{
	lab.Statement: `<rect class="step" x="-4" y="-4" width="8" height="8"/>`,
	lab.AsksStore: `<rect class="step" x="-4" y="-4" width="8" height="8" transform="rotate(45)"/>`,
	lab.Answers:   `<circle class="step" r="4"/>`,
	lab.Killed:    `<circle class="bad" r="9"/><path class="bad" d="M-4 -4l8 8m0 -8l-8 8"/>`,
	lab.Stopped:   `<circle class="warn" r="9"/><path class="warn" d="M-2.5 -4v8m5 -8v8"/>`,
	lab.Continued: `<circle class="warn" r="9"/><path class="warn" d="M-3 -4l6 4l-6 4z"/>`,
	lab.FencedOff: `<circle class="bad" r="9"/><path class="bad" d="M-5 0h10"/>`,
	lab.Severed:   `<circle class="bad" r="9"/><path class="bad" d="M-5 0h10"/>`,
	lab.Starts:    `<circle class="ring" r="6"/>`,
}

func (f *drawing) mark(n int, e lab.Event) {
	x, y := f.x(n), firstRow+rowHeight*f.rows[e.PID]
	if e.PID != 0 {
		f.last = y
	}
	fmt.Fprintf(&f.out, `<g data-n="%d">`, n)
	switch e.Kind {
	case lab.Sends, lab.Delivered, lab.WorkerSends:
		f.line("call", x, firstRow, x, y)
	case lab.CallsBank:
		f.line("call", x, y, x, f.bank)
	case lab.BankAnswers:
		f.line("call answer", x, f.bank, x, y)
	case lab.Charges:
		fmt.Fprintf(&f.out, `<circle class="charge" cx="%d" cy="%d" r="10"/><text class="sum" x="%d" y="%d">$</text>`,
			x, f.bank, x, f.bank+4)
	case lab.Publishes:
		fmt.Fprintf(&f.out, `<circle class="ring" cx="%d" cy="%d" r="6"/>`, x, firstRow)
	case lab.Acks, lab.Rejects:
		class := "good"
		if e.Kind == lab.Rejects {
			class = "bad"
		}
		f.line("call answer", x, y, x, firstRow)
		fmt.Fprintf(&f.out, `<circle class="%s" cx="%d" cy="%d" r="6"/>`, class, x, firstRow)
	case lab.Hears, lab.WorkerHears:
		class := "bad"
		if e.What == "200" {
			class = "good"
		}
		f.line("call answer", x, f.last, x, firstRow)
		fmt.Fprintf(&f.out, `<circle class="%s" cx="%d" cy="%d" r="6"/>`, class, x, firstRow)
	case lab.CutOff, lab.HangsUp, lab.GivesUp:
		fmt.Fprintf(&f.out, `<path class="bad" d="M%d %dl10 10m0 -10l-10 10"/>`, x-5, firstRow-5)
	default:
		if drawn, known := marks[e.Kind]; known {
			fmt.Fprintf(&f.out, `<g transform="translate(%d %d)">%s</g>`, x, y, drawn)
		}
	}
	f.out.WriteString(`</g>`)
}
