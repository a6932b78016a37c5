package resource

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// Collection is all objects of one kind. It answers what every kind of object is asked
// for: one of them by its id, and a page of them. The package of the kind writes the
// statements, each of which takes @account_id and @livemode.
type Collection[Row any, R wired[Row]] struct {
	Object string // as an error names it: "coupon"
	Param  string // what the path calls the id
	URL    string // of the list
	Prefix string // as a Listing has it

	ByID   string // takes @id
	Lock   string // the same, for a change
	Newest string // ends in NewestFirst
	Oldest string // ends in OldestFirst
}

// Find reads an object, or refuses an id that no object of the caller has (404).
func (c Collection[Row, R]) Find(ctx context.Context, db phase.Reader, v Principal, id string) (*Row, error) {
	return c.get(ctx, db, c.ByID, v, id)
}

// Locked reads an object for a change and keeps others from changing it.
func (c Collection[Row, R]) Locked(ctx context.Context, tx *phase.Tx, id string) (*Row, error) {
	return c.get(ctx, tx, c.Lock, PrincipalOf(tx.Caller), id)
}

func (c Collection[Row, R]) get(
	ctx context.Context, db phase.Reader, sql string, v Principal, id string,
) (*Row, error) {
	row, err := Get[Row](ctx, db, sql, v, id)
	if err == nil && row == nil {
		err = apierror.NotFound(c.Object, c.Param, id)
	}
	return row, err
}

// Retrieve answers GET of one object, expanded. It returns a 404 for an object of another account or mode.
func (c Collection[Row, R]) Retrieve(ctx context.Context, db phase.Reader, v Principal, in Retrieve) (any, error) {
	row, err := c.Find(ctx, db, v, in.ID)
	if err != nil {
		return nil, err
	}
	return Expand(ctx, db, v, in.Expand, R(row).Render())
}

// List answers GET of the list, for a kind without its own filters.
func (c Collection[Row, R]) List(ctx context.Context, db phase.Reader, v Principal, in List) (any, error) {
	return c.ListWith(ctx, db, v, in, nil)
}

// ListWith is List for a kind with filters, which its statements name.
func (c Collection[Row, R]) ListWith(
	ctx context.Context, db phase.Reader, v Principal, in List, filters pgx.StrictNamedArgs,
) (any, error) {
	return ListPage[Row, R](ctx, db, v, in, Listing{
		URL: c.URL, Object: c.Object, Newest: c.Newest, Oldest: c.Oldest, ByID: c.ByID, Prefix: c.Prefix,
		Filters: filters,
	})
}

// Reply answers with an object that this transaction has written. fresh are the other
// objects that it has written: the database does not show them yet.
func Reply(
	ctx context.Context, tx *phase.Tx, paths form.Expand, id string, object any, fresh ...Renderer,
) (phase.Outcome, error) {
	body, err := Expand(ctx, tx, PrincipalOf(tx.Caller), paths, object, fresh...)
	if err != nil {
		return phase.Outcome{}, err
	}
	return phase.OK(id, body), nil
}
