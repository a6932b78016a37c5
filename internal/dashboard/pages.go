package dashboard

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// pageSize is how many rows a list shows.
const pageSize = 25

// keyset says where in a list a page begins: after an id, or before one. A row
// that arrives meanwhile moves nothing.
type keyset struct{ Before, After string }

func keysetOf(r *http.Request) keyset {
	return keyset{r.FormValue("before"), r.FormValue("after")}
}

func (k keyset) backwards() bool { return k.After != "" && k.Before == "" }

// pager leads to the neighbouring pages. An empty address is no page.
type pager struct {
	Newer, Older string
	Newest       bool // this is the first page: what arrives appears on it
}

// lister reads a list in pages: down gives the newest @limit rows before @before,
// or of all where that is empty; up the oldest @limit rows after @after.
type lister[T any] struct {
	down, up string
	id       func(T) string
}

// page reads the page that the address names. args are what else the statements take.
func (l lister[T]) page(s *Server, r *http.Request, args postgres.Args) ([]T, pager, error) {
	k, sql := keysetOf(r), l.down
	args["limit"] = pageSize + 1
	if k.backwards() {
		sql, args["after"] = l.up, k.After
	} else {
		args["before"] = k.Before
	}
	found, err := read[T](r.Context(), s, sql, args)
	if err != nil {
		return nil, pager{}, err
	}
	rows, pages := turn(r, k, found, l.id)
	pages.Newest = k == keyset{}
	return rows, pages, nil
}

// latest reads the first rows of the list, for a page that is about something else.
func (l lister[T]) latest(s *Server, r *http.Request, args postgres.Args, limit int) ([]T, error) {
	args["limit"], args["before"] = limit, ""
	return read[T](r.Context(), s, l.down, args)
}

// turn cuts what was read (one row more than is shown, in the direction of
// reading) to a page, newest first, and finds its neighbours.
func turn[T any](r *http.Request, k keyset, found []T, id func(T) string) ([]T, pager) {
	more := len(found) > pageSize
	found = found[:min(len(found), pageSize)]
	newer, older := k.Before != "", more
	if k.backwards() {
		slices.Reverse(found)
		newer, older = more, true
	}
	var p pager
	if len(found) == 0 {
		return found, p
	}
	if newer {
		p.Newer = with(r.URL, "after", id(found[0]), "before")
	}
	if older {
		p.Older = with(r.URL, "before", id(found[len(found)-1]), "after")
	}
	return found, p
}

// with is an address with one parameter set and another left out.
func with(u *url.URL, name, value string, without ...string) string {
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

// chip is one choice of a filter.
type chip struct {
	Word    string
	Href    string
	Current bool
}

// chips are the values of a parameter, each with its address.
func chips(r *http.Request, name string, choices ...[2]string) (all []chip) {
	for _, c := range choices {
		all = append(all, chip{c[1], with(r.URL, name, c[0], "before", "after"), r.FormValue(name) == c[0]})
	}
	return all
}
