package catalog

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func init() {
	resource.Register(resource.Kind{
		Object: "price",
		Prefix: "price",
		Table:  "prices",
		Load:   resource.LoadWith[Price](PricesByID),
		Search: &searchablePrices,
		Fields: map[string][]string{
			"product": {"product"}, "currency_options": nil, "tiers": nil,
		},
	})
}

// Price is what one of a product costs, in minor units. What it costs never changes: a
// merchant makes another price instead. One that recurs is kept and shown, and cannot be
// paid: there are no subscriptions.
type Price struct {
	AccountID   string
	ID          string
	Livemode    bool
	RequestID   string
	ProductID   string
	Active      bool
	Currency    string
	UnitAmount  int64
	LookupKey   *string // the merchant's own name for it
	Metadata    map[string]string
	Nickname    *string
	Recurring   *Recurrence
	TaxBehavior string
	CreatedAt   time.Time
}

// Recurrence is how often a price is paid.
type Recurrence struct {
	Interval      string  `json:"interval"`
	IntervalCount int64   `json:"interval_count"`
	Meter         *string `json:"meter"`
	UsageType     string  `json:"usage_type"`
}

// PriceObject is a price on the wire. Fields of prices that have tiers or are up to
// the customer are always null.
type PriceObject struct {
	ID                string            `json:"id"`
	Object            string            `json:"object"`
	Active            bool              `json:"active"`
	BillingScheme     string            `json:"billing_scheme"`
	Created           int64             `json:"created"`
	Currency          string            `json:"currency"`
	CustomUnitAmount  *int64            `json:"custom_unit_amount"`
	Livemode          bool              `json:"livemode"`
	LookupKey         *string           `json:"lookup_key"`
	Metadata          map[string]string `json:"metadata"`
	Nickname          *string           `json:"nickname"`
	Product           string            `json:"product"`
	Recurring         *Recurrence       `json:"recurring"`
	TaxBehavior       string            `json:"tax_behavior"`
	TiersMode         *string           `json:"tiers_mode"`
	TransformQuantity *string           `json:"transform_quantity"`
	Type              string            `json:"type"`
	UnitAmount        int64             `json:"unit_amount"`
	UnitAmountDecimal string            `json:"unit_amount_decimal"`
}

// Render is the object as API responses show it, before anything in it is expanded.
func (p *Price) Render() any { return p.Object() }

// Object is Render with its type.
func (p *Price) Object() PriceObject {
	return PriceObject{
		ID:                p.ID,
		Object:            "price",
		Active:            p.Active,
		BillingScheme:     "per_unit",
		Created:           resource.Unix(p.CreatedAt),
		Currency:          p.Currency,
		Livemode:          p.Livemode,
		LookupKey:         p.LookupKey,
		Metadata:          p.Metadata,
		Nickname:          p.Nickname,
		Product:           p.ProductID,
		Recurring:         p.Recurring,
		TaxBehavior:       p.TaxBehavior,
		Type:              p.kind(),
		UnitAmount:        p.UnitAmount,
		UnitAmountDecimal: strconv.FormatInt(p.UnitAmount, 10),
	}
}

func (p *Price) kind() string {
	if p.Recurring != nil {
		return "recurring"
	}
	return "one_time"
}

const priceKind = `CASE WHEN recurring IS NULL THEN 'one_time' ELSE 'recurring' END`

const priceColumns = `account_id, id, livemode, request_id, product_id, active, currency, unit_amount, lookup_key,
	metadata, nickname, recurring, tax_behavior, created_at`

var (
	insertPrices = postgres.InsertRows[Price]("prices", priceColumns)
	updatePrices = postgres.UpdateRows[Price]("prices", `active, lookup_key, metadata, nickname, tax_behavior`, `true`)
)

func (p *Price) insert(tx *phase.Tx) { tx.Write(insertPrices, postgres.RowsOf(*p)) }

