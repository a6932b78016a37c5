package lab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Run is what one order came to.
type Run struct {
	Design string `json:"design"`
	Fault  string `json:"fault"`

	Charged int    `json:"charged"` // how often the card was charged, by the bank's journal
	Booked  int    `json:"booked"`  // how many charges the design's own tables have
	Answer  Answer `json:"answer"`  // the last thing that the client received
	Amount  int64  `json:"amount"`  // of the order, in cents; no other order has it
	Store   string `json:"store,omitempty"`
	MS      int64  `json:"ms"` // how long it took

	Events []Event `json:"-"`
}

// Answer is how a client's attempts ended.
type Answer string

// The answers.
const (
	Paid       Answer = "paid"        // 200
	InProgress Answer = "in_progress" // 409 to the last attempt
	Failed     Answer = "failed"      // an error to the last attempt
	NoAnswer   Answer = "none"        // the last attempt was not answered in time
)

// Verdict is what a run says about its design.
type Verdict string

// The verdicts, the worst first.
const (
	Twice Verdict = "twice" // the card was charged more than once
	Lost  Verdict = "lost"  // charged, and our books do not know
	Stuck Verdict = "stuck" // the client never learns what happened
	Wrong Verdict = "wrong" // anything else that is not right
	Right Verdict = "right" // charged once, booked once, and the client got the result
)

// Verdict judges the run.
func (r Run) Verdict() Verdict {
	switch {
	case r.Charged > 1:
		return Twice
	case r.Charged == 1 && r.Booked == 0:
		return Lost
	case r.Charged == 1 && r.Booked == 1 && r.Answer == Paid:
		return Right
	case r.Answer != Paid:
		return Stuck
	}
	return Wrong
}

// Agree says whether our books and the bank's have the same number of charges.
func (r Run) Agree() bool { return r.Charged == r.Booked }

// Cell is the run in a word of the matrix: "2c 1r" is charged twice, booked once.
func (r Run) Cell() string {
	cell := fmt.Sprintf("%dc %dr", r.Charged, r.Booked)
	switch r.Answer {
	case InProgress:
		return cell + " stuck"
	case Failed:
		return cell + " failed"
	case NoAnswer:
		return cell + " no answer"
	}
	return cell
}

// Title is the run in a sentence.
func (r Run) Title() string {
	return fmt.Sprintf("Our books say %d, the bank says %d.", r.Booked, r.Charged)
}

// Event is something that happened in a run.
type Event struct {
	US   int64  `json:"us"`            // microseconds since the customer pressed Pay
	Kind Kind   `json:"kind"`          //
	PID  int    `json:"pid,omitempty"` // of the process that did it, or to which it was done
	N    int    `json:"n,omitempty"`   // which attempt of the client
	What string `json:"what,omitempty"`
}

// Kind is what kind of thing happened.
type Kind string

// The kinds.
const (
	Sends       Kind = "sends"      // the client sends attempt N
	Hears       Kind = "hears"      // the client is answered; What is the status
	HangsUp     Kind = "hangs_up"   // the client waits no longer
	CutOff      Kind = "cut_off"    // the connection breaks
	GivesUp     Kind = "gives_up"   // the client has no attempt left
	Statement   Kind = "statement"  // the process sends SQL; What is how it begins
	AsksStore   Kind = "asks_store" // the process sends a command to Redis
	CallsBank   Kind = "calls_bank" // the process has sent the charge to the bank
	BankAnswers Kind = "bank_answers"
	Charges     Kind = "charges"    // the bank charges the card, by its journal
	Answers     Kind = "answers"    // the process sends its answer
	Killed      Kind = "killed"     // What is the boundary
	Stopped     Kind = "stopped"    // What is the boundary
	Continued   Kind = "continued"  // after Stopped
	Starts      Kind = "starts"     // another process takes the place of the first
	StoreLost   Kind = "store_lost" // Redis starts again, empty
	Concludes   Kind = "concludes"  // the end: what both books say
	FencedOff   Kind = "fenced_off" // Ratchet's fence refuses the commit of a process that was overtaken
)

// Write writes the run as JSON lines: the run, then its events.
func (r Run) Write(w io.Writer) error {
	lines := json.NewEncoder(w)
	if err := lines.Encode(r); err != nil {
		return err
	}
	for _, e := range r.Events {
		if err := lines.Encode(e); err != nil {
			return err
		}
	}
	return nil
}

// Read reads runs that were written one behind the other.
func Read(from io.Reader) (runs []Run, err error) {
	lines := bufio.NewScanner(from)
	for n := 1; lines.Scan(); n++ {
		line := lines.Bytes()
		if bytes.Contains(line, []byte(`"design":`)) {
			runs = append(runs, Run{})
			err = json.Unmarshal(line, &runs[len(runs)-1])
		} else if len(runs) == 0 {
			err = errors.New("an event comes before its run")
		} else {
			var e Event
			err = json.Unmarshal(line, &e)
			runs[len(runs)-1].Events = append(runs[len(runs)-1].Events, e)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d of the trace: %w", n, err)
		}
	}
	return runs, lines.Err()
}
