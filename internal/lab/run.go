package lab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Run is what one order came to.
type Run struct {
	Design string `json:"design"`
	Fault  string `json:"fault"`
	Settings

	Charged int    `json:"charged"`         // how often the card was charged, by the bank's journal
	Booked  int    `json:"booked"`          // how many charges the design's own tables have
	Answer  Answer `json:"answer"`          // the last thing that the client received
	Amount  int64  `json:"amount"`          // of the order, in cents; no other order has it
	Keys    string `json:"store,omitempty"` // what kept the keys in Redis's place
	MS      int64  `json:"ms"`              // how long it took

	Uploaded bool `json:"uploaded,omitempty"` // it was not run here

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

// The ends of a message.
const (
	Acknowledged Answer = "acknowledged" // the broker takes it for handled
	GivenUp      Answer = "given_up"     // the broker delivers it no more
	Aside        Answer = "set_aside"    // the inbox keeps it for a person
)

// Verdict is what a run says about its design.
type Verdict string

// The verdicts, the worst first.
const (
	Twice Verdict = "twice" // the card was charged more than once
	Lost  Verdict = "lost"  // charged, and our books do not know
	Stuck Verdict = "stuck" // the client never learns what happened
	Gone  Verdict = "gone"  // a message was dropped: not charged, and no record shows it
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
	case r.Charged == 1 && r.Booked == 1 && (r.Answer == Paid || r.Answer == Acknowledged):
		return Right
	case r.Charged == 0 && r.Booked == 0 && r.Answer == Aside:
		return Right // nothing could be done, and a person knows
	case r.Charged == 0 && r.Booked == 0 && (r.Answer == Acknowledged || r.Answer == GivenUp):
		return Gone
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
	case GivenUp:
		return cell + " given up"
	case Aside:
		return cell + " set aside"
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

	Tables []Table `json:"tables,omitempty"` // as they are now, if they have changed
}

// Table is what a table has of the order.
type Table struct {
	Name    string     `json:"name"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// Kind is what kind of thing happened.
type Kind string

// The kinds.
const (
	Sends       Kind = "sends"      // the client sends attempt N
	Receives    Kind = "receives"   // the client is answered; What is the status
	HangsUp     Kind = "hangs_up"   // the client waits no longer
	CutOff      Kind = "cut_off"    // the connection breaks
	GivesUp     Kind = "gives_up"   // the client has no attempt left
	Statement   Kind = "statement"  // the process sends SQL; What is how it begins
	AsksStore   Kind = "asks_store" // the process sends a command to Redis
	CallsBank   Kind = "calls_bank" // the process has sent the charge to the bank
	BankAnswers Kind = "bank_answers"
	BankSilent  Kind = "bank_silent" // the process waits for the bank no longer
	Charges     Kind = "charges"     // the bank charges the card, by its journal
	Answers     Kind = "answers"     // the process sends its answer
	Killed      Kind = "killed"      // What is the boundary
	Stopped     Kind = "stopped"     // What is the boundary
	Continued   Kind = "continued"   // after Stopped
	Starts      Kind = "starts"      // another process takes the place of the first
	StoreLost   Kind = "store_lost"  // Redis starts again, empty
	Concludes   Kind = "concludes"   // the end: what both books say
	FencedOff   Kind = "fenced_off"  // Ratchet's fence refuses the commit of a process that was overtaken

	WorkerSends    Kind = "worker_sends"    // a worker sends attempt N
	WorkerReceives Kind = "worker_receives" // the worker is answered; What is the status
	WorkerStarts   Kind = "worker_starts"   // `ratchet work`, which completes what others have left

	Publishes   Kind = "publishes"   // the publisher sends a message; What is its subject
	Delivered   Kind = "delivered"   // the process receives it; What says which delivery this is
	Acks        Kind = "acks"        // the process acknowledges it
	Rejects     Kind = "rejects"     // the process asks for another delivery
	Severed     Kind = "severed"     // the connection to the broker breaks
	Restarts    Kind = "restarts"    // the consumer ends in order, and another one starts
	BrokerEnds  Kind = "broker_ends" // the broker has nothing more to deliver; What is an Answer
	KeepsForNow Kind = "keeps"       // the inbox keeps a message; What is why
)

// Limits of an uploaded trace.
const (
	MaxTrace  = 60_000 // bytes
	maxEvents = 1000
	maxCount  = 1000
)

var answers = []Answer{Paid, InProgress, Failed, NoAnswer, Acknowledged, GivenUp, Aside}

// ReadTrace reads an uploaded trace of one run, and rejects what the
// lab cannot have written: a design, fault or event that it does not have, or a result
// that the events contradict.
func ReadTrace(text string) (r Run, err error) {
	if len(text) > MaxTrace {
		return r, fmt.Errorf("a trace has at most %d bytes", MaxTrace)
	}
	runs, err := Read(strings.NewReader(text))
	if err != nil {
		return r, err
	}
	if len(runs) != 1 {
		return r, fmt.Errorf("the file has %d runs instead of one", len(runs))
	}
	r = runs[0]
	d, known := FindDesign(r.Design)
	f, knownToo := FindFault(r.Fault)
	charges := 0
	for _, e := range r.Events {
		if r.Sentence(e) == unknownKind(e.Kind) {
			return r, fmt.Errorf("event %q not found", e.Kind)
		}
		if e.Kind == Charges {
			charges++
		}
	}
	switch {
	case !known || !knownToo || f.Name != r.Fault:
		return r, fmt.Errorf("design %q or fault %q not found", r.Design, r.Fault)
	case !f.Strikes(d):
		return r, fmt.Errorf("fault %s does not strike design %s", f.Name, d.Name)
	case len(r.Events) == 0 || len(r.Events) > maxEvents:
		return r, fmt.Errorf("a trace has 1 to %d events, not %d", maxEvents, len(r.Events))
	case !slices.Contains(answers, r.Answer) || r.Booked < 0 || r.Booked > maxCount:
		return r, fmt.Errorf("%d charges booked, answer %q: not a result of a run", r.Booked, r.Answer)
	case charges != r.Charged:
		return r, fmt.Errorf("the trace says that the bank charged %d times, and has %d charges", r.Charged, charges)
	}
	_, err = ParseSettings(string(r.Retries), r.lock(), string(r.Settings.Store))
	return r, err
}

func (s Settings) lock() string {
	if s.LockSeconds == 0 {
		return ""
	}
	return strconv.Itoa(s.LockSeconds)
}

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
