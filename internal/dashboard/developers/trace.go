package developers

import (
	"fmt"

	"github.com/ratchet-pay/ratchet/internal/inspect"
)

// trace is the drawing of a request: recovery points are stations, left to right;
// every attempt is a lane, top to bottom; the acquirer is the ground below.
// Positions are pixels of the drawing.
type trace struct {
	Width, Height int
	Above         int // how far names of more than two lines reach above the drawing
	Points        []tracePoint
	Lanes         []traceLane
	Calls         []traceCall
	Ground        int // of the acquirer; 0 if it was not called
	GroundX       int
	GroundW       int
	Alt           string
	Words         []string // what it shows, in sentences
	Down          traceDown
}

type tracePoint struct {
	X       int
	Name    []string // in lines
	Reached bool
	Foreign bool
}

type traceLane struct {
	Y, From, To int
	Epoch       int32
	Who, How    string
	Tone        string // good, bad, warn, info
	Stops       []int
	DropX       int // where the next attempt went on; 0 for the last
	DropY       int
	FenceX      int // where the fence refused its late commit; 0 if it did not
	End         inspect.End
}

type traceCall struct {
	X, From, To int
	Lane        int
	Text        string
	Moved       bool
}

const (
	traceLeft, traceTop    = 288, 74
	traceStep, traceLaneH  = 176, 66
	traceRight, traceNamed = 140, 14 // characters of a name in one line
	traceLine              = 14      // from one line of a name to the next
	traceLate              = 56      // from where a process stalled to the fence that refused it
)

// draw lays a request out.
func draw(r *inspect.Request) trace {
	all := []inspect.RecoveryPoint{{Name: "started", ReachedAt: &r.CreatedAt, Epoch: 1}}
	for _, s := range r.RecoveryPoints {
		if s.Kind != "abandoned" || s.ReachedAt != nil {
			all = append(all, s)
		}
	}
	p := trace{Width: traceLeft + (len(all)-1)*traceStep + traceRight, Height: traceTop + len(r.Attempts)*traceLaneH}
	places := map[string]int{"": 0}
	for i, s := range all {
		places[s.Name] = i
		name := wrap(s.Name, traceNamed)
		p.Above = max(p.Above, (len(name)-2)*traceLine)
		p.Points = append(p.Points, tracePoint{
			X:       traceLeft + i*traceStep,
			Name:    name,
			Reached: s.ReachedAt != nil,
			Foreign: s.Kind == "foreign",
		})
	}
	for i, a := range r.Attempts {
		p.Lanes = append(p.Lanes, lane(a, all, places, traceTop+i*traceLaneH))
	}
	for i := range len(p.Lanes) - 1 {
		p.Lanes[i].DropX, p.Lanes[i].DropY = p.Lanes[i+1].From, p.Lanes[i+1].Y
	}
	p.ask(r, all, places)
	p.Alt, p.Words = alt(r), r.InWords()
	p.Down = turned(p)
	return p
}

// lane is one attempt: from where it took up to where it came.
func lane(a inspect.Attempt, all []inspect.RecoveryPoint, places map[string]int, y int) traceLane {
	l := traceLane{Y: y, Epoch: a.Epoch, Who: fmt.Sprintf("Attempt %d", a.Epoch), End: a.End}
	if role := a.Role(); role != "" {
		l.Who += ", " + role
	}
	begin := places[a.Stood]
	reached := begin
	if a.Epoch == 1 {
		l.Stops = append(l.Stops, traceLeft)
	}
	for i, s := range all {
		if i > 0 && s.ReachedAt != nil && s.Epoch == a.Epoch {
			l.Stops = append(l.Stops, traceLeft+i*traceStep)
			reached = i
		}
	}
	l.From, l.To = traceLeft+begin*traceStep, traceLeft+reached*traceStep
	switch a.End {
	case inspect.Died:
		l.How, l.Tone = a.Process()+" went silent", "bad"
		if a.Until != nil {
			l.How += " at " + a.Until.UTC().Format("15:04:05.0")
		}
	case inspect.Stalled:
		l.How, l.Tone = a.Process()+" stalled at "+a.Until.UTC().Format("15:04:05.0"), "warn"
	case inspect.Parked:
		l.How, l.Tone = "no outcome, paused", "warn"
	case inspect.Executing:
		l.How, l.Tone = "in progress", "info"
	case inspect.Waiting:
		l.How, l.Tone = "needs review", "bad"
	default:
		l.How, l.Tone = "finished in "+inspect.Lasted(a.Until.Sub(a.From)), "good"
		if a.PID != nil {
			l.How = a.Process() + " " + l.How
		}
	}
	if a.End == inspect.Ended {
		l.To += traceStep / 3 // to the answer
	} else {
		l.To += traceStep / 2 // on its way to the next station
	}
	if a.Refused != nil {
		l.FenceX = l.To + traceLate
	}
	return l
}

// ask draws the calls: from the lanes that made them down to the acquirer.
func (p *trace) ask(r *inspect.Request, all []inspect.RecoveryPoint, places map[string]int) {
	if len(r.Calls) == 0 {
		return
	}
	p.Ground = p.Height + 16
	p.Height = p.Ground + 44
	p.GroundX, p.GroundW = traceLeft, (len(all)-1)*traceStep+traceRight-40
	for n, c := range r.Calls {
		at, known := places[c.Phase]
		if !known {
			continue
		}
		text := "no effect"
		moved := false
		for _, m := range c.Movements {
			if m.Kind != "none" {
				text, moved = m.Kind, true
			}
		}
		if c.Unread != "" {
			text = "?"
		}
		if !moved && r.Repeated(n) {
			text = "" // the call with the next key is at the same place
		}
		for i, a := range r.Attempts {
			over := a.Until != nil && !c.SentAt.Before(*a.Until)
			here := all[at].ReachedAt != nil && all[at].Epoch == a.Epoch
			began := !c.SentAt.Before(a.From) && !over
			if here || began {
				x := traceLeft + at*traceStep - traceStep/2 - 26 + 14*i
				p.Calls = append(p.Calls,
					traceCall{X: x, From: p.Lanes[i].Y, Lane: i, To: p.Ground, Text: text, Moved: moved})
				text = "" // the same key, the same answer
			}
		}
	}
}

// Rems is how wide it is in the reader's own size of text: what is written in it
// grows with the rest of the page.
func (p trace) Rems() float64 { return float64(p.Width) / 16 }

func alt(r *inspect.Request) string {
	reached := 0
	for _, s := range r.RecoveryPoints {
		if s.ReachedAt != nil {
			reached++
		}
	}
	stalled := ""
	if n := r.Stalls(); n > 0 {
		stalled = fmt.Sprintf(", %d overtaken while their process stalled", n)
	}
	return fmt.Sprintf("%s: %d of %d recovery points reached in %d attempts, %d of them interrupted%s. The text below "+
		"and the timeline give the details.",
		r.Flow, reached, len(r.RecoveryPoints), len(r.Attempts), r.Crashes(), stalled)
}

// wrap breaks a recovery point's name at its words.
func wrap(name string, most int) (lines []string) {
	line := ""
	word := ""
	flush := func() {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > most:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
		word = ""
	}
	for _, c := range name {
		if c == '_' || c == ' ' {
			flush()
			continue
		}
		word += string(c)
	}
	flush()
	return append(lines, line)
}
