package page

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/lab"
)

// Measures of a strip, in pixels.
const (
	stripStep = 16 // between events
	stripRow  = 14
)

const calls = "" // every strip has them, so they need no class

// strip is the picture of a run on a page that has many, with a path for everything of a
// kind, so that it takes a few hundred bytes. Its upper border is the client, the lower one
// the bank, and each line between them a process. The log beside it says the same in words.
func strip(r lab.Run) template.HTML {
	s := stripDrawing{rows: map[int]int{}, paths: map[string]*strings.Builder{}}
	s.events = slices.DeleteFunc(slices.Clone(r.Events), func(e lab.Event) bool {
		return slices.Contains(details, e.Kind) || e.Kind == lab.Concludes
	})
	for _, e := range s.events {
		if _, known := s.rows[e.PID]; e.PID != 0 && !known {
			s.rows[e.PID] = len(s.rows) + 1
		}
	}
	s.bank, s.width = stripRow*(len(s.rows)+1), stripStep*(len(s.events)+1)
	s.last = s.bank
	for pid := range s.rows {
		s.life(pid)
	}
	for n, e := range s.events {
		s.mark(n, e)
	}
	return s.svg()
}

type stripDrawing struct {
	events      []lab.Event
	rows        map[int]int                 // of processes, by pid
	paths       map[string]*strings.Builder // by class
	bank, width int
	last        int // the height of the process that spoke last
}

func (s *stripDrawing) draw(class, format string, at ...any) {
	if s.paths[class] == nil {
		s.paths[class] = &strings.Builder{}
	}
	fmt.Fprintf(s.paths[class], format, at...)
}

// life draws the row of a process, as long as it lives.
func (s *stripDrawing) life(pid int) {
	born := slices.IndexFunc(s.events, func(e lab.Event) bool { return e.PID == pid })
	end := slices.IndexFunc(s.events, func(e lab.Event) bool { return e.PID == pid && e.Kind == lab.Killed })
	to := s.width
	if end >= 0 {
		to = stripStep * (end + 1)
	}
	s.draw("life", "M%d %dH%d", stripStep*(born+1), stripRow*s.rows[pid], to)
}

func (s *stripDrawing) mark(n int, e lab.Event) {
	x, y := stripStep*(n+1), stripRow*s.rows[e.PID]
	if e.PID != 0 {
		s.last = y
	}
	switch e.Kind {
	case lab.Sends, lab.WorkerSends, lab.Delivered:
		s.draw(calls, "M%d 0V%d", x, y)
	case lab.CallsBank:
		s.draw(calls, "M%d %dV%d", x, y, s.bank)
	case lab.Charges:
		s.draw("sum", "M%d %dh0", x, s.bank)
	case lab.Killed:
		s.draw("bad", "M%d %dl8 8m0-8l-8 8", x-4, y-4)
	case lab.CutOff, lab.HangsUp, lab.GivesUp:
		s.draw("bad", "M%d %dl6 6m0-6l-6 6", x-3, -3)
	case lab.Stopped:
		s.draw("bad", "M%d %dv8m4-8v8", x-2, y-4)
	case lab.Severed, lab.FencedOff:
		s.draw("bad", "M%d %dv10", x, y-5)
	case lab.Receives, lab.WorkerReceives, lab.Acks, lab.Rejects:
		s.draw(calls, "M%d %dV0", x, s.last)
		class := "no"
		if e.What == "200" || e.Kind == lab.Acks {
			class = "yes"
		}
		s.draw(class, "M%d 0h0", x)
	}
}

func (s *stripDrawing) svg() template.HTML {
	var out strings.Builder
	fmt.Fprintf(&out, `<svg width="%d" height="%d">`, s.width, s.bank)
	for _, class := range []string{"life", calls, "bad", "no", "yes", "sum"} { // the last is drawn on top
		switch {
		case s.paths[class] == nil:
		case class == calls:
			fmt.Fprintf(&out, `<path d="%s"/>`, s.paths[class])
		default:
			fmt.Fprintf(&out, `<path class="%s" d="%s"/>`, class, s.paths[class])
		}
	}
	out.WriteString("</svg>")
	return template.HTML(out.String()) // numbers, and words of ours
}
