package desk

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// PageSize is how many rows a list shows.
const PageSize = 25

// Keyset says where in a list a page begins: after an id, or before one. A row
// that arrives meanwhile moves nothing.
type Keyset struct{ Before, After string }

// KeysetOf reads it from the address.
func KeysetOf(r *http.Request) Keyset {
	return Keyset{r.FormValue("before"), r.FormValue("after")}
}

// Backwards tells whether the page is read upward, from older rows.
func (k Keyset) Backwards() bool { return k.After != "" && k.Before == "" }

// Pager leads to the neighbouring pages. An empty address is no page.
type Pager struct {
	Newer, Older string
	Newest       bool // this is the first page: what arrives appears on it
}

// Lister reads a list in pages: Down gives the newest @limit rows before @before,
// or of all where that is empty; Up the oldest @limit rows after @after.
type Lister[T any] struct {
	Down, Up string
	ID       func(T) string
	// Prefix comes before the time in the rows' IDs, {mode} standing for test or live. A list
	// that has one can be limited to days.
	Prefix string
}

// Page reads the page that the address names. args are what else the statements take.
func (l Lister[T]) Page(d *Desk, r *http.Request, args postgres.Args) ([]T, Pager, error) {
	k, sql, dates := KeysetOf(r), l.Down, DatesOf(r)
	args["limit"] = PageSize + 1
	if read := l.within(dates, k, args); k.Backwards() {
		sql, args["after"] = l.Up, read.After
	} else {
		args["before"] = read.Before
	}
	found, err := Read[T](r.Context(), d.Pool, sql, args)
	if err != nil {
		return nil, Pager{}, err
	}
	rows, pages := turn(r, k, l.cut(dates, found), l.ID)
	pages.Newest = k == Keyset{}
	return rows, pages, nil
}

// Latest reads the first rows of the list, for a page that is about something else.
func (l Lister[T]) Latest(d *Desk, r *http.Request, args postgres.Args, limit int) ([]T, error) {
	args["limit"], args["before"] = limit, ""
	return Read[T](r.Context(), d.Pool, l.Down, args)
}

// turn cuts what was read (one row more than is shown, in the direction of
// reading) to a page, newest first, and finds its neighbours.
func turn[T any](r *http.Request, k Keyset, found []T, id func(T) string) ([]T, Pager) {
	more := len(found) > PageSize
	found = found[:min(len(found), PageSize)]
	newer, older := k.Before != "", more
	if k.Backwards() {
		slices.Reverse(found)
		newer, older = more, true
	}
	var p Pager
	if len(found) == 0 {
		return found, p
	}
	if newer {
		p.Newer = With(r.URL, "after", id(found[0]), "before")
	}
	if older {
		p.Older = With(r.URL, "before", id(found[len(found)-1]), "after")
	}
	return found, p
}

// With is an address with one parameter set and another left out.
func With(u *url.URL, name, value string, without ...string) string {
	query := u.Query()
	if value == "" {
		query.Del(name)
	} else {
		query.Set(name, value)
	}
	for _, other := range without {
		query.Del(other)
	}
	if len(query) == 0 {
		return u.Path
	}
	return u.Path + "?" + query.Encode()
}

// Chip is one choice of a filter.
type Chip struct {
	Word    string
	Href    string
	Current bool
}

// Chips are the values of a parameter, each with its address.
func Chips(r *http.Request, name string, choices ...[2]string) (all []Chip) {
	for _, c := range choices {
		all = append(all, Chip{c[1], With(r.URL, name, c[0], "before", "after"), r.FormValue(name) == c[0]})
	}
	return all
}
