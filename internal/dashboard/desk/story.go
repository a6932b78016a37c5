package desk

import (
	"net/http"
	"time"

	"github.com/ratchet-pay/ratchet/internal/inspect"
)

// Story is what happened to an object, told by the requests that did it.
type Story struct {
	Requests []*inspect.Request
	Lines    []Told
}

// Told is a line of a timeline as a page shows it.
type Told struct {
	inspect.Line
	Day   *time.Time // set on the first line of each day
	Leads bool       // to the request's own page, from every other
}

// Tell puts a day in front of its first line.
func Tell(lines []inspect.Line, here string) (all []Told) {
	var day string
	for _, l := range lines {
		line := Told{Line: l, Leads: l.Kind == inspect.Asked && l.Request != here}
		if now := l.At.UTC().Format(time.DateOnly); now != day {
			day, line.Day = now, &l.At
		}
		all = append(all, line)
	}
	return all
}

// Story reads what happened to an object.
func (d *Desk) Story(r *http.Request, of inspect.Subject) (Story, error) {
	requests, err := inspect.Story(r.Context(), d.Pool, d.Books(), of)
	if err != nil {
		return Story{}, err
	}
	return Story{requests, Tell(inspect.Timeline(requests...), "")}, nil
}

// Books is the acquirer's, or nothing that can be asked.
func (d *Desk) Books() inspect.Books {
	if d.Acquirer == nil {
		return nil
	}
	return d.Acquirer
}
