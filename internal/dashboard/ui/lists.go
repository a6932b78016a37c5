package ui

import (
	"net/http"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// StateList is a list of an account's objects whose chips filter it by state. Its
// statements take @account_id, @livemode and @state.
type StateList[T any] struct {
	Lister[T]
	Template, Here, Title string
	States                [][2]string // the parameter's value, and its word
	Columns               []Column[T] // of its file
	Everything            string      // the state that filters nothing
	OnClock               bool        // its rows become due, by a test clock
}

// StatePage is one page of such a list.
type StatePage[T any] struct {
	Rows     []T
	States   []Chip
	Dates    Dates
	Filtered bool
	Pager    Pager
	CSV      string
}

// Handler shows the list.
func (l StateList[T]) Handler(d *Env) Handler {
	return func(r *http.Request) (*Page, error) {
		of, err := d.Scope(r)
		if err != nil {
			return nil, err
		}
		state := r.FormValue("state")
		page := StatePage[T]{States: Chips(r, "state", l.States...), Dates: DatesOf(r), CSV: FileOf(r)}
		page.Filtered = state != "" || page.Dates.Limits()
		list := l.Lister
		list.Whole = state == l.Everything
		page.Rows, page.Pager, err = list.Page(d, r, of.Args(postgres.Args{"state": state}))
		if err != nil {
			return nil, err
		}
		shown := List(of, l.Template, l.Here, l.Title, page)
		if l.OnClock {
			return d.OnClock(r, of, shown)
		}
		return shown, nil
	}
}

// CSV sends the list as a file.
func (l StateList[T]) CSV(d *Env) Handler {
	return func(r *http.Request) (*Page, error) {
		of, err := d.Scope(r)
		if err != nil {
			return nil, err
		}
		list := l.Lister
		list.Whole = r.FormValue("state") == l.Everything
		return list.File(d, r, l.Here, l.Columns, of.Args(postgres.Args{"state": r.FormValue("state")}))
	}
}
