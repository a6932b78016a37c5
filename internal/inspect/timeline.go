package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/web"
)

// Line is one thing that happened.
type Line struct {
	At      time.Time
	Kind    Kind
	Text    string
	Detail  string
	Request string // whose line it is
	Ref     string // what it points at: an id, or a key
}

// Kind is what sort of thing happened, and who speaks.
type Kind string

// The kinds of lines in a timeline, as pages and `ratchet inspect` name them.
const (
	Received Kind = "request"
	Passed   Kind = "phase"
	Death    Kind = "death"
	Stall    Kind = "stall"
	Refused  Kind = "refused"
	TookOver Kind = "takeover"
	Called   Kind = "call"
	Moved    Kind = "acquirer"
	Booked   Kind = "entry"
	Emitted  Kind = "event"
	Posted   Kind = "delivery"
	Answered Kind = "answer"
	Operated Kind = "operator"
)

// Timeline merges what several requests did into one list, oldest first. Lines with the
// same time come in the order in which they must have happened.
func Timeline(requests ...*Request) []Line {
	var all []Line
	for _, r := range requests {
		all = append(all, r.timeline()...)
	}
	slices.SortStableFunc(all, func(a, b Line) int { return a.At.Compare(b.At) })
	return all
}

func (r *Request) timeline() (lines []Line) {
	add := func(at time.Time, kind Kind, ref, text, detail string) {
		lines = append(lines, Line{At: at, Kind: kind, Text: text, Detail: detail, Request: r.ID, Ref: ref})
	}
	key, replayed := "idempotency key "+r.Key, "a retry with this key gets the same bytes"
	if r.KeyGenerated {
		key, replayed = "no idempotency key", ""
	}
	add(r.CreatedAt, Received, r.ID, r.Method+" "+r.Path, key)
	r.work(add)
	r.ownership(add) // after the work: a process does nothing after its crash
	if r.FinishedAt != nil {
		add(r.written(*r.FinishedAt), Answered, r.ID, fmt.Sprintf("response %d stored", *r.Status), replayed)
	}
	return lines
}

// ownership shows who took the request up, and which attempts came to no outcome.
func (r *Request) ownership(add func(at time.Time, kind Kind, ref, text, detail string)) {
	for i, a := range r.Attempts {
		if i > 0 {
			role := a.Role()
			if role != "" {
				role += ", "
			}
			add(a.From, TookOver, r.ID, a.Process()+" took over the request",
				role+"attempt "+fmt.Sprint(a.Epoch)+", from "+said(a.Stood))
		}
		if a.WentSilent() && a.Until != nil {
			kind := Death
			if a.End == Stalled {
				kind = Stall
			}
			add(*a.Until, kind, r.ID, a.Process()+" stopped responding",
				"last heartbeat; recovery point: "+said(r.stoodAfter(i)))
		}
		if a.Refused != nil {
			add(*a.Refused, Refused, r.ID, a.Process()+" came back, and the fence refused its commit",
				"it held attempt "+fmt.Sprint(a.Epoch)+"; attempt "+fmt.Sprint(a.Epoch+1)+" has started since")
		}
		if a.End == Parked && a.Until != nil {
			add(*a.Until, Passed, r.ID, "the previous attempt had no outcome", "paused for a retry")
		}
	}
}

// work tells what the phases did.
func (r *Request) work(add func(at time.Time, kind Kind, ref, text, detail string)) {
	for _, c := range r.Calls {
		add(c.SentAt, Called, c.DerivedKey, "call to the acquirer recorded", said(c.Phase)+", "+sent(c.Attempts))
		for _, m := range c.Movements {
			add(m.At, Moved, m.Reference,
				"acquirer: "+said(m.Verb)+" "+money.Format(m.Amount, m.Currency)+", "+said(m.Result), happened(m.Kind))
		}
	}
	for _, s := range r.RecoveryPoints {
		if s.ReachedAt != nil {
			add(*s.ReachedAt, Passed, r.ID, said(s.Name), "committed by attempt "+fmt.Sprint(s.Epoch))
		}
	}
	for _, p := range r.Postings {
		for _, l := range p.Legs {
			add(r.written(p.CreatedAt), Booked, p.ID,
				fmt.Sprintf("%s: %s", said(l.Purpose), money.Format(l.Amount, p.Currency)),
				"debit "+said(l.Debit)+", credit "+said(l.Credit))
		}
	}
	for _, m := range r.Settled {
		add(m.BookedAt, Booked, m.Reference, fmt.Sprintf("settled in batch %s, part %d", m.Batch, m.Part),
			said(m.Movement)+" of "+money.Format(m.Amount, m.Currency))
	}
	for _, e := range r.Events {
		add(r.written(e.CreatedAt), Emitted, e.ID, e.Type, "")
	}
	for _, d := range r.Deliveries {
		add(d.StartedAt, Posted, d.EventID, d.Type+" sent to "+d.URL, d.outcome())
	}
	for _, a := range r.Acts {
		if strings.HasPrefix(a.Actor, "operator:") {
			add(a.At, Operated, r.ID, a.Actor+" did "+a.Operation, "")
		}
	}
}

// Wrote is the station whose transaction committed a row with this time, or nil. Rows have
// the time at which their transaction began, stations the time at which it ended, and only
// atomic phases write rows.
func (r *Request) Wrote(at time.Time) *RecoveryPoint {
	for i, s := range r.RecoveryPoints {
		if s.Kind == "atomic" && s.ReachedAt != nil && !s.ReachedAt.Before(at) {
			return &r.RecoveryPoints[i]
		}
	}
	return nil
}

func (r *Request) written(at time.Time) time.Time {
	if s := r.Wrote(at); s != nil {
		return *s.ReachedAt
	}
	return at
}

// stoodAfter is the last point reached before an attempt ended.
func (r *Request) stoodAfter(attempt int) string {
	if attempt+1 < len(r.Attempts) {
		return r.Attempts[attempt+1].Stood
	}
	return r.Point
}

func (d Delivery) outcome() string {
	number := "attempt " + fmt.Sprint(d.Attempt) + ", "
	switch {
	case d.Status != nil:
		return number + "responded " + fmt.Sprint(*d.Status)
	case d.Error != nil:
		return number + *d.Error
	}
	return number + "no response yet"
}

// Process names the process that made an attempt, if it is known.
func (a Attempt) Process() string {
	if a.PID == nil {
		return "a process"
	}
	return fmt.Sprintf("process %d", *a.PID)
}

// Role is the kind of process that made an attempt, or "" if it is unknown.
func (a Attempt) Role() string {
	if a.Kind == nil {
		return ""
	}
	switch *a.Kind {
	case "serve":
		return "API"
	case "work":
		return "worker"
	}
	return *a.Kind
}

// Crashes is how many of a request's attempts ended with a process that did not come back.
func (r *Request) Crashes() int { return r.ended(Died) }

// Stalls is how many ended with a process that came back too late.
func (r *Request) Stalls() int { return r.ended(Stalled) }

func (r *Request) ended(as End) (n int) {
	for _, a := range r.Attempts {
		if a.End == as {
			n++
		}
	}
	return n
}

// Abandoned reports whether a request is marked as running and no live process executes it.
func Abandoned(s idempotency.Summary) bool { return s.State == idempotency.Running && !s.Executing }

func said(name string) string {
	if name == "" {
		return "nothing"
	}
	return web.Words(name)
}

func sent(times int32) string {
	if times == 1 {
		return "sent once"
	}
	return fmt.Sprintf("sent %d times", times)
}

func happened(kind string) string {
	if kind == "none" {
		return "no money moved"
	}
	return "recorded: " + kind
}
