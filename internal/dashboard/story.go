package dashboard

import (
	"net/http"
	"time"

	"github.com/ratchet-pay/ratchet/internal/inspect"
)

// story is what happened to an object, told by the requests that did it.
type story struct {
	Requests []*inspect.Request
	Lines    []told
}

// told is a line of a timeline as a page shows it.
type told struct {
	inspect.Line
	Day   *time.Time // set on the first line of each day
	Leads bool       // to the request's own page, from every other
}

func tell(lines []inspect.Line, here string) (all []told) {
	var day string
	for _, l := range lines {
		line := told{Line: l, Leads: l.Kind == inspect.Asked && l.Request != here}
		if now := l.At.UTC().Format(time.DateOnly); now != day {
			day, line.Day = now, &l.At
		}
		all = append(all, line)
	}
	return all
}

func (s *Server) story(r *http.Request, of inspect.Subject) (story, error) {
	requests, err := inspect.Story(r.Context(), s.Pool, s.books(), of)
	if err != nil {
		return story{}, err
	}
	return story{requests, tell(inspect.Timeline(requests...), "")}, nil
}

// books is the acquirer's, or nothing that can be asked.
func (s *Server) books() inspect.Books {
	if s.Acquirer == nil {
		return nil
	}
	return s.Acquirer
}
