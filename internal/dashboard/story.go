package dashboard

import (
	"net/http"

	"github.com/ratchet-pay/ratchet/internal/inspect"
)

// story is what happened to an object, told by the requests that did it.
type story struct {
	Requests []*inspect.Request
	Lines    []inspect.Line
}

func (s *Server) story(r *http.Request, of inspect.Subject) (story, error) {
	requests, err := inspect.Story(r.Context(), s.Pool, s.books(), of)
	if err != nil {
		return story{}, err
	}
	return story{requests, inspect.Timeline(requests...)}, nil
}

// books is the acquirer's, or nothing that can be asked.
func (s *Server) books() inspect.Books {
	if s.Acquirer == nil {
		return nil
	}
	return s.Acquirer
}