func (p *Price) update(tx *phase.Tx) { tx.Write(updatePrices, postgres.RowsOf(*p)) }

const selectPrices = `
	SELECT ` + priceColumns + `
	FROM prices
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	priceByID = selectPrices + ` AND id = @id`
	// PricesByID selects the prices @ids of one account and mode, in any order; an unknown ID has no row.
	PricesByID       = selectPrices + ` AND id = ANY (@ids::text[])`
	priceByLookupKey = selectPrices + ` AND lookup_key = @id`
	lockPrice        = priceByID + ` FOR NO KEY UPDATE`

	priceFilters = `
		 AND (@active::boolean IS NULL OR active = @active) AND (@currency::text IS NULL OR currency = @currency)
	AND (@product_id::text IS NULL OR product_id = @product_id)
	AND (@lookup_keys::text[] IS NULL OR lookup_key = ANY (@lookup_keys))
	AND (@type::text IS NULL OR ` + priceKind + ` = @type)`
	listPrices          = selectPrices + priceFilters + resource.NewestFirst
	listPricesBackwards = selectPrices + priceFilters + resource.OldestFirst
)

// readPrice reads a price before a key is claimed.
func readPrice(ctx context.Context, db phase.Reader, v resource.Principal, id string) (*Price, error) {
	price, err := resource.Get[Price](ctx, db, priceByID, v, id)
	if err == nil && price == nil {
		err = apierror.NotFound("price", "price", id)
	}
	return price, err
}

// RetrievePrice answers GET /v1/prices/{price}.
func RetrievePrice(ctx context.Context, db phase.Reader, v resource.Principal, in resource.Retrieve) (any, error) {
	price, err := readPrice(ctx, db, v, in.ID)
	if err != nil {
		return nil, err
	}
	return resource.Expand(ctx, db, v, in.Expand, price.Render())
}

// ListPricesParams are the parameters of GET /v1/prices.
type ListPricesParams struct {
	resource.List
	Active     *bool    `form:"active"`
	Currency   *string  `form:"currency"`
	LookupKeys []string `form:"lookup_keys" max:"10"`
	Product    *string  `form:"product" max:"5000"`
	Type       *string  `form:"type" enum:"one_time,recurring"`
}

// ListPrices answers GET /v1/prices.
func ListPrices(ctx context.Context, db phase.Reader, v resource.Principal, in ListPricesParams) (any, error) {
	return resource.ListPage[Price](ctx, db, v, in.List, resource.Listing{
		URL: "/v1/prices", Object: "price", Newest: listPrices, Oldest: listPricesBackwards, ByID: priceByID,
		Prefix: "price",
		Filters: pgx.StrictNamedArgs{
			"active":      in.Active,
			"currency":    resource.LowerCase(in.Currency),
			"lookup_keys": in.LookupKeys,
			"product_id":  in.Product,
			"type":        in.Type,
		},
	})
}

const olderPrice = `
	SELECT id FROM prices WHERE account_id = @account_id AND id < @before ORDER BY id DESC OFFSET @over LIMIT 1`

var searchablePrices = resource.Searchable{Plural: "prices", Rows: selectPrices, Metadata: "metadata",
	Index: &resource.TextIndex{Fields: []string{"currency", "lookup_key", "product"}, Older: olderPrice},
	Fields: map[string]resource.SearchField{
		"active":     {Kind: resource.SearchBool, SQL: "active"},
		"currency":   {Kind: resource.SearchToken, SQL: "currency"},
		"lookup_key": {Kind: resource.SearchToken, SQL: "lookup_key"},
		"product":    {Kind: resource.SearchToken, SQL: "product_id"},
		"type":       {Kind: resource.SearchToken, SQL: priceKind},
	}}

// SearchPrices answers GET /v1/prices/search.
func SearchPrices(ctx context.Context, db phase.Reader, v resource.Principal, in resource.Search) (any, error) {
	return resource.RunSearch[Price](ctx, db, v, in, searchablePrices)
}
