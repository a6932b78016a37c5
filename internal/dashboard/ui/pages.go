package ui

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

// KeysetOf reads the position in a list from the parameters before and after.
func KeysetOf(r *http.Request) Keyset {
	return Keyset{r.FormValue("before"), r.FormValue("after")}
}

// Backwards tells whether the page is read upward, from older rows.
func (k Keyset) Backwards() bool { return k.After != "" && k.Before == "" }

// Pager leads to the neighboring pages. An empty address is no page.
type Pager struct {
	Newer, Older string
	Newest       bool   // this is the first page: what arrives appears on it
	Searched     int    // rows that were searched for a page that is not full; 0: there are no others
	GoesOn       string // the link to the page that searches the next ones: "Older" or "Newer"
}

// Lister reads a list in pages: Down gives the newest @limit rows before @before,
// or of all where that is empty; Up the oldest @limit rows after @after.
type Lister[T any] struct {
	Down, Up string
	ID       func(T) string
	// Prefix comes before the time in the rows' IDs, {mode} standing for test or live. A list
	// that has one can be limited to days.
	Prefix string
	Edge   Edge
	Whole  bool // nothing is filtered, or an index has the filter: a page needs no Edge
}

// Page reads the page that the address names. args are what else the statements take.
func (l Lister[T]) Page(d *Env, r *http.Request, args postgres.Args) ([]T, Pager, error) {
	k, sql, edge, dates := KeysetOf(r), l.Down, firstID, DatesOf(r)
	if k.Backwards() {
		sql, edge = l.Up, lastID
	}
	from := l.within(dates, k, args)
	bounded, err := l.bound(d, r, from, args, edge)
	if err != nil {
		return nil, Pager{}, err
	}
	args["limit"] = PageSize + 1
	if k.Backwards() {
		args["after"] = from.After
	} else {
		args["before"] = from.Before
	}
	found, err := Read[T](r.Context(), d.Pool, sql, args)
	if err != nil {
		return nil, Pager{}, err
	}
	rows, pages := turn(r, k, l.cut(dates, found), l.ID)
	pages.Newest = k == Keyset{}
	if bounded && len(found) <= PageSize && !l.outside(dates, args["edge"].(string)) {
		pages.goOn(r, k, args["edge"].(string))
	}
	return rows, pages, nil
}

// Latest reads the first rows of the list, for a page that is about something else. It leaves out rows behind the edge.
func (l Lister[T]) Latest(d *Env, r *http.Request, args postgres.Args, limit int) ([]T, error) {
	if _, err := l.bound(d, r, Keyset{}, args, firstID); err != nil {
		return nil, err
	}
	args["limit"], args["before"] = limit, ""
	return Read[T](r.Context(), d.Pool, l.Down, args)
}

// Edge bounds what is read for a page with a filter that few rows may pass and that no index has. The page searches
// the next searchOver rows, and the page after it continues there. Down gives the ID of the last of those rows before
// @before, and Up of the last one after @after. The statements of the list take it as @edge. The zero value is for a
// list without such filters.
type Edge struct {
	Down, Up string
	Args     []string // of the list that the two statements take, too
}

// searchOver is how many rows are searched for one page. Most filters take about ten milliseconds for them.
const searchOver = 2000

// Every ID sorts between these. Behind the place of any prefix, the last is the last, too.
const firstID, lastID = "", "~~~~"

// EdgeDown and EdgeUp end the statements of an Edge, after "SELECT id FROM" and a table.
const (
	EdgeDown = ` WHERE account_id = @account_id AND (@before = '' OR id < @before)
		ORDER BY id DESC OFFSET @over LIMIT 1`
	EdgeUp = ` WHERE account_id = @account_id AND id > @after ORDER BY id OFFSET @over LIMIT 1`
)

// bound sets the argument edge of a list that has one, and tells whether rows are left behind it.
func (l Lister[T]) bound(d *Env, r *http.Request, k Keyset, args postgres.Args, unbounded string) (bool, error) {
	if l.Edge.Down == "" {
		return false, nil
	}
	args["edge"] = unbounded
	if l.Whole {
		return false, nil
	}
	sql, place := l.Edge.Down, postgres.Args{"over": searchOver - 1, "account_id": args["account_id"]}
	if k.Backwards() {
		sql, place["after"] = l.Edge.Up, k.After
	} else {
		place["before"] = k.Before
	}
	for _, name := range l.Edge.Args {
		place[name] = args[name]
	}
	last, err := ReadOne[struct{ ID string }](r.Context(), d.Pool, sql, place)
	if err != nil || last == nil {
		return false, err
	}
	args["edge"] = last.ID
	return true, nil
}

// goOn links to the page that continues behind an edge.
func (p *Pager) goOn(r *http.Request, k Keyset, edge string) {
	p.Searched = searchOver
	if k.Backwards() {
		p.GoesOn, p.Newer = "Newer", With(r.URL, "after", edge, "before")
	} else {
		p.GoesOn, p.Older = "Older", With(r.URL, "before", edge, "after")
	}
}

// turn cuts what was read (one row more than is shown, in the direction of
// reading) to a page, newest first, and finds its neighbors.
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
