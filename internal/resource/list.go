package resource

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// Retrieve are the parameters of reading one object.
type Retrieve struct {
	ID     string      `path:"id" json:"-"`
	Expand form.Expand `form:"expand"`
}

// List are the parameters every list takes.
type List struct {
	Limit         form.Limit   `form:"limit"`
	StartingAfter string       `form:"starting_after"`
	EndingBefore  string       `form:"ending_before"`
	Created       form.Created `form:"created"`
	Expand        form.Expand  `form:"expand"`
}

// Pages are the parameters of a list that cannot be filtered by time.
type Pages struct {
	Limit         form.Limit  `form:"limit"`
	StartingAfter string      `form:"starting_after"`
	EndingBefore  string      `form:"ending_before"`
	Expand        form.Expand `form:"expand"`
}

// List is the same page as parameters of a list that can be filtered by time.
func (p Pages) List() List {
	return List{Limit: p.Limit, StartingAfter: p.StartingAfter, EndingBefore: p.EndingBefore, Expand: p.Expand}
}

// ListObject is a page of objects, newest first, on the wire.
type ListObject struct {
	Object  string `json:"object"`
	Data    []any  `json:"data"`
	HasMore bool   `json:"has_more"`
	URL     string `json:"url"`
}

// Every list ends in one of these. Ids sort by time, so the primary key gives
// the order and the place to go on from; one row more than asked for tells
// whether there is another page.
const (
	pageBounds = ` AND id < @before AND id > @after AND created_at >= @from AND created_at < @to`
	// NewestFirst reads from a place towards older objects.
	NewestFirst = pageBounds + ` ORDER BY id DESC LIMIT @limit`
	// OldestFirst reads from a place towards newer ones; the page is turned round.
	OldestFirst = pageBounds + ` ORDER BY id LIMIT @limit`
)

// Bounds that bound nothing. No id sorts before the empty text or behind a tilde.
const FirstID, LastID = "", "~"

// FirstTime and LastTime are before and after every created_at: the bounds of a list without a time filter.
var FirstTime, LastTime = time.Unix(0, 0), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// LowerCase is a currency as we keep it, however a filter spells it.
func LowerCase(currency *string) *string {
	if currency == nil {
		return nil
	}
	lower := strings.ToLower(*currency)
	return &lower
}

// Listing is what a page is made of.
type Listing struct {
	URL            string
	Object         string // as an error names it: "charge"
	Newest, Oldest string
	ByID           string
	Prefix         string // of IDs that encode when the object was made; "" if callers choose IDs
	Filters        pgx.StrictNamedArgs
	Named          []Reference
	Prepare        func(row any) error // a row, before it is shown; nil for nothing
}

// Reference is an object that a parameter of a list names, if it does.
type Reference struct {
	Param  string
	ID     *string
	Object string // as an error names it
	ByID   string
}

// idSlack is how far the time in an ID may be from the object's created. Most have one reading of the clock. Some
// have two: a posting is dated when the ledger takes it, and a refund that a restored backup has lost is dated by
// the acquirer.
const idSlack = 24 * time.Hour

// idAt sorts before every ID with a prefix that was made at a time or later. A filter by time is a bound on IDs as
// well: without it, the page of a year ago would be looked for among all newer objects. Callers choose the IDs of
// objects without a prefix.
func idAt(prefix string, at time.Time, unbounded string) string {
	switch {
	case prefix == "":
		return unbounded
	case at.Before(FirstTime):
		return FirstID
	case at.After(id.Latest):
		return LastID
	}
	return prefix + "_" + id.EncodeTime(at)
}

// Renderer is a row of an API object. Render returns the object as the API shows it.
type Renderer interface {
	Render() any
}

// wired is a pointer to a row that renders itself.
type wired[Row any] interface {
	*Row
	Renderer
}

// ListPage reads one page of a list, newest first, with one query more per kind and level of expansion. It returns a
// 400 for a cursor or a filter that names no object of the account.
func ListPage[Row any, R wired[Row]](
	ctx context.Context, db phase.Reader, v Principal, in List, l Listing,
) (any, error) {
	for _, n := range l.Named {
		if err := n.check(ctx, db, v); err != nil {
			return nil, err
		}
	}
	if err := l.checkCursors(ctx, db, v, in); err != nil {
		return nil, err
	}
	sql := l.Newest
	if in.EndingBefore != "" {
		sql = l.Oldest
	}
	rows, err := db.Query(ctx, sql, l.args(v, in))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", l.URL, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Row])
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", l.URL, err)
	}
	list := ListObject{
		Object:  "list",
		Data:    make([]any, 0, len(found)),
		URL:     l.URL,
		HasMore: len(found) > int(in.Limit),
	}
	if list.HasMore {
		found = found[:in.Limit]
	}
	for _, row := range found {
		if l.Prepare != nil {
			if err := l.Prepare(row); err != nil {
				return nil, err
			}
		}
		list.Data = append(list.Data, R(row).Render())
	}
	if in.EndingBefore != "" {
		reverse(list.Data)
	}
	return Expand(ctx, db, v, in.Expand, list)
}

// args are the arguments of a list's statement: whose objects, the filters, and the IDs and times between which a page
// lies, both ends excluded. The statement reads one row more than the limit, to know whether there is another page.
func (l Listing) args(v Principal, in List) pgx.StrictNamedArgs {
	args := v.Args()
	for name, value := range l.Filters {
		args[name] = value
	}
	after, before := FirstID, LastID
	if in.StartingAfter != "" {
		before = in.StartingAfter
	}
	if in.EndingBefore != "" {
		after = in.EndingBefore
	}
	first, last := FirstTime, LastTime
	from, to := in.Created.Between()
	if from != nil {
		first, after = *from, max(after, idAt(l.Prefix, from.Add(-idSlack), FirstID))
	}
	if to != nil {
		last, before = *to, min(before, idAt(l.Prefix, to.Add(idSlack), LastID))
	}
	args["limit"] = int64(in.Limit) + 1
	args["after"], args["before"] = after, before
	args["from"], args["to"] = first, last
	return args
}

func reverse(data []any) {
	for i, j := 0, len(data)-1; i < j; i, j = i+1, j-1 {
		data[i], data[j] = data[j], data[i]
	}
}

// check rejects an object that does not exist: an empty list would say that it has nothing.
func (n Reference) check(ctx context.Context, db phase.Reader, v Principal) error {
	if n.ID == nil {
		return nil
	}
	args := v.Args()
	args["id"] = *n.ID
	rows, err := db.Query(ctx, n.ByID, args)
	if err != nil {
		return fmt.Errorf("find %s: %w", n.Param, err)
	}
	there := rows.Next()
	rows.Close()
	if rows.Err() != nil {
		return fmt.Errorf("find %s: %w", n.Param, rows.Err())
	}
	if !there {
		return apierror.NoSuch(n.Object, n.Param, *n.ID)
	}
	return nil
}

// checkCursors refuses a cursor that is not an object of this list and account.
func (l Listing) checkCursors(ctx context.Context, db phase.Reader, v Principal, in List) error {
	for _, c := range [...]struct{ param, cursor string }{{"starting_after", in.StartingAfter},
		{"ending_before", in.EndingBefore}} {
		if c.cursor == "" {
			continue
		}
		if err := (Reference{c.param, &c.cursor, l.Object, l.ByID}).check(ctx, db, v); err != nil {
			return err
		}
	}
	if in.StartingAfter != "" && in.EndingBefore != "" {
		return apierror.Invalid("",
			"Received both starting_after and ending_before parameters. Please pass in only one.")
	}
	return nil
}
