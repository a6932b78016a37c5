package session

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/catalog"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func init() {
	resource.Register(resource.Kind{
		Object: "item",
		Fields: map[string][]string{"price": {"price"}, "discounts": {"discounted"}, "taxes": nil},
		Parts:  map[string]resource.Part{"discounts": discountItems, "taxes": untaxed},
	})
}

// CheckoutItem is one line of what a session is to pay for, with its price.
type CheckoutItem struct {
	AccountID   string
	ID          string
	SessionID   string
	Livemode    bool
	Description string // the product's name at the time
	Quantity    int64
	Amount      int64 // of all of them together
	Discount    int64 // part of the amount
	Metadata    map[string]string
	CreatedAt   time.Time

	// Between which the customer chooses the quantity; nil: the customer cannot change it.
	QuantityMinimum, QuantityMaximum *int64

	PriceID        string
	ProductID      string
	PriceActive    bool
	Currency       string
	UnitAmount     int64
	LookupKey      *string
	PriceMetadata  map[string]string
	Nickname       *string
	TaxBehavior    string
	PriceCreatedAt time.Time
}

// ItemObject is a line item on the wire.
type ItemObject struct {
	ID                 string              `json:"id"`
	Object             string              `json:"object"`
	AdjustableQuantity *adjustableQuantity `json:"adjustable_quantity"`
	AmountDiscount     int64               `json:"amount_discount"`
	AmountSubtotal     int64               `json:"amount_subtotal"`
	AmountTax          int64               `json:"amount_tax"`
	AmountTotal        int64               `json:"amount_total"`
	Currency           string              `json:"currency"`
	Description        string              `json:"description"`
	Discounts          []discounted        `json:"discounts,omitempty"` // absent unless they are expanded
	Metadata           map[string]string   `json:"metadata"`
	Price              catalog.PriceObject `json:"price"`
	Quantity           int64               `json:"quantity"`
}

type adjustableQuantity struct {
	Enabled bool  `json:"enabled"`
	Maximum int64 `json:"maximum"`
	Minimum int64 `json:"minimum"`
}

// Render is the line item as the API's JSON object, with its price. Amounts are in the currency's smallest unit.
func (i *CheckoutItem) Render() any {
	price := catalog.Price{
		ID:          i.PriceID,
		Livemode:    i.Livemode,
		ProductID:   i.ProductID,
		Active:      i.PriceActive,
		Currency:    i.Currency,
		UnitAmount:  i.UnitAmount,
		LookupKey:   i.LookupKey,
		Metadata:    i.PriceMetadata,
		Nickname:    i.Nickname,
		TaxBehavior: i.TaxBehavior,
		CreatedAt:   i.PriceCreatedAt,
	}
	o := ItemObject{
		ID:             i.ID,
		Object:         "item",
		AmountDiscount: i.Discount,
		AmountSubtotal: i.Amount,
		AmountTotal:    i.Amount - i.Discount,
		Currency:       i.Currency,
		Description:    i.Description,
		Metadata:       i.Metadata,
		Price:          price.Object(),
		Quantity:       i.Quantity,
	}
	if i.QuantityMinimum != nil {
		o.AdjustableQuantity = &adjustableQuantity{true, *i.QuantityMaximum, *i.QuantityMinimum}
	}
	return o
}

var insertItems = postgres.InsertRows[CheckoutItem]("checkout_items",
	`account_id, id, session_id, livemode, price_id, description, quantity, quantity_minimum, quantity_maximum, amount,
	discount, metadata, created_at`)

// The customer of an open session changes its discount with a promotion code, and quantities.
var updateItems = postgres.UpdateRows[CheckoutItem]("checkout_items", `quantity, amount, discount`, `true`)

func (i *CheckoutItem) insert(tx *phase.Tx) { tx.Write(insertItems, postgres.RowsOf(*i)) }

const selectItems = `
	SELECT account_id, id, session_id, livemode, description, quantity, quantity_minimum, quantity_maximum, amount,
	       discount, metadata, created_at, price_id, product_id, price_active, currency, unit_amount,
	       lookup_key, price_metadata, nickname, tax_behavior, price_created_at
	FROM (
		SELECT i.account_id, i.id, i.session_id, i.livemode, i.description, i.quantity, i.quantity_minimum,
		       i.quantity_maximum, i.amount, i.discount, i.metadata, i.created_at, i.price_id, p.product_id,
		       p.active AS price_active, p.currency, p.unit_amount, p.lookup_key, p.metadata AS price_metadata,
		       p.nickname, p.tax_behavior, p.created_at AS price_created_at
		FROM checkout_items i JOIN prices p ON p.account_id = i.account_id AND p.id = i.price_id
	) AS item
	WHERE account_id = @account_id AND livemode = @livemode`

// Lists leave out items that the customer has removed, as Stripe's do. The page shows them until the session is over.
const (
	itemByID           = selectItems + ` AND id = @id`
	itemsOf            = selectItems + ` AND session_id = @session_id`
	notRemoved         = ` AND quantity > 0`
	listItems          = itemsOf + notRemoved + resource.NewestFirst
	listItemsBackwards = itemsOf + notRemoved + resource.OldestFirst
	firstItemsOf       = `SELECT i.* FROM unnest(@parents::text[]) AS parent (id) CROSS JOIN LATERAL (` +
		selectItems + notRemoved + ` AND session_id = parent.id ORDER BY id DESC LIMIT @limit) AS i ORDER BY i.id DESC`
)

// ListCheckoutItemsParams are the parameters of GET /v1/checkout/sessions/{session}/line_items.
type ListCheckoutItemsParams struct {
	resource.Pages
	Session string `path:"session" json:"-"`
}

// ListCheckoutItems answers GET /v1/checkout/sessions/{session}/line_items, in the
// order in which the items were given.
func ListCheckoutItems(
	ctx context.Context, db phase.Reader, v resource.Principal, in ListCheckoutItemsParams,
) (any, error) {
	if _, err := readSession(ctx, db, v, in.Session); err != nil {
		return nil, err
	}
	return resource.ListPage[CheckoutItem](ctx, db, v, in.List(), resource.Listing{
		URL: itemsURL(in.Session), Object: "item", Newest: listItems, Oldest: listItemsBackwards, ByID: itemByID,
		Filters: pgx.StrictNamedArgs{"session_id": in.Session},
	})
}

func itemsURL(session string) string { return "/v1/checkout/sessions/" + session + "/line_items" }

// itemsOfSessions are the lists that sessions show when they are asked for.
func itemsOfSessions(
	ctx context.Context, db phase.Reader, v resource.Principal, sessions []string,
) (map[string]resource.ListObject, error) {
	return resource.ListInside(ctx, db, firstItemsOf, v, sessions, func(i *CheckoutItem) string { return i.SessionID },
		itemsURL)
}

// firstItems is the same list of items that were made just now.
func firstItems(url string, items []CheckoutItem) *resource.ListObject {
	list := resource.ListObject{
		Object:  "list",
		Data:    []any{},
		URL:     url,
		HasMore: len(items) > resource.FirstPage,
	}
	for i := range items[:min(len(items), resource.FirstPage)] {
		list.Data = append(list.Data, items[i].Render())
	}
	return &list
}
