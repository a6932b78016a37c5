package inspect

import (
	"fmt"
	"time"

	"github.com/ratchet-pay/ratchet/internal/money"
)

// InWords tells in a few sentences what the drawing of a request shows: who drove
// it and how far, what the other side has of it, and what the same key is told.
func (r *Request) InWords() (all []string) {
	for i := 0; i < len(r.Attempts); i++ {
		if n := r.parkedInARow(i); n > 1 {
			all = append(all, fmt.Sprintf("Then %d attempts came to no outcome, and each parked it, to be tried again.", n))
			i += n - 1
			continue
		}
		all = append(all, r.attemptInWords(i))
	}
	for _, c := range r.Calls {
		if said := r.callInWords(c); said != "" {
			all = append(all, said)
		}
	}
	if r.Status != nil {
		all = append(all, fmt.Sprintf("The answer, %d, is stored: whoever sends the same key gets it again.", *r.Status))
	}
	return all
}

// parkedInARow is how many attempts from one on, which is not the first, parked the request.
func (r *Request) parkedInARow(i int) (n int) {
	for i > 0 && i+n < len(r.Attempts) && r.Attempts[i+n].End == Yielded {
		n++
	}
	return n
}

func (r *Request) attemptInWords(i int) string {
	a := r.Attempts[i]
	if i == 0 && a.End == Ended {
		if a.Until.Equal(a.From) { // times are those of transactions
			return "One attempt took it from begun to its answer, in one transaction."
		}
		return "One attempt took it from begun to its answer, in " + Lasted(a.Until.Sub(a.From)) + "."
	}
	who := a.Driver()
	if role := a.Role(); role != "" {
		who += " (" + role + ")"
	}
	if i == 0 {
		return "First " + who + " began it" + r.endInWords(i) + "."
	}
	pause := Lasted(a.From.Sub(*r.Attempts[i-1].Until)) + " later "
	if r.Attempts[i-1].End != Died {
		pause = "Then "
	}
	return pause + who + " took it over from " + said(pointOr(a.Stood)) + r.endInWords(i) + "."
}

// endInWords tells how an attempt ended.
func (r *Request) endInWords(i int) string {
	switch r.Attempts[i].End {
	case Died:
		if next := r.stationAfter(r.stoodAfter(i)); next != "" {
			return ", and died between " + said(pointOr(r.stoodAfter(i))) + " and " + said(next)
		}
		return ", and died behind " + said(pointOr(r.stoodAfter(i)))
	case Yielded:
		return ", and parked it without an outcome, to be tried again"
	case Waiting:
		return ", and could not find out what happened: a person has to decide"
	case Driving:
		return ", and drives it now"
	}
	return ", and finished it"
}

func (r *Request) callInWords(c Call) string {
	if c.Unread != "" {
		return ""
	}
	asked := "The acquirer was asked"
	if len(r.Attempts) > 1 {
		asked = "However often the acquirer was asked, it was under one derived key"
	}
	for _, m := range c.Movements {
		if m.Kind != "none" {
			return fmt.Sprintf("%s: its books have one %s, of %s.", asked, said(m.Kind), money.Format(m.Amount, m.Currency))
		}
	}
	if len(c.Movements) > 0 {
		return asked + ", and it moved nothing: " + said(c.Movements[0].Result) + "."
	}
	return asked + ": its books have nothing."
}

// stationAfter is the recovery point that comes next, "" after the last.
func (r *Request) stationAfter(name string) string {
	for i, s := range r.Stations {
		switch {
		case name == "" && i == 0:
			return s.Name
		case s.Name == name && i+1 < len(r.Stations) && r.Stations[i+1].Kind != "abandoned":
			return r.Stations[i+1].Name
		}
	}
	return ""
}

func pointOr(name string) string {
	if name == "" {
		return "begun"
	}
	return name
}

// Lasted writes a time span for people. What is none began and ended in one
// transaction, which has one time.
func Lasted(d time.Duration) string {
	switch {
	case d == 0:
		return "one commit"
	case d < time.Millisecond:
		return "under 1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
