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
	rows, paths := map[int]int{}, map[string]*strings.Builder{}
	events := slices.DeleteFunc(slices.Clone(r.Events), func(e lab.Event) bool {
		return slices.Contains(details, e.Kind) || e.Kind == lab.Concludes
	})
	for _, e := range events {
		if _, known := rows[e.PID]; e.PID != 0 && !known {
			rows[e.PID] = len(rows) + 1
		}
	}
	draw := func(class, format string, at ...any) {
		if paths[class] == nil {
			paths[class] = &strings.Builder{}
		}
		fmt.Fprintf(paths[class], format, at...)
	}
	bank, width := stripRow*(len(rows)+1), stripStep*(len(events)+1)
	for pid, row := range rows {
		born := slices.IndexFunc(events, func(e lab.Event) bool { return e.PID == pid })
		to := width
		if end := slices.IndexFunc(events, func(e lab.Event) bool {
			return e.PID == pid && e.Kind == lab.Killed
		}); end >= 0 {
			to = stripStep * (end + 1)
		}
		draw("life", "M%d %dH%d", stripStep*(born+1), stripRow*row, to)
	}
	last := bank
	for n, e := range events {
		x, y := stripStep*(n+1), stripRow*rows[e.PID]
		if e.PID != 0 {
			last = y
		}
		switch e.Kind {
		case lab.Sends, lab.WorkerSends, lab.Delivered:
			draw(calls, "M%d 0V%d", x, y)
		case lab.CallsBank:
			draw(calls, "M%d %dV%d", x, y, bank)
		case lab.Charges:
			draw("sum", "M%d %dh0", x, bank)
		case lab.Killed:
			draw("bad", "M%d %dl8 8m0-8l-8 8", x-4, y-4)
		case lab.CutOff, lab.HangsUp, lab.GivesUp:
			draw("bad", "M%d %dl6 6m0-6l-6 6", x-3, -3)
		case lab.Stopped:
			draw("bad", "M%d %dv8m4-8v8", x-2, y-4)
		case lab.Severed, lab.FencedOff:
			draw("bad", "M%d %dv10", x, y-5)
		case lab.Receives, lab.WorkerReceives, lab.Acks, lab.Rejects:
			draw(calls, "M%d %dV0", x, last)
			class := "no"
			if e.What == "200" || e.Kind == lab.Acks {
				class = "yes"
			}
			draw(class, "M%d 0h0", x)
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg width="%d" height="%d">`, width, bank)
	for _, class := range []string{"life", calls, "bad", "no", "yes", "sum"} { // the last is drawn on top
		switch {
		case paths[class] == nil:
		case class == calls:
			fmt.Fprintf(&out, `<path d="%s"/>`, paths[class])
		default:
			fmt.Fprintf(&out, `<path class="%s" d="%s"/>`, class, paths[class])
		}
	}
	out.WriteString("</svg>")
	return template.HTML(out.String()) // numbers, and words of ours
}
