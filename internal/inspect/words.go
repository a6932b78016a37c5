package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/money"
)

// InWords says in a few sentences what the drawing of a request shows: which processes
// drove it and how far, what the acquirer has recorded, and what a retry with its key gets.
func (r *Request) InWords() (all []string) {
	for i := 0; i < len(r.Attempts); i++ {
		if n := r.parkedInARow(i); n > 1 {
			all = append(all, fmt.Sprintf("Then %d attempts had no outcome. Each paused the request for a retry.", n))
			i += n - 1
			continue
		}
		all = append(all, r.attemptInWords(i))
	}
	for _, a := range r.Attempts {
		if said := a.returnInWords(); said != "" {
			all = append(all, said)
		}
	}
	unused := 0
	for i, c := range r.Calls {
		if r.retiredUnused(i) {
			unused++
			continue
		}
		if said := r.callInWords(c, unused); said != "" {
			all = append(all, said)
		}
		unused = 0
	}
	if r.Status != nil {
		stored := fmt.Sprintf("The %d response is stored.", *r.Status)
		if !r.KeyGenerated {
			stored += " A retry with this key gets the same bytes."
		}
		all = append(all, stored)
	}
	return all
}

// parkedInARow is how many attempts from one on, which is not the first, parked the request.
func (r *Request) parkedInARow(i int) (n int) {
	for i > 0 && i+n < len(r.Attempts) && r.Attempts[i+n].End == Parked {
		n++
	}
	return n
}

func (r *Request) attemptInWords(i int) string {
	a := r.Attempts[i]
	if i == 0 && a.End == Ended {
		if a.Until.Equal(a.From) { // times are those of transactions
			return "One attempt finished the request in one transaction."
		}
		return "One attempt finished the request in " + Lasted(a.Until.Sub(a.From)) + "."
	}
	who := a.Process()
	if role := a.Role(); role != "" {
		who += " (" + role + ")"
	}
	if i == 0 {
		return capital(who) + " started this request" + r.endInWords(i) + "."
	}
	pause := Lasted(a.From.Sub(*r.Attempts[i-1].Until)) + " later "
	if !r.Attempts[i-1].WentSilent() {
		pause = "Then "
	}
	return pause + who + " resumed from " + quoted(pointOr(a.Stood)) + r.endInWords(i) + "."
}

// endInWords tells how an attempt ended.
func (r *Request) endInWords(i int) string {
	switch r.Attempts[i].End {
	case Died, Stalled:
		return " and stopped responding after " + quoted(pointOr(r.stoodAfter(i)))
	case Parked:
		return ", had no outcome, and paused it for a retry"
	case Waiting:
		return ", and couldn’t find out what happened. The request needs a decision"
	case Executing:
		return ", and is working on it now"
	}
	return " and finished it"
}

// returnInWords tells what became of a process that was taken over and is not dead.
func (a Attempt) returnInWords() string {
	switch {
	case a.Refused != nil:
		return fmt.Sprintf("%s had only stalled. It came back %s after its last heartbeat, and the fence refused its "+
			"commit.",
			capital(a.Process()), Lasted(a.Refused.Sub(*a.Until)))
	case a.End == Stalled:
		return capital(a.Process()) + " had only stalled, and runs again. The fence refuses what it tries to commit."
	}
	return ""
}

// Repeated reports whether the next call is the same one as call i, with the next key.
func (r *Request) Repeated(i int) bool {
	return i+1 < len(r.Calls) && r.Calls[i+1].Phase == r.Calls[i].Phase
}

// retiredUnused reports whether the acquirer has no record for the key of call i, which was then repeated.
func (r *Request) retiredUnused(i int) bool {
	return r.Repeated(i) && r.Calls[i].Unread == "" && len(r.Calls[i].Movements) == 0
}

// callInWords says what the acquirer has of a call, after so many keys of it that were not used.
func (r *Request) callInWords(c Call, unused int) string {
	if c.Unread != "" {
		return ""
	}
	asked := "The acquirer was called with a derived key."
	if unused > 0 {
		asked = fmt.Sprintf("The acquirer has no record for %d derived keys, and was called with the next one.", unused)
	} else if len(r.Attempts) > 1 {
		asked = "Every call to the acquirer used the same derived key."
	}
	for _, m := range c.Movements {
		if m.Kind != "none" {
			return fmt.Sprintf("%s Its records show one %s of %s.", asked, said(m.Kind),
				money.Format(m.Amount, m.Currency))
		}
	}
	if len(c.Movements) > 0 {
		return asked + " No money moved: " + said(c.Movements[0].Result) + "."
	}
	return asked + " It has no record for this key."
}

// capital starts a sentence with a text in ASCII.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func quoted(point string) string { return "“" + said(point) + "”" }

func pointOr(name string) string {
	if name == "" {
		return "started"
	}
	return name
}

// Lasted formats a time span for people. The span is zero if both ends are in one
// transaction, which has one time.
func Lasted(d time.Duration) string {
	switch {
	case d == 0:
		return "<1 ms"
	case d < time.Millisecond:
		return "under 1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
