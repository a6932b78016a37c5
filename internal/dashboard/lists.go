package dashboard

import (
	"net/http"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// stateList is a list of an account's objects whose chips filter it by state. Its
// statements take @account_id, @livemode and @state.
type stateList[T any] struct {
	lister[T]
	template, here, title string
	states                [][2]string // the parameter's value, and its word
}

// statePage is one page of such a list.
type statePage[T any] struct {
	Rows     []T
	States   []chip
	Filtered bool
	Pager    pager
}

// show returns the handler of the list's page.
func (l stateList[T]) show(s *Server) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		of, err := s.scope(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		state := r.FormValue("state")
		page := statePage[T]{Filtered: state != "", States: chips(r, "state", l.states...)}
		page.Rows, page.Pager, err = l.page(s, r, of.args(postgres.Args{"state": state}))
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.list(w, r, of, l.template, l.here, l.title, page)
	}
}

// lookUp reads the object that an address names. If there is none, or the database
// does not answer, lookUp renders the page that says so and returns false.
func lookUp[T any](s *Server, w http.ResponseWriter, r *http.Request, find func(*http.Request) (*T, error)) (*T, bool) {
	object, err := find(r)
	if err != nil {
		s.fail(w, r, err)
		return nil, false
	}
	if object == nil {
		s.notFound(w, r)
		return nil, false
	}
	return object, true
}

// readOne runs a statement and returns its first row, or nil if it has none.
func readOne[T any](r *http.Request, s *Server, sql string, args postgres.Args) (*T, error) {
	rows, err := read[T](r.Context(), s, sql, args)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}
