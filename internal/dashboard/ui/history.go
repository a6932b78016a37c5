package ui

import (
	"net/http"
	"time"

	"github.com/ratchet-pay/ratchet/internal/inspect"
)

// History is what happened to an object, as shown by the requests that did it.
type History struct {
	Requests []*inspect.Request
	Lines    []Entry
}

// Entry is a line of a timeline as a page shows it.
type Entry struct {
	inspect.Line
	Day   *time.Time // set on the first line of each day
	Leads bool       // to the request's own page, from every other
}

// Entries puts a day in front of its first line.
func Entries(lines []inspect.Line, here string) (all []Entry) {
	var day string
	for _, l := range lines {
		line := Entry{Line: l, Leads: l.Kind == inspect.Received && l.Request != here}
		if now := l.At.UTC().Format(time.DateOnly); now != day {
			day, line.Day = now, &l.At
		}
		all = append(all, line)
	}
	return all
}

// History reads the requests, ledger postings, events and deliveries of an object, oldest first.
func (d *Env) History(r *http.Request, of inspect.Subject) (History, error) {
	requests, err := inspect.History(r.Context(), d.Pool, d.Books(), of)
	if err != nil {
		return History{}, err
	}
	return History{requests, Entries(inspect.Timeline(requests...), "")}, nil
}

// Books is the acquirer's, or nothing that can be asked.
func (d *Env) Books() inspect.Books {
	if d.Acquirer == nil {
		return nil
	}
	return d.Acquirer
}
