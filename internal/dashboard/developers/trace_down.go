package developers

import "github.com/ratchet-pay/ratchet/internal/inspect"

// traceDown is the same drawing for a narrow page: recovery points are stations,
// top to bottom; every attempt is a lane, left to right; the acquirer is at the right.
// It is as wide as a phone, no matter how many attempts there are.
type traceDown struct {
	Height int
	Points []tracePoint // X is how far down
	Lanes  []traceLaneDown
	Calls  []traceCallDown
	Answer int // how far down; 0: the request has no answer yet
	Ground bool
}

type traceLaneDown struct {
	X, From, To int
	Epoch       int32
	Tone        string
	Stops       []int
	DropX       int // where the next attempt went on; 0 for the last
	DropY       int
	FenceY      int // where the fence refused its late commit; 0 if it did not
	End         inspect.End
}

type traceCallDown struct {
	Y, From int
	Text    []string
	Moved   bool
}

const (
	downTop, downStep   = 66, 68
	downLeft, downRight = 136, 236 // of the lanes; the acquirer is right of them
	downLane            = 52       // between two of them, at most
)

// turned lays the drawing that draw has made upright.
func turned(p trace) traceDown {
	down := func(x int) int { return downTop + (x-traceLeft)*downStep/traceStep }
	d := traceDown{Height: downTop + len(p.Points)*downStep, Ground: p.Ground != 0}
	for _, s := range p.Points {
		d.Points = append(d.Points,
			tracePoint{X: down(s.X), Name: s.Name, Reached: s.Reached, Foreign: s.Foreign})
	}
	step := downLane
	if n := len(p.Lanes); n > 1 {
		step = min(step, (downRight-24-downLeft)/(n-1))
	}
	for i, l := range p.Lanes {
		lane := traceLaneDown{
			X:     downLeft + i*step,
			From:  down(l.From),
			To:    down(l.To),
			Epoch: l.Epoch,
			Tone:  l.Tone,
			End:   l.End,
		}
		for _, x := range l.Stops {
			lane.Stops = append(lane.Stops, down(x))
		}
		if l.DropX != 0 {
			lane.DropX, lane.DropY = lane.X+step, down(l.DropX)
		}
		if l.FenceX != 0 {
			lane.FenceY = down(l.FenceX)
		}
		if l.End == inspect.Ended {
			lane.To += downStep / 6 // room for the word beside it
			d.Answer = lane.To
		}
		d.Lanes = append(d.Lanes, lane)
	}
	for _, c := range p.Calls {
		d.Calls = append(d.Calls,
			traceCallDown{Y: down(c.X), From: d.Lanes[c.Lane].X, Text: wrap(c.Text, downNamed), Moved: c.Moved})
	}
	return d
}

// downNamed is how many characters the acquirer's column has room for.
const downNamed = 9
